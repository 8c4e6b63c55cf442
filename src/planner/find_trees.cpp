#include "planner/find_trees.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace ff {
namespace {

using Edge = std::pair<uint32_t, uint32_t>;  // from, to

struct BlockTraffic {
  std::set<Edge> edges;
  std::set<uint32_t> computed_at;  // nodes where a reduction writes a caller's result
};

// A tree if each edge is used both ways and everything hangs together by nodes - 1 of them.
std::optional<std::vector<uint32_t>> parents_of(const BlockTraffic& traffic, uint32_t nodes) {
  if (traffic.computed_at.size() != 1 || traffic.edges.size() != size_t{2} * (nodes - 1)) {
    return std::nullopt;
  }
  std::vector<std::vector<uint32_t>> neighbours(nodes);
  for (const auto& [from, to] : traffic.edges) {
    if (!traffic.edges.contains({to, from})) return std::nullopt;
    neighbours[from].push_back(to);
  }
  const uint32_t root = *traffic.computed_at.begin();
  std::vector<uint32_t> parent(nodes, kNone);
  std::vector<uint32_t> reached = {root};
  for (size_t i = 0; i < reached.size(); i++) {
    for (const uint32_t to : neighbours[reached[i]]) {
      if (to == root || parent[to] != kNone) continue;
      parent[to] = reached[i];
      reached.push_back(to);
    }
  }
  if (reached.size() != nodes) return std::nullopt;
  return parent;
}

}  // namespace

std::vector<FoundTree> find_trees(const Schedule& schedule, const Placement& placement) {
  const uint32_t nodes = placement.nodes();
  if (nodes < 2) return {};
  std::vector<BlockTraffic> traffic(schedule.layout.blocks);
  for (const Step& step : schedule.steps) {
    const uint32_t node = placement.node_of(step.executor.rank).value();
    for (const Operand& operand : step.out) {
      BlockTraffic& block = traffic[operand.region.block];
      if (operand.place == Place::kRing) {
        const uint32_t to = placement.node_of(schedule.rings[operand.ring].home).value();
        if (to != node) block.edges.insert({node, to});
      } else if (step.kind == StepKind::kReduce) {
        block.computed_at.insert(node);
      }
    }
  }
  std::vector<FoundTree> trees;
  for (uint16_t block = 0; block < schedule.layout.blocks; block++) {
    const auto parent = parents_of(traffic[block], nodes);
    if (!parent) continue;
    const auto same = std::find_if(trees.begin(), trees.end(),
                                   [&](const FoundTree& tree) { return tree.parent == *parent; });
    if (same != trees.end()) {
      same->blocks.push_back(block);
    } else {
      trees.push_back({{block}, NodeId(*traffic[block].computed_at.begin()), *parent});
    }
  }
  return trees;
}

}  // namespace ff
