// Finds the trees in a schedule: for blocks whose messages run along the edges of one tree, up and
// down, who is whose parent. Read off the steps, so it holds for any algorithm.
#pragma once
#include <cstdint>
#include <vector>

#include "collective/schedule/schedule.hpp"
#include "topology/graph/placement.hpp"

namespace ff {

struct FoundTree {
  std::vector<uint16_t> blocks;  // which pass along it
  NodeId root;                   // where the result is computed
  std::vector<uint32_t> parent;  // by node; kNone for the root
};

// Empty where messages do not form trees, or there is one node.
std::vector<FoundTree> find_trees(const Schedule& schedule, const Placement& placement);

}  // namespace ff
