// What the tests of kernels share: the levels of this CPU, inputs full of hard values, buffers at
// any alignment with guards around them.
#pragma once
#include <cstring>
#include <random>
#include <vector>

#include "base/data_type.hpp"
#include "collective/engine/kernel/kernel.hpp"

namespace ff::testing {

inline std::vector<Isa> levels_here() {
  std::vector<Isa> levels;
  for (const char* name : {"baseline", "avx2", "avx512", "neon"}) {
    const Result<Isa> isa = select_isa(name);
    // A level that this CPU lacks gives the best one below it, which is then here already.
    if (isa.ok() && (levels.empty() || levels.back() != *isa)) levels.push_back(*isa);
  }
  return levels;
}

inline std::vector<ff_type> all_types() {
  std::vector<ff_type> types;
  for (int t = 0; t < FF_TYPE_COUNT; t++) types.push_back(static_cast<ff_type>(t));
  return types;
}

// `bytes` bytes at `misalignment` bytes behind a 64-byte boundary, between guards.
class Buffer {
 public:
  Buffer(size_t bytes, size_t misalignment)
      : memory_(bytes + 4 * kGuard, kUntouched), bytes_(bytes) {
    const auto base = reinterpret_cast<uintptr_t>(memory_.data()) + kGuard;
    offset_ = kGuard + (kGuard - base % kGuard) % kGuard + misalignment % kGuard;
  }
  char* data() { return reinterpret_cast<char*>(memory_.data()) + offset_; }
  const char* data() const { return reinterpret_cast<const char*>(memory_.data()) + offset_; }
  size_t bytes() const { return bytes_; }
  bool guards_untouched() const {
    for (size_t i = 0; i < memory_.size(); i++) {
      if ((i < offset_ || i >= offset_ + bytes_) && memory_[i] != kUntouched) return false;
    }
    return true;
  }

 private:
  static constexpr size_t kGuard = 64;
  static constexpr uint8_t kUntouched = 0xa5;
  std::vector<uint8_t> memory_;
  size_t bytes_;
  size_t offset_;
};

struct FloatBits {
  int exponent, mantissa;
  bool infinity;
};
inline FloatBits float_bits(ff_type type) {
  switch (type) {
    case FF_FLOAT64:
      return {11, 52, true};
    case FF_FLOAT32:
      return {8, 23, true};
    case FF_FLOAT16:
      return {5, 10, true};
    case FF_BFLOAT16:
      return {8, 7, true};
    case FF_FLOAT8_E5M2:
      return {5, 2, true};
    default:
      return {4, 3, false};  // FF_FLOAT8_E4M3
  }
}

// Bits of one element. A third are plain values of like magnitude (so that sums round), a third
// any bits at all, a third the corners of the type.
inline uint64_t hard_value(ff_type type, std::mt19937_64& random) {
  const int bits = static_cast<int>(8 * type_size(type));
  const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  const uint64_t any = random() & mask;
  const unsigned pick = static_cast<unsigned>(random() % 48);
  const uint64_t sign = (random() & 1) << (bits - 1);
  if (pick < 16) return any;
  if (!is_floating(type)) {
    const uint64_t corners[] = {0, 1, 2, mask, mask >> 1, (mask >> 1) + 1, mask - 1, 3};
    return pick < 32 ? (any >> (bits / 2)) : corners[pick % 8];
  }
  const FloatBits f = float_bits(type);
  const uint64_t fraction = any & ((uint64_t{1} << f.mantissa) - 1);
  const uint64_t infinity = ((uint64_t{1} << f.exponent) - 1) << f.mantissa;
  if (pick < 32) {
    const uint64_t bias = (uint64_t{1} << (f.exponent - 1)) - 1;
    return sign | (bias + (random() % 4)) << f.mantissa | fraction;
  }
  switch (pick % 12) {
    case 0:
    case 1:
      return sign;  // zeros
    case 2:
      return sign | fraction;  // subnormals
    case 3:
      return sign | 1;  // the least of them
    case 4:
      return sign | uint64_t{1} << f.mantissa;  // the least normal
    case 5:
      return sign | (infinity - 1);  // the largest finite
    case 6:
      return sign | (infinity - (random() % 64));  // near overflow
    case 7:
      return f.infinity ? sign | infinity : sign;
    case 8:
      return sign | infinity | fraction;  // NaN of some payload
    case 9:
      return sign | infinity | 1;  // a signalling one where there is such
    case 10:
      return sign | infinity | (uint64_t{1} << (f.mantissa - 1));
    default:
      return sign | ((uint64_t{1} << (f.exponent - 1)) - 1) << f.mantissa;  // one
  }
}

inline void fill_hard(ff_type type, void* to, size_t count, std::mt19937_64& random) {
  const size_t size = type_size(type);
  for (size_t i = 0; i < count; i++) {
    const uint64_t value = hard_value(type, random);
    std::memcpy(static_cast<char*>(to) + i * size, &value, size);
  }
}

}  // namespace ff::testing
