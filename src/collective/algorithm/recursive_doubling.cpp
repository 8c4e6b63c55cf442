// Recursive doubling: in stage t ranks that differ in bit t exchange all they have and add it.
//
// m log2 n bytes a rank in log2 n stages: for small messages between many nodes. Where n is not a
// power of two, the first ranks pair up: each odd one hands its input to the even one below it
// before, and gets the result after. Lower half first in every addition, so inputs meet in rank
// order and all ranks compute the same expression.
#include <bit>
#include <optional>
#include <utility>
#include <vector>

#include "collective/algorithm/algorithm.hpp"

namespace ff {
namespace {

class Builder {
 public:
  Builder(const Placement& placement, const Shape& shape) : placement_(placement), shape_(shape) {}

  Schedule build() {
    const uint32_t n = placement_.ranks();
    const uint32_t core = std::bit_floor(n);
    const uint32_t pairs = n - core;
    schedule_.ranks = n;
    const auto rank_of = [&](uint32_t i) { return Rank(i < pairs ? 2 * i : i + pairs); };
    const auto folded = [&](uint32_t i) {
      return i < pairs ? std::optional(Rank(2 * i + 1)) : std::nullopt;
    };
    std::vector<Operand> value;  // of each core member, where it can read it itself
    for (uint32_t i = 0; i < core; i++) {
      const Rank rank = rank_of(i);
      value.push_back(send(rank, {}));
      if (!folded(i)) continue;
      const Operand other = hand_over(*folded(i), send(*folded(i), {}), rank);
      value[i] = own_ring(rank);
      schedule_.add_step(StepKind::kReduce, {rank}, {send(rank, {}), other}, {value[i]});
    }
    for (uint32_t distance = 1; distance < core; distance *= 2) {
      const bool last = distance * 2 == core;
      std::vector<Operand> theirs(core);
      for (uint32_t i = 0; i < core; i++) {
        theirs[i ^ distance] = hand_over(rank_of(i), value[i], rank_of(i ^ distance));
      }
      for (uint32_t i = 0; i < core; i++) {
        const Rank rank = rank_of(i);
        std::vector<Operand> in = {value[i], theirs[i]};
        if ((i & distance) != 0) std::swap(in[0], in[1]);
        std::vector<Operand> out;
        if (last) out.push_back(recv(rank, {}));
        // What a neighbour on the node reads must lie in a ring; a put may send a result.
        if (!last || (folded(i) && same_node(rank, *folded(i)))) out.push_back(own_ring(rank));
        value[i] = out.back();
        schedule_.add_step(StepKind::kReduce, {rank}, std::move(in), std::move(out));
      }
    }
    for (uint32_t i = 0; i < pairs; i++) {
      const Rank rank = *folded(i);
      const Operand result = hand_over(rank_of(i), value[i], rank);
      schedule_.add_step(StepKind::kCopy, {rank}, {result}, {recv(rank, {})});
    }
    if (n == 1) {
      schedule_.add_step(StepKind::kReduce, {Rank(0)}, {send(Rank(0), {})}, {recv(Rank(0), {})});
    }
    schedule_.derive();
    return std::move(schedule_);
  }

 private:
  bool same_node(Rank a, Rank b) const { return placement_.node_of(a) == placement_.node_of(b); }
  Operand own_ring(Rank rank) { return slot(schedule_.add_ring(rank, shape_.slots), {}); }

  // Where `to` can read `value` of `from`: put over, copied out, or simply where it is.
  Operand hand_over(Rank from, Operand value, Rank to) {
    if (!same_node(from, to)) {
      const Operand there = own_ring(to);
      schedule_.add_step(StepKind::kPut, {from, Unit::kNic}, {value}, {there});
      return there;
    }
    if (value.place == Place::kRing) return value;
    const Operand out = own_ring(from);
    schedule_.add_step(StepKind::kCopy, {from}, {value}, {out});
    return out;
  }

  const Placement& placement_;
  const Shape& shape_;
  Schedule schedule_;
};

}  // namespace

const Algorithm kRecursiveDoubling = {
    "recursive_doubling",
    "ranks exchange and add all they have with partners at distance 1, 2, 4, ..",
    [](const Placement&) { return true; },
    [](const Placement& placement, const Shape& shape) {
      return Builder(placement, shape).build();
    },
};

}  // namespace ff
