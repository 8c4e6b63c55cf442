// Direct: rank b owns part b of every chunk. All put their contribution to it into slots, the owner
// reduces them in one pass and stores the sum back into the same slots, all copy it out.
//
// Reduce-scatter and all-gather with the fewest bytes, 2m(n-1)/n a rank, in two stages and with one
// rounding. Three steps a rank: copy-in of all parts, reduce of the own part, copy-out. Each pair
// (contributor, owner) has a slot of its own that the two write in turn: its next writer is its
// last reader, so reuse needs no wait between ranks, and no store meets a line that the other core
// has only read.
#include "collective/algorithm/algorithm.hpp"

namespace ff {
namespace {

Schedule all_reduce(const Placement& placement, const Shape& shape) {
  const uint32_t n = placement.ranks();
  Schedule schedule;
  schedule.ranks = n;
  schedule.layout.parts = static_cast<uint16_t>(n);
  const auto part = [](uint32_t p) { return Region{0, static_cast<uint16_t>(p)}; };

  // contribution[q * n + b]: from q to the owner b; result[...] lies over it, from b back to q.
  std::vector<RingId> contribution(size_t{n} * n, kNone);
  std::vector<RingId> result(size_t{n} * n, kNone);
  for (uint32_t q = 0; q < n; q++) {
    for (uint32_t d = 1; d < n; d++) {
      const uint32_t b = (q + d) % n;
      contribution[q * n + b] = schedule.add_ring(Rank(q), shape.slots);
      result[q * n + b] = schedule.add_result_over(contribution[q * n + b], Rank(b));
    }
  }
  // Each rank starts with its right neighbour's part, so that not all begin at the same owner.
  for (uint32_t q = 0; q < n && n > 1; q++) {
    std::vector<Operand> in, out;
    for (uint32_t d = 1; d < n; d++) {
      const uint32_t b = (q + d) % n;
      in.push_back(send(Rank(q), part(b)));
      out.push_back(slot(contribution[q * n + b], part(b)));
    }
    schedule.add_step(StepKind::kCopy, {Rank(q)}, std::move(in), std::move(out));
  }
  for (uint32_t b = 0; b < n; b++) {
    std::vector<Operand> in, out = {recv(Rank(b), part(b))};
    for (uint32_t q = 0; q < n; q++) {
      in.push_back(q == b ? send(Rank(b), part(b)) : slot(contribution[q * n + b], part(b)));
      if (q != b) out.push_back(slot(result[q * n + b], part(b)));
    }
    schedule.add_step(StepKind::kReduce, {Rank(b)}, std::move(in), std::move(out));
  }
  for (uint32_t q = 0; q < n && n > 1; q++) {
    std::vector<Operand> in, out;
    for (uint32_t d = 1; d < n; d++) {
      const uint32_t b = (q + d) % n;
      in.push_back(slot(result[q * n + b], part(b)));
      out.push_back(recv(Rank(q), part(b)));
    }
    schedule.add_step(StepKind::kCopy, {Rank(q)}, std::move(in), std::move(out));
  }
  schedule.derive();
  return schedule;
}

}  // namespace

const Algorithm kDirect = {
    "direct",
    "the owner of each part reduces everyone's contribution and hands the sum back in place",
    [](const Placement& placement) { return placement.nodes() == 1; },
    all_reduce,
};

}  // namespace ff
