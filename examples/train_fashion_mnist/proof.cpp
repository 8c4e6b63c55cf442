#include "proof.hpp"

#include <array>
#include <bit>
#include <cstdio>

namespace fashion {

uint64_t fingerprint(std::span<const float> weights) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const float weight : weights) {
    auto bits = std::bit_cast<uint32_t>(weight);
    for (int byte = 0; byte < 4; ++byte, bits >>= 8) {
      hash = (hash ^ (bits & 0xff)) * 0x100000001b3;
    }
  }
  return hash;
}

ff::Result<Agreement> compare_ranks(ff::Communicator& comm, std::span<const float> weights) {
  Agreement agreement;
  agreement.smallest = agreement.largest = fingerprint(weights);
  if (auto done = comm.all_reduce(std::span(&agreement.smallest, 1), ff::Op::kMin); !done) {
    return done.error();
  }
  if (auto done = comm.all_reduce(std::span(&agreement.largest, 1), ff::Op::kMax); !done) {
    return done.error();
  }
  return agreement;
}

std::string difference(std::span<const float> ours, std::span<const float> theirs) {
  size_t count = 0;
  size_t first = 0;
  for (size_t i = ours.size(); i-- > 0;) {
    if (std::bit_cast<uint32_t>(ours[i]) != std::bit_cast<uint32_t>(theirs[i])) {
      ++count;
      first = i;
    }
  }
  if (count == 0) {
    return "";
  }
  std::array<char, 160> text{};
  std::snprintf(text.data(), text.size(), "%zu of %zu weights differ; the first is %zu: %a and %a",
                count, ours.size(), first, static_cast<double>(ours[first]),
                static_cast<double>(theirs[first]));
  return text.data();
}

}  // namespace fashion
