// The core-to-core latency that stands beside each row, and pinning.
//
// Virtual machines move their cores between caches within seconds, which changes what shared memory
// costs several times over; a row is comparable only with rows that saw the same latency.
#pragma once
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

namespace bench {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The CPUs this process may use.
inline std::vector<int> cpus() {
  std::vector<int> all;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return all;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (CPU_ISSET(cpu, &set)) all.push_back(cpu);
  }
  return all;
}

// Pins the calling thread.
inline void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
}

// The affinity as it was when the program started: a launcher may bind a rank to one core, and the
// probe needs two.
inline double core_to_core_ns(int first, int second) {
  constexpr uint32_t kBursts = 9, kTrips = 1500;
  struct alignas(128) Ball {
    std::atomic<uint32_t> turn{0};
  } ball;
  double best = std::numeric_limits<double>::infinity();
  const auto play = [&](uint32_t side, int cpu) {
    pin(cpu);
    for (uint32_t burst = 0; burst < kBursts; burst++) {
      const auto start = Clock::now();
      for (uint32_t trip = 0; trip < kTrips; trip++) {
        const uint32_t turn = 2 * (burst * kTrips + trip) + side;
        while (ball.turn.load(std::memory_order_acquire) < turn) {
#if defined(__x86_64__)
          __builtin_ia32_pause();
#endif
        }
        ball.turn.store(turn + 1, std::memory_order_release);
      }
      // The best of the bursts, so that another busy thread on either core does not count.
      if (side == 0) best = std::min(best, seconds_since(start) * 1e9 / (2.0 * kTrips));
    }
  };
  std::thread one(play, 0, first), two(play, 1, second);
  one.join();
  two.join();
  return best;
}

}  // namespace bench
