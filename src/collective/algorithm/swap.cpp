// Swap: one-shot of two ranks whose slots change hands, so that each writes the slot that it has
// just read.
//
// Storing into a cache line that the other core has only read since costs several times a store
// into one that it has written (docs/performance.md). Here each side writes every line in turn.
#include "collective/algorithm/algorithm.hpp"

namespace ff {
namespace {

Schedule all_reduce(const Placement&, const Shape& shape) {
  Schedule schedule;
  schedule.ranks = 2;
  const Region whole;
  const Rank ranks[] = {Rank(0), Rank(1)};
  const RingId rings[] = {schedule.add_ring(ranks[0], shape.slots),
                          schedule.add_ring(ranks[1], shape.slots)};
  schedule.swap_slots(rings[0], rings[1]);
  for (size_t r = 0; r < 2; r++) {
    schedule.add_step(StepKind::kCopy, {ranks[r]}, {send(ranks[r], whole)},
                      {slot(rings[r], whole)});
  }
  schedule.add_step(StepKind::kReduce, {ranks[0]}, {send(ranks[0], whole), slot(rings[1], whole)},
                    {recv(ranks[0], whole)});
  schedule.add_step(StepKind::kReduce, {ranks[1]}, {slot(rings[0], whole), send(ranks[1], whole)},
                    {recv(ranks[1], whole)});
  schedule.derive();
  return schedule;
}

}  // namespace

const Algorithm kSwap = {
    "swap",
    "both ranks copy their input out and reduce; slots change hands with every chunk",
    [](const Placement& placement) { return placement.nodes() == 1 && placement.ranks() == 2; },
    all_reduce,
};

}  // namespace ff
