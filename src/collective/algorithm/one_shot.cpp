// One-shot: every rank lays its input out, and everyone reduces all inputs in rank order.
//
// One stage, m (n - 1) bytes read by each of n ranks: for messages so small that only the number of
// stages counts.
#include "collective/algorithm/algorithm.hpp"

namespace ff {
namespace {

Schedule all_reduce(const Placement& placement, const Shape& shape) {
  const uint32_t n = placement.ranks();
  Schedule schedule;
  schedule.ranks = n;
  const Region whole;
  std::vector<RingId> input(n);
  for (uint32_t r = 0; r < n && n > 1; r++) {
    input[r] = schedule.add_ring(Rank(r), shape.slots);
    schedule.add_step(StepKind::kCopy, {Rank(r)}, {send(Rank(r), whole)}, {slot(input[r], whole)});
  }
  for (uint32_t r = 0; r < n; r++) {
    std::vector<Operand> in;
    for (uint32_t q = 0; q < n; q++) {
      in.push_back(q == r ? send(Rank(r), whole) : slot(input[q], whole));
    }
    schedule.add_step(StepKind::kReduce, {Rank(r)}, std::move(in), {recv(Rank(r), whole)});
  }
  schedule.derive();
  return schedule;
}

}  // namespace

const Algorithm kOneShot = {
    "one_shot",
    "every rank copies its input out and reduces everyone's, in rank order",
    [](const Placement& placement) { return placement.nodes() == 1; },
    all_reduce,
};

}  // namespace ff
