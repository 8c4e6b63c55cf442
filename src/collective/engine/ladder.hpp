// The one waiting ladder: spin while every rank can have a CPU, then yield, then sleep.
//
//  1 spin     only where the ranks of the machine do not outnumber the CPUs that they may use,
//             and for some 20 us at most
//  2 yield    the CPU to whoever makes what we wait for
//  3 sleep    until the doorbell rings
// The last rung is the driver's (engine.cpp): it must look once more after it has said that it
// sleeps.
#pragma once
#include <sched.h>

#include <chrono>
#include <cstdint>

namespace ff {

inline void cpu_relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

struct LadderOptions {
  bool may_spin = false;
  std::chrono::nanoseconds spin{20'000};
  uint32_t yields = 100;
};

class Ladder {
 public:
  enum class Rung { kSpun, kYielded, kSleep };

  explicit Ladder(const LadderOptions& options) : options_(options) {}

  void reset() { spins_ = yields_ = 0; }  // something happened

  Rung climb() {
    if (options_.may_spin && spins_ != kSpunOut) {
      spins_++;
      // What comes at once is not made to wait for a pause, which takes as long as a cache miss.
      if (spins_ < kSpinsPerLook) return Rung::kSpun;
      if (spins_ % kSpinsPerLook == 0) {
        const auto now = std::chrono::steady_clock::now();
        if (spins_ == kSpinsPerLook) began_ = now;
        if (now - began_ >= options_.spin) spins_ = kSpunOut;
      }
      cpu_relax();
      return Rung::kSpun;
    }
    if (yields_ < options_.yields) {
      yields_++;
      sched_yield();
      return Rung::kYielded;
    }
    return Rung::kSleep;
  }
  uint32_t yields() const { return yields_; }
  bool time_to_look() const { return spins_ != 0 && spins_ % kSpinsPerLook == 0; }

 private:
  static constexpr uint32_t kSpunOut = ~uint32_t{0};
  static constexpr uint32_t kSpinsPerLook = 32;  // a look at the clock costs as much as a spin
  LadderOptions options_;
  std::chrono::steady_clock::time_point began_;
  uint32_t spins_ = 0;
  uint32_t yields_ = 0;
};

}  // namespace ff
