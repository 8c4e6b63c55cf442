// The part of an all-reduce that happens inside the nodes, for algorithms that exchange between
// them: contributions in, results out. Any placement of ranks on nodes.
//
// The vector is cut into channels, the blocks of the layout. Channel c of a node with g ranks is
// owned by its local rank c mod g: the owner alone reads its node's contributions and talks to
// other nodes, so their work is spread over the ranks and there is no leader. A rank lays out its
// contributions to channels that it does not own, the owner's step reads them all, and the result
// is copied from a ring at the owner by everybody: three kinds of steps a rank, whatever g is.
//
// Use: construct (adds copy-in), for each node and region take contributions() and say where the
// result is (result_outputs() or result_arrives()), then finish().
#pragma once
#include <vector>

#include "collective/algorithm/algorithm.hpp"
#include "collective/schedule/schedule.hpp"
#include "topology/graph/placement.hpp"

namespace ff {

class NodeStage {
 public:
  // shape.channels blocks, each in `parts` parts.
  NodeStage(const Placement& placement, const Shape& shape, uint32_t parts);

  Schedule& schedule() { return schedule_; }
  uint32_t nodes() const { return placement_.nodes(); }
  Rank owner(NodeId node, Region region) const;
  RingId add_ring(NodeId node, Region region);  // at the owner

  // What the node's ranks add to the region, by ascending local rank: readable by the owner.
  std::vector<Operand> contributions(NodeId node, Region region) const;
  // One operand that holds their sum: adds a reduction by the owner unless a rank is alone here.
  Operand sum(NodeId node, Region region);

  // The owner's step computes the result: where it is to write it. At most one of the two is called
  // for a node and region, once.
  std::vector<Operand> result_outputs(NodeId node, Region region);
  // The result arrives in a ring at the owner.
  void result_arrives(NodeId node, Region region, RingId ring);
  // From where the owner can send the result on.
  Operand result(NodeId node, Region region) const { return delivery(node, region).source; }

  Schedule finish();  // adds copy-out and derives

 private:
  struct Delivery {
    Operand source;
    bool owner_has_it = false;  // in its buffer already
  };
  size_t region_index(Region region) const {
    return size_t{region.block} * schedule_.layout.parts + region.part;
  }
  size_t regions() const { return size_t{schedule_.layout.blocks} * schedule_.layout.parts; }
  const Delivery& delivery(NodeId node, Region region) const {
    return deliveries_[node.index() * regions() + region_index(region)];
  }
  // The channels' regions, from the one after `rank`'s own on: not all start at the same owner.
  std::vector<Region> regions_from(Rank rank) const;

  const Placement& placement_;
  const Shape& shape_;
  Schedule schedule_;
  std::vector<RingId> contribution_;  // of [rank][region]
  std::vector<Delivery> deliveries_;  // of [node][region]
};

}  // namespace ff
