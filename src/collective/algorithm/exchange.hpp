// All-reduce between nodes, over what NodeStage hands in and takes back. Each is defined in the
// file of the algorithm that it is.
#pragma once
#include "collective/algorithm/node_stage.hpp"

namespace ff {

// Channel c along the first tree (c even) or the second (c odd), parts = 1. In double_tree.cpp.
void exchange_by_trees(NodeStage& stage);

// Part p of each channel is reduced by node p, parts = nodes. In node_direct.cpp.
void exchange_directly(NodeStage& stage);

}  // namespace ff
