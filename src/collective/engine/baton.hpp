// Who drives a communicator: whoever holds its baton. A lock, with two additions: the holder sees
// that somebody waits for it, and a waiter can be woken without getting it.
#pragma once
#include <atomic>
#include <chrono>

#include "collective/engine/doorbell.hpp"

namespace ff {

class Baton {
 public:
  bool try_take() {
    uint32_t expected = kFree;
    return state_.compare_exchange_strong(expected, kHeld, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }
  void give_back() {
    if (state_.exchange(kFree, std::memory_order_release) == kWanted) futex_wake(state_, false);
  }
  // For the holder: a thread waits. The helper then gives way.
  bool wanted() const { return state_.load(std::memory_order_relaxed) == kWanted; }
  // For the holder: wakes all waiters, so that they look again at what they wait for.
  void announce() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (!wanted()) return;
    state_.store(kHeld, std::memory_order_relaxed);
    futex_wake(state_, false);
  }

  // Sleeps until the baton is free, or announce(), or `limit`; returns early where `look` is true
  // after the wish is visible to the holder.
  template <class Look>
  void await(std::chrono::nanoseconds limit, Look look) {
    uint32_t expected = kHeld;
    if (!state_.compare_exchange_strong(expected, kWanted, std::memory_order_seq_cst) &&
        expected != kWanted) {
      return;
    }
    if (!look()) futex_wait(state_, kWanted, false, limit);
  }

 private:
  static constexpr uint32_t kFree = 0, kHeld = 1, kWanted = 2;
  alignas(64) std::atomic<uint32_t> state_{kFree};
};

}  // namespace ff
