// Arithmetic of modelled time, for the files of the simulator.
#pragma once
#include <cstdint>
#include <limits>

#include "collective/schedule/simulate.hpp"

namespace ff {

// Longer than any call, and small enough that several of them can be added.
inline constexpr Picoseconds kForever = std::numeric_limits<Picoseconds>::max() / 64;

inline Picoseconds nanoseconds(uint64_t ns) { return static_cast<Picoseconds>(ns) * 1000; }

// A rate of 10^6 bytes a second is 10^6 picoseconds a byte.
inline Picoseconds transfer_time(uint64_t bytes, uint64_t mb_per_s) {
  constexpr uint64_t kMostBytes =
      static_cast<uint64_t>(kForever) / 1'000'000;  // 144 GB in one step
  return bytes <= kMostBytes ? static_cast<Picoseconds>(bytes * 1'000'000 / mb_per_s) : kForever;
}

}  // namespace ff
