// Runs the calls of one communicator on one rank: fires whatever step is ready, on whatever thread
// drives, with no algorithm in its code and no lock around data.
//
// Calls are numbered in order of submission and start in that order, at most kBanks at once. A
// call starts on this rank as soon as
//  - every rank has finished the call kBanks before it (its counters and entries are free), and
//  - its slots are free: the last call in the same memory was of the same shape, may be followed at
//    once (Schedule::free_between_calls) and is done here; or is done on every rank, and
//  - no unfinished call here uses overlapping buffers.
// All conditions but the last follow from the order of calls, which is the same on all ranks.
//
// Threads: submit() and wait() from any. Whoever holds the baton drives; nobody else touches the
// calls in flight. The process's helper thread drives when no caller does (drive_as_helper).
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "collective/engine/baton.hpp"
#include "collective/engine/doorbell.hpp"
#include "collective/engine/failure.hpp"
#include "collective/engine/ladder.hpp"
#include "collective/engine/operation.hpp"
#include "collective/engine/program.hpp"
#include "collective/schedule/layout.hpp"

namespace ff {

using Clock = std::chrono::steady_clock;

struct EngineOptions {
  std::string name;  // of the communicator, in errors
  Rank rank;
  std::vector<SeatMemory> seats;  // by rank; seats[rank] is our own
  std::vector<Neighbour> node;    // the same seats, with their processes' bells
  std::vector<Person> people;     // by rank
  SeatLayout seat_layout;
  const Bell* bell = nullptr;  // of this process
  LadderOptions ladder;
  uint32_t max_outstanding = 256;
  std::optional<uint64_t> shuffle_seed;  // fire ready steps in random order: for tests, same bits
  // Called when there may be work or a deadline for the helper thread. Must be cheap.
  void (*notify_helper)(void* context) = nullptr;
  void* notify_context = nullptr;
};

struct CallRequest {
  const void* send = nullptr;
  void* recv = nullptr;
  CallDescription description;
  uint64_t digest = 0;                  // of what ranks must agree on
  const Program* program = nullptr;     // outlives the engine
  std::chrono::nanoseconds timeout{0};  // < 0: none
};

class Engine {
 public:
  explicit Engine(EngineOptions options);
  ~Engine();

  // Numbers the call and starts what can start. Blocks only while max_outstanding calls are
  // unfinished. An error means that the communicator has ended; `operation` is then untouched.
  Status submit(const CallRequest& request, Operation& operation);

  // Drives until the operation is done, or `limit` has passed (< 0: none).
  void wait(Operation& operation, std::chrono::nanoseconds limit);
  // Drives a little, without blocking.
  void poke();
  // If calls are left that nobody drives, the helper shall.
  void hand_over();
  // Until all that was submitted before is done. The first error among them.
  Status flush(std::chrono::nanoseconds limit);

  // Ends the communicator on all ranks.
  void abort(const std::string& reason);
  // Ends it here only: unfinished calls complete with FF_ERROR_ABORTED, and peers see that we left.
  void leave();
  // A process ended: of `rank`, says the kernel.
  void report_death(uint32_t rank);
  // This rank cannot go on; `status` becomes everyone's.
  void report(ff_status status, const std::string& text);

  // For the helper thread. Drives for a moment; says what it should do next.
  enum class HelperState {
    kBusy,     // steps were fired
    kWaiting,  // unfinished calls wait for other ranks
    kQuiet,    // nothing to drive here, or a caller does it
  };
  HelperState drive_as_helper();
  // Bell and deadline bookkeeping around the helper's sleep. prepare, look once more with
  // drive_as_helper, sleep until next_event, finish.
  void prepare_helper_sleep();
  void finish_helper_sleep();
  // Deadlines, settling of failures. Returns when to be called next at the latest.
  Clock::time_point watch(Clock::time_point now);

  // The failure that ended the communicator, once agreed.
  std::optional<Failure> failure() const;
  Status failure_status() const;  // FF_OK while it lives
  bool raised() const { return board_.raised(); }

  uint64_t submitted() const { return submitted_.load(std::memory_order_acquire); }
  uint64_t finished() const { return seat_->done.load(std::memory_order_acquire); }
  bool unfinished() const { return submitted() != finished(); }
  FailureBoard& board() { return board_; }
  const EngineOptions& options() const { return options_; }

 private:
  // One call in flight or queued. Written by the submitter, then only under the baton.
  struct Call {
    uint64_t sequence = 0;
    CallRequest request;
    uint64_t bytes = 0;
    Partition partition;
    Clock::time_point submitted, deadline;
    Operation* operation = nullptr;
    std::atomic<bool> complete{false};
    // While it runs:
    uint64_t tag = 0;        // counter_value(sequence, 0)
    uint64_t swap_base = 0;  // chunks that went through its swapped slots before
    uint32_t counter_bank = 0;
    uint32_t steps_left = 0;
    std::vector<uint32_t> next;  // by own step: chunks fired
    std::vector<uint32_t> met;   // by own step: remote waits of the next chunk that have passed
  };
  // The last user of each area of slots.
  struct SlotArea {
    uint64_t sequence = 0;
    uint64_t shape = 0;
    bool free_between_calls = false;
    uint64_t swapped_chunks = 0;
  };

  Call& call(uint64_t sequence) { return calls_[sequence % calls_.size()]; }
  // --- under the baton -----------------------------------------------------------------------
  bool sweep();  // true if anything happened
  void ring();
  bool admit(uint64_t end);
  bool may_start(const Call& call);
  void start(Call& call);
  bool run(Call& call);
  bool ready(Call& call, size_t step, uint32_t chunk);
  void fire(Call& call, size_t step, uint32_t chunk);
  std::byte* address(const Call& call, const LoweredOperand& operand, uint32_t chunk) const;
  void finish(Call& call);
  bool is_complete(uint64_t sequence);  // here
  bool everyone_finished(uint64_t sequence);
  bool drive_until(const Operation* operation, uint64_t sequence, Clock::time_point limit);
  Clock::time_point nearest_deadline() const;
  void slow_check(Clock::time_point now);
  void check_peers(const Call& call);
  void check_deadlines(Clock::time_point now);
  bool settle(Clock::time_point now);  // true once the failure is agreed and all calls have failed
  void fail_everything(const Failure& failure);

  bool shares_cpu();  // with another rank of the node

  SlotArea& area_of(const Call& call);
  std::string where(const Call& call) const;

  EngineOptions options_;
  Seat* seat_;
  Doorbell doorbell_;
  FailureBoard board_;
  Ladder ladder_;
  Baton baton_;
  std::atomic<uint32_t> impatient_{0};  // callers that wait for the baton

  std::mutex submit_mutex_;  // taken before the baton, never after
  std::atomic<uint64_t> submitted_{0};

  std::vector<Call> calls_;
  uint64_t started_ = 0;
  std::vector<uint64_t> active_;            // sequences, ascending, at most kBanks
  std::vector<uint64_t> known_done_;        // by rank, from counters and seats: a lower bound
  uint64_t everyone_done_ = 0;              // its minimum, cached
  std::array<SlotArea, kBanks + 1> areas_;  // small ones, then the bulk area
  bool published_ = false;                  // since the doorbell was last looked at
  bool heavy_ = false;                      // something large was among it
  std::vector<const void*> inputs_;         // scratch of fire()
  std::vector<void*> outputs_;
  std::optional<std::mt19937_64> shuffle_;
  std::vector<size_t> order_;  // of the steps, shuffled

  mutable std::mutex failure_mutex_;
  std::optional<Failure> failure_;
  std::shared_ptr<const std::string> failure_message_;
  std::atomic<bool> closed_{false};  // failed or left: nothing can be submitted
};

}  // namespace ff
