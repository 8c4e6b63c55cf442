// How the ranks of a node agree on why a communicator ended.
//
// One word per communicator and node, the board's, goes from 0 to raised to sealed. Whoever sees a
// fault raises it; for 100 ms stronger evidence may replace weaker, since a rank's death also looks
// like silence to others; then the first rank whose time is up seals the word and everyone reports
// what it says. So all survivors name the same culprit, also when two ranks die at once.
//
// Any thread. Nothing here blocks.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collective/engine/doorbell.hpp"
#include "collective/engine/program.hpp"
#include "collective/engine/seat.hpp"

namespace ff {

// Who a rank is, for people.
struct Person {
  std::string host;
  int64_t pid = 0;
};

struct Failure {
  ff_status status = FF_ERROR_INTERNAL;
  int32_t rank = -1;      // culprit, -1 = nobody to name
  uint64_t sequence = 0;  // of the call it happened in, 0 = between calls
  std::string call, text;
  bool confirmed = false;  // agreed with the other ranks
};

class FailureBoard {
 public:
  static constexpr std::chrono::milliseconds kSettling{100};

  FailureBoard(std::span<const SeatMemory> seats, Rank self, std::span<const Person> people,
               Doorbell* doorbell);

  bool raised() const { return board_->word.load(std::memory_order_relaxed) != 0; }

  // The call that failed, as far as is known: those before it can be finished. 0: between calls.
  uint64_t failing_call() const;

  // `culprit` -1 = nobody. `text` is the whole story as this rank knows it. Wakes everyone.
  void raise(ff_status status, int32_t culprit, Evidence evidence, uint64_t sequence,
             const std::string& text);

  // What was agreed, or nothing yet; then ask again after settles_in(). Seals if it is time.
  std::optional<Failure> verdict(std::chrono::steady_clock::time_point now);
  std::chrono::nanoseconds settles_in(std::chrono::steady_clock::time_point now) const;
  void await_verdict(std::chrono::nanoseconds limit) const;  // sleeps

  std::string who(int32_t rank) const;  // "rank 2 (pid 4711 on host n1)"

 private:
  void seal(uint64_t word);
  void explain_mismatch(uint64_t sequence, int32_t& culprit, std::string& text) const;

  std::span<const SeatMemory> seats_;
  Rank self_;
  std::span<const Person> people_;
  Doorbell* doorbell_;
  Board* board_;
  // When this rank first saw the word; 0 = not yet. Nanoseconds of the steady clock.
  std::atomic<int64_t> seen_at_{0};
};

std::string describe(const CallDescription& call);  // "all_reduce of 1024 float32, sum ('grad')"

// The rank whose turn it is, seen from `self` waiting in the call `sequence`: the owner of a step
// that could fire and has not, or that has not entered the call. -1: everyone else has done its
// part.
struct Blame {
  int32_t rank = -1;
  bool entered = true;  // false: it has not made the call
  StepId step = kNone;
  uint64_t chunk = 0;
};
Blame find_blame(const Schedule& schedule, std::span<const SeatMemory> seats,
                 uint32_t counters_per_bank, uint64_t sequence, uint64_t chunks, Rank self);

}  // namespace ff
