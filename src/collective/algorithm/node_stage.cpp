#include "collective/algorithm/node_stage.hpp"

#include <utility>

namespace ff {

NodeStage::NodeStage(const Placement& placement, const Shape& shape, uint32_t parts)
    : placement_(placement), shape_(shape) {
  schedule_.ranks = placement.ranks();
  schedule_.layout.blocks = shape.channels;
  schedule_.layout.parts = static_cast<uint16_t>(parts);
  contribution_.assign(placement.ranks() * regions(), kNone);
  deliveries_.resize(placement.nodes() * regions());
  for (uint32_t r = 0; r < placement.ranks(); r++) {
    const Rank rank(r);
    std::vector<Operand> in, out;
    for (const Region region : regions_from(rank)) {
      if (owner(placement.node_of(rank), region) == rank) continue;
      const RingId ring = schedule_.add_ring(rank, shape.slots);
      contribution_[r * regions() + region_index(region)] = ring;
      in.push_back(send(rank, region));
      out.push_back(slot(ring, region));
    }
    if (!in.empty()) schedule_.add_step(StepKind::kCopy, {rank}, std::move(in), std::move(out));
  }
}

std::vector<Region> NodeStage::regions_from(Rank rank) const {
  std::vector<Region> list;
  const Layout layout = schedule_.layout;
  for (uint32_t i = 0; i < layout.blocks; i++) {
    const uint32_t block = (placement_.local_rank(rank).value() + 1 + i) % layout.blocks;
    for (uint32_t part = 0; part < layout.parts; part++) {
      list.push_back({static_cast<uint16_t>(block), static_cast<uint16_t>(part)});
    }
  }
  return list;
}

Rank NodeStage::owner(NodeId node, Region region) const {
  const std::span<const Rank> ranks = placement_.ranks_of(node);
  return ranks[region.block % ranks.size()];
}

RingId NodeStage::add_ring(NodeId node, Region region) {
  return schedule_.add_ring(owner(node, region), shape_.slots);
}

std::vector<Operand> NodeStage::contributions(NodeId node, Region region) const {
  std::vector<Operand> list;
  for (const Rank rank : placement_.ranks_of(node)) {
    const RingId ring = contribution_[rank.index() * regions() + region_index(region)];
    list.push_back(ring == kNone ? send(rank, region) : slot(ring, region));
  }
  return list;
}

Operand NodeStage::sum(NodeId node, Region region) {
  std::vector<Operand> in = contributions(node, region);
  if (in.size() == 1) return in[0];
  const Operand out = slot(add_ring(node, region), region);
  schedule_.add_step(StepKind::kReduce, {owner(node, region)}, std::move(in), {out});
  return out;
}

std::vector<Operand> NodeStage::result_outputs(NodeId node, Region region) {
  std::vector<Operand> out = {recv(owner(node, region), region)};
  if (placement_.ranks_of(node).size() > 1) out.push_back(slot(add_ring(node, region), region));
  deliveries_[node.index() * regions() + region_index(region)] = {out.back(), true};
  return out;
}

void NodeStage::result_arrives(NodeId node, Region region, RingId ring) {
  deliveries_[node.index() * regions() + region_index(region)] = {slot(ring, region), false};
}

Schedule NodeStage::finish() {
  for (uint32_t r = 0; r < placement_.ranks(); r++) {
    const Rank rank(r);
    const NodeId node = placement_.node_of(rank);
    std::vector<Operand> in, out;
    for (const Region region : regions_from(rank)) {
      const Delivery& from = delivery(node, region);
      if (from.owner_has_it && owner(node, region) == rank) continue;
      in.push_back(from.source);
      out.push_back(recv(rank, region));
    }
    if (!in.empty()) schedule_.add_step(StepKind::kCopy, {rank}, std::move(in), std::move(out));
  }
  schedule_.derive();
  return std::move(schedule_);
}

}  // namespace ff
