// A Schedule lowered for one rank: its own steps, with addresses, kernels and waits resolved.
//
// Immutable once made; shared by all calls of its key (type, operation, size class), which bind
// only count, buffers and sequence number. What is lowered here and not agreed with anyone, because
// it changes no bits and nobody else's work: the kind of store.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "collective/engine/kernel/kernel.hpp"
#include "collective/engine/seat.hpp"
#include "collective/schedule/schedule.hpp"

namespace ff {

// Where a rank's seat, counters and staging lie in its segment, as mapped here.
struct SeatMemory {
  Seat* seat = nullptr;
  Counter* counters = nullptr;  // kBanks rows of `counters_per_bank`
  std::byte* small = nullptr;   // kBanks areas of small_bytes
  std::byte* bulk = nullptr;    // one area of bulk_bytes
};

// Sizes that all ranks agreed on.
struct SeatLayout {
  uint32_t counters_per_bank = 0;
  size_t small_bytes = 0;
  size_t bulk_bytes = 0;

  size_t counters_offset() const;
  size_t small_offset() const;
  size_t bulk_offset() const;  // what lies before it is touched when the segment is made
  size_t segment_bytes() const;
  SeatMemory at(std::byte* segment) const;
};

struct LoweredOperand {
  enum Kind : uint8_t { kSendBuffer, kRecvBuffer, kSlots, kSwapSlots };
  Kind kind = kSendBuffer;
  uint8_t side = 0;  // of kSwapSlots: whose turn it is to write the even slot first
  Region region;
  std::byte* base = nullptr;  // of slot 0 in bank 0
  uint32_t slots = 0;
  size_t slot_stride = 0;
  size_t bank_stride = 0;
};

struct LocalWait {
  uint32_t step;  // index into Program::steps
  uint32_t lag;
};
struct RemoteWait {
  const Counter* counter;  // of bank 0
  uint32_t lag;
  uint32_t rank;  // whose step it is
};

struct LoweredStep {
  StepKind kind = StepKind::kCopy;
  bool lanes = false;
  bool awaited = false;  // another rank waits for it
  ReduceKernel reduce = nullptr;
  size_t streamed = 0;         // outputs [0, streamed) are written with non-temporal stores
  Counter* counter = nullptr;  // of bank 0
  std::vector<LoweredOperand> in, out;
  std::vector<LocalWait> local;
  std::vector<RemoteWait> remote;
};

struct Program {
  std::vector<LoweredStep> steps;
  std::shared_ptr<const Schedule> schedule;  // pruned; for the blame of a stall
  Layout layout;
  size_t element_bytes = 0;
  uint64_t piece_bytes = 0;
  uint32_t counters_per_bank = 0;
  double divisor = 1;
  CopyKernel copy = nullptr;

  // Slots are used again by the next call with the same `shape`; by any other only after every
  // rank has finished this one. 0: it has no slots.
  uint64_t shape = 0;
  bool bulk = false;  // in the bulk area, which has one bank; else in the small one
  bool free_between_calls = false;
  bool swaps = false;
};

struct LoweringRequest {
  std::shared_ptr<const Schedule> schedule;  // derived and pruned
  std::vector<bool> completing;              // steps whose result has all inputs in it
  Rank rank;
  std::span<const SeatMemory> seats;  // by rank; all on this node
  SeatLayout seat_layout;
  ff_type type = FF_UINT8;
  ff_reduce_op op = FF_SUM;
  Isa isa = Isa::kBaseline;
  uint64_t piece_bytes = 0;
  uint64_t largest_piece = 0;  // of any call that will use the program: inline if it fits a counter
  bool stream_results = false;  // non-temporal stores into callers' buffers
};

// FF_ERROR_RESOURCE if rings or counters do not fit the seats; FF_ERROR_UNSUPPORTED for steps that
// need a transport.
Result<std::shared_ptr<const Program>> lower(const LoweringRequest& request);

// The index of each step among those of its own rank: names its counter. The same on all ranks.
std::vector<uint32_t> local_indices(const Schedule& schedule);

}  // namespace ff
