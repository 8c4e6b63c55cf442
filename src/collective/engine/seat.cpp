#include "collective/engine/seat.hpp"

#include <cstring>

namespace ff {

// A sequence lock: readers may look at any time and take what is consistent.
void write_entry(Entry& entry, uint64_t sequence, uint64_t digest, const CallDescription& call) {
  std::array<uint64_t, 8> words{};
  words[0] = digest;
  words[1] = call.count;
  words[2] = uint64_t{static_cast<uint32_t>(call.type)} << 32 | call.op;
  std::memcpy(&words[4], call.name.data(), sizeof call.name);
  entry.sequence.store(0, std::memory_order_relaxed);
  // Nobody may see new words beside the old sequence.
  std::atomic_thread_fence(std::memory_order_release);
  for (size_t i = 0; i < words.size(); i++) {
    entry.words[i].store(words[i], std::memory_order_relaxed);
  }
  entry.sequence.store(sequence, std::memory_order_release);
}

bool read_entry(const Entry& entry, uint64_t sequence, uint64_t& digest, CallDescription& call) {
  if (entry.sequence.load(std::memory_order_acquire) != sequence) return false;
  std::array<uint64_t, 8> words;
  for (size_t i = 0; i < words.size(); i++) {
    words[i] = entry.words[i].load(std::memory_order_relaxed);
  }
  std::atomic_thread_fence(std::memory_order_acquire);
  if (entry.sequence.load(std::memory_order_relaxed) != sequence) return false;
  digest = words[0];
  call.count = words[1];
  call.type = static_cast<ff_type>(words[2] >> 32);
  call.op = static_cast<ff_reduce_op>(words[2]);
  std::memcpy(call.name.data(), &words[4], sizeof call.name);
  return true;
}

}  // namespace ff
