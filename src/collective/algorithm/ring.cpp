// Ring: block b starts at rank b and goes once round the ring, gathering each rank's contribution,
// and once more, complete, for all to copy.
//
// 2m(n-1)/n bytes a rank, the fewest there are, between two neighbours only, in 2(n-1) stages: for
// links so thin that distance costs, and a second opinion in tests. Ranks stand in the ring node by
// node, so a node's border is crossed once each way. Each block is added from another rank on, so
// bits depend on where an element lies, and it is rounded n-1 times: poor for 16-bit types.
#include <map>
#include <utility>
#include <vector>

#include "collective/algorithm/algorithm.hpp"

namespace ff {
namespace {

constexpr uint32_t kMostRanks = 256;  // the graph has 2 n^2 steps

class Builder {
 public:
  Builder(const Placement& placement, const Shape& shape) : placement_(placement), shape_(shape) {
    for (uint32_t node = 0; node < placement.nodes(); node++) {
      const std::span<const Rank> members = placement.ranks_of(NodeId(node));
      ranks_.insert(ranks_.end(), members.begin(), members.end());
    }
  }

  Schedule build() {
    const uint32_t n = placement_.ranks();
    schedule_.ranks = n;
    schedule_.layout.blocks = static_cast<uint16_t>(n);
    if (n == 1) {
      schedule_.add_step(StepKind::kReduce, {Rank(0)}, {send(Rank(0), {})}, {recv(Rank(0), {})});
    } else {
      received_.assign(n, kNone);
      for (uint32_t i = 0; i < n; i++) pass_on(i, send(ranks_[i], block(i, 0)), 0);
      turn();
      for (uint32_t stage = 1; stage < n; stage++) {
        for (uint32_t i = 0; i < n; i++) gather(i, stage, stage == n - 1);
        turn();
      }
      for (uint32_t stage = n; stage < 2 * n - 1; stage++) {
        for (uint32_t i = 0; i < n; i++) hand_round(i, stage, stage == 2 * n - 2);
        turn();
      }
    }
    schedule_.derive();
    return std::move(schedule_);
  }

 private:
  // The block that is at position i in this stage.
  Region block(uint32_t i, uint32_t stage) const {
    const uint32_t n = placement_.ranks();
    return {static_cast<uint16_t>((i + 2 * n - stage) % n), 0};
  }
  uint32_t after(uint32_t i) const { return i + 1 == placement_.ranks() ? 0 : i + 1; }
  bool crosses_nodes(uint32_t i) const {
    return placement_.node_of(ranks_[i]) != placement_.node_of(ranks_[after(i)]);
  }

  // The ring in which position i + 1 will find what i makes now: i's own if they share a node.
  RingId next_ring(uint32_t i) {
    const Rank home = ranks_[crosses_nodes(i) ? after(i) : i];
    return sent_[i] = schedule_.add_ring(home, shape_.slots);
  }
  void put(uint32_t i, Operand value) {
    const Region region = value.region;
    schedule_.add_step(StepKind::kPut, {ranks_[i], Unit::kNic}, {value},
                       {slot(next_ring(i), region)});
  }
  void pass_on(uint32_t i, Operand value, uint32_t stage) {
    if (crosses_nodes(i)) return put(i, value);
    schedule_.add_step(StepKind::kCopy, {ranks_[i]}, {value},
                       {slot(next_ring(i), block(i, stage))});
  }

  void gather(uint32_t i, uint32_t stage, bool complete) {
    const Region region = block(i, stage);
    std::vector<Operand> out;
    if (complete) out.push_back(recv(ranks_[i], region));
    // A put cannot add: it sends what the reduction left at home.
    Operand to_send = recv(ranks_[i], region);
    if (!crosses_nodes(i)) {
      out.push_back(slot(next_ring(i), region));
    } else if (!complete) {
      to_send = slot(schedule_.add_ring(ranks_[i], shape_.slots), region);
      out.push_back(to_send);
    }
    schedule_.add_step(StepKind::kReduce, {ranks_[i]},
                       {slot(received_[i], region), send(ranks_[i], region)}, std::move(out));
    if (crosses_nodes(i)) put(i, to_send);
  }

  void hand_round(uint32_t i, uint32_t stage, bool last) {
    const Region region = block(i, stage);
    const Operand in = slot(received_[i], region);
    std::vector<Operand> out = {recv(ranks_[i], region)};
    if (!last && !crosses_nodes(i)) out.push_back(slot(next_ring(i), region));
    schedule_.add_step(StepKind::kCopy, {ranks_[i]}, {in}, std::move(out));
    if (!last && crosses_nodes(i)) put(i, in);
  }

  // End of a stage: what i has sent is what i + 1 has received.
  void turn() {
    for (const auto& [i, ring] : sent_) received_[after(i)] = ring;
    sent_.clear();
  }

  const Placement& placement_;
  const Shape& shape_;
  std::vector<Rank> ranks_;       // by position
  std::vector<RingId> received_;  // by position
  std::map<uint32_t, RingId> sent_;
  Schedule schedule_;
};

}  // namespace

const Algorithm kRing = {
    "ring",
    "each block goes round all ranks twice: to be added up, and to be copied",
    [](const Placement& placement) { return placement.ranks() <= kMostRanks; },
    [](const Placement& placement, const Shape& shape) {
      return Builder(placement, shape).build();
    },
};

}  // namespace ff
