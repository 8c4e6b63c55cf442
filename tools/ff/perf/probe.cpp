#include "ff/perf/probe.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <thread>
#include <vector>

namespace ff::tools::perf {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// The line that goes to and fro: even values are the first core's turn to write, odd the second's.
struct alignas(128) Ball {
  std::atomic<uint64_t> turn{0};
};

// One side of the game. A core that does not answer for this long has been taken away; that burst
// is then no measurement, and the side that gave up says so by `over`.
constexpr auto kPatience = std::chrono::seconds(1);

bool await(const Ball& ball, uint64_t turn, const std::atomic<bool>& over) {
  const auto limit = Clock::now() + kPatience;
  for (uint32_t spins = 1; ball.turn.load(std::memory_order_acquire) < turn; spins++) {
    relax();
    if (spins % 65536 == 0 && (Clock::now() > limit || over.load(std::memory_order_relaxed))) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::optional<double> core_to_core_ns() {
  const std::vector<int> cpus = allowed_cpus();
  if (cpus.size() < 2) return std::nullopt;
  constexpr uint64_t kBursts = 9, kTrips = 1500;
  Ball ball;
  std::atomic<bool> over{false};
  double best = std::numeric_limits<double>::infinity();

  const auto play = [&](uint64_t side) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpus[side], &one);
    bool here = sched_setaffinity(0, sizeof one, &one) == 0;
    for (uint64_t burst = 0; here && burst < kBursts; burst++) {
      const auto start = Clock::now();
      for (uint64_t trip = 0; here && trip < kTrips; trip++) {
        const uint64_t turn = 2 * (burst * kTrips + trip) + side;
        here = await(ball, turn, over);
        if (here) ball.turn.store(turn + 1, std::memory_order_release);
      }
      // Both sides see the same trips; the first one's clock is as good as the other's.
      const double ns = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
      if (here && side == 0) best = std::min(best, ns / (2.0 * kTrips));
    }
    if (!here) over.store(true, std::memory_order_relaxed);
  };
  { std::jthread first(play, 0), second(play, 1); }
  if (best == std::numeric_limits<double>::infinity()) return std::nullopt;
  return best;
}

}  // namespace ff::tools::perf
