// The algorithms: each is one file that turns a placement of ranks into a Schedule.
//
// A file defines one `Algorithm`; registry.cpp lists them. Nothing else in the code knows an
// algorithm by name: verifier, planner, simulator, engine and `ff explain` work on the Schedule.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.hpp"
#include "collective/schedule/schedule.hpp"
#include "topology/graph/placement.hpp"

namespace ff {

// What a schedule's shape may depend on besides the placement. Neither changes a result's bits,
// except channels, which is part of the expression.
struct Shape {
  uint16_t slots = 1;     // of every ring: chunks in flight between two steps
  uint16_t channels = 2;  // stripes of the vector, each owned by one rank of every node
};

struct Algorithm {
  const char* name;     // as in "algorithm=ring"
  const char* summary;  // one sentence for `ff explain`
  // Whether it can run here at all; not whether it is a good idea.
  bool (*applies)(const Placement&);
  // All-reduce over all ranks. The result has been derived, not pruned.
  Schedule (*all_reduce)(const Placement&, const Shape&);
};

std::span<const Algorithm* const> algorithms();
Result<const Algorithm*> find_algorithm(std::string_view name);  // the error lists the names

// One file each.
extern const Algorithm kOneShot;            // every rank reads every input
extern const Algorithm kSwap;               // one-shot of two that write each other's slots in turn
extern const Algorithm kDirect;             // reduce-scatter and all-gather straight between owners
extern const Algorithm kRecursiveDoubling;  // exchange everything, log2 n times
extern const Algorithm kDoubleTree;         // two binary trees over ranks alone on their nodes
extern const Algorithm kHierarchicalTree;   // node by node, two binary trees between
extern const Algorithm kHierarchicalDirect;  // node by node, direct between
extern const Algorithm kRing;                // twice round all ranks

}  // namespace ff
