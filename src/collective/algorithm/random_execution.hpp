// Runs a schedule with numbers, in random order, as badly as the rules of the engine allow: the
// judge of the verifier in tests.
//
//  - Firings overlap. A step begins (its outputs turn to garbage, unless it works in place), others
//    act, it ends; it reads its inputs at either moment.
//  - Slots are physical: rings that share memory do.
//  - What a put has sent arrives later, at each destination on its own. Other nodes see the
//    arrival, its own node sees that the source has been read.
//  - A rank enters a call whenever it likes; before, its buffers are garbage. Once its own steps
//  and
//    exits have fired, it checks its result and fills both buffers with garbage again.
//  - Several calls follow each other in the same slots, if asked for, with no barrier between.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "collective/schedule/schedule.hpp"
#include "topology/graph/placement.hpp"

namespace ff {

class RandomExecution {
 public:
  enum class Outcome { kRight, kDeadlock, kWrong };

  RandomExecution(const Schedule& schedule, const Placement& placement);

  // One run; everything random follows from `seed`, also whether send and recv are one buffer.
  Outcome run(uint64_t seed, uint32_t chunks, uint32_t calls);

 private:
  // `sum` tells whether the right inputs met, `order` whether they did in the same order.
  struct Value {
    uint64_t sum = 0, order = 0;
    bool operator==(const Value&) const = default;
  };
  struct Arrival {  // one output of a put
    StepId step;
    uint32_t output;
    NodeId node;
    uint32_t arrived = 0;
    std::vector<Value> sent;  // by chunk
  };

  uint64_t random();
  Value garbage() { return {random(), random()}; }
  Value input(uint32_t rank, size_t region, uint32_t chunk) const;
  Value reduced(const std::vector<Value>& values, size_t first, size_t count) const;
  Value& at(const Operand& operand, uint32_t chunk);
  size_t region_of(const Operand& operand) const;
  uint32_t visible(StepId step, NodeId node) const;

  bool act(size_t actor);
  bool enter_call(uint32_t rank);
  bool fire(StepId id);
  bool arrive(Arrival& arrival);
  void read_inputs(StepId id, uint32_t chunk);
  void has_fired(StepId id);
  void count_down(uint32_t rank, uint32_t call);

  const Schedule& schedule_;
  const Placement& placement_;
  const size_t regions_;
  size_t slot_stride_ = 0;
  std::vector<std::vector<uint32_t>> left_by_;  // of each step: the ranks whose exit it is
  std::vector<uint32_t> work_;                  // of each rank: own steps and exits

  // One run.
  uint64_t state_ = 1;
  uint32_t chunks_ = 1, total_ = 1, calls_ = 1;
  bool in_place_ = false, wrong_ = false;
  size_t open_ = 0;  // calls of ranks that are not over
  std::vector<Value> slots_, send_, recv_;
  std::vector<uint32_t> fired_;
  std::vector<uint8_t> begun_;
  std::vector<std::vector<Value>> inputs_;  // read already, by step; empty: read at the end
  std::vector<uint32_t> entered_;           // calls of each rank
  std::vector<uint32_t> over_;
  std::vector<std::vector<uint32_t>> work_left_;  // [rank][call]
  std::vector<Arrival> arrivals_;
  std::vector<std::vector<size_t>> arrivals_of_;  // of each step
  std::vector<size_t> priority_;
};

}  // namespace ff
