// The parts of verify(): one method a rule. Private to the verify_*.cpp files.
//
// The rules build on each other and are checked in the order of run(): each may trust what those
// before it established (form first: afterwards all ids are in range).
#pragma once
#include <fmt/core.h>

#include <string>
#include <utility>
#include <vector>

#include "collective/schedule/expression.hpp"
#include "collective/schedule/verify.hpp"

namespace ff {

class Verifier {
 public:
  Verifier(const Schedule& schedule, const Placement& placement)
      : schedule_(schedule), placement_(placement) {}

  Proof run();

 private:
  // verify_form.cpp
  Status check_form();
  Status check_step_form(StepId id);
  Status check_operand(StepId id, const Operand& operand, bool written);
  Status check_rings();
  Status check_exits();

  // verify_order.cpp
  Status check_liveness();  // rule 1; fills position_ and order_
  Status check_slots();     // rule 2
  Status check_sharing(RingId id);
  Status check_reads();   // rule 3
  Status check_memory();  // rule 4
  Status check_nodes();   // rule 7
  Status check_place(StepId id) const;
  bool reaches(StepId from, StepId to);
  bool data_reaches(StepId writer, StepId reader);
  bool search(StepId from, StepId to, bool arrival);

  // verify_values.cpp
  struct Value {
    Expressions::Id wide = kNone, narrow = kNone;
    bool operator==(const Value&) const = default;
    bool known() const { return wide != kNone; }
  };
  Status compute();                    // one symbolic chunk
  Status check_results(Proof& proof);  // rules 5 and 6
  Status check_once(Expressions::Id result, Rank rank, Region region) const;
  Value value_of(const Operand& operand);

  NodeId node_of(StepId id) const { return placement_.node_of(schedule_.steps[id].executor.rank); }
  NodeId home_of(RingId id) const { return placement_.node_of(schedule_.rings[id].home); }
  size_t regions() const { return size_t{schedule_.layout.blocks} * schedule_.layout.parts; }
  size_t place_of(Rank rank, Region region) const {
    return (rank.index() * schedule_.layout.blocks + region.block) * schedule_.layout.parts +
           region.part;
  }

  std::string name(StepId id) const;  // "step 5 (reduce of rank 2)"
  std::string ring_name(RingId id) const;
  static std::string region_name(Region region);
  template <class... Arguments>
  static Status broken(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    return {FF_ERROR_INTERNAL, fmt::format(format, std::forward<Arguments>(arguments)...)};
  }

  const Schedule& schedule_;
  const Placement& placement_;

  std::vector<StepId> enters_;      // of each rank, kNone if it has none
  std::vector<StepId> order_;       // one order in which a chunk may be fired
  std::vector<uint32_t> position_;  // of each step in it
  std::vector<StepId> todo_;        // of search()
  std::vector<uint32_t> seen_;      // by which search
  uint32_t searches_ = 0;

  Expressions expressions_;
  std::vector<Value> in_ring_;
  std::vector<Value> in_result_;  // by place_of()
};

}  // namespace ff
