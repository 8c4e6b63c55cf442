// Hierarchical: inside each node everyone's contribution goes to the owner of the channel, between
// nodes the owners exchange, and back (node_stage.hpp, exchange.hpp).
//
// The owner's one reduction takes its node's contributions and what came from other nodes in the
// same pass, so each byte of a contribution is written once and read once.
#include "collective/algorithm/exchange.hpp"

namespace ff {
namespace {

constexpr uint32_t kMostDirectNodes = 16;  // n-1 peers an owner, and a part of the chunk for each

}  // namespace

const Algorithm kHierarchicalTree = {
    "hierarchical_tree",
    "channel owners add up their node and exchange along two binary trees over the nodes",
    // Inside one node it would be direct with more copies.
    [](const Placement& placement) {
      return placement.nodes() > 1 && placement.nodes() < placement.ranks();
    },
    [](const Placement& placement, const Shape& shape) {
      NodeStage stage(placement, shape, 1);
      exchange_by_trees(stage);
      return stage.finish();
    },
};

const Algorithm kHierarchicalDirect = {
    "hierarchical_direct",
    "channel owners add up their node and exchange parts of each chunk straight with all nodes",
    [](const Placement& placement) {
      return placement.nodes() > 1 && placement.nodes() <= kMostDirectNodes;
    },
    [](const Placement& placement, const Shape& shape) {
      NodeStage stage(placement, shape, placement.nodes());
      exchange_directly(stage);
      return stage.finish();
    },
};

}  // namespace ff
