// Proves a schedule right for every number of chunks and every order of firing; or says what is
// wrong. Static: sizes, chunk counts and timing never enter.
//
// What is checked (core rules of docs/design/schedule.md):
//  1. No deadlock: waits with lag 0 form no cycle, so every cycle holds a token.
//  2. Slots are safe: a ring's writer waits, 0 < lag <= slots, for everyone whose reading frees a
//     slot; rings that share memory do so by the rules of Sharing.
//  3. Reads are ordered: every ring read is reachable from its write by lag-0 waits.
//  4. No race on callers' memory: conflicting accesses to one (rank, block, part), where send and
//     recv count as one place, are connected by a lag-0 path; only its owner writes a buffer;
//     foreign touches wait for enter and appear in exits.
//  5. Exactly once: every output is an expression in which each rank's input occurs once.
//  6. Bit-identical: all ranks hold the same expression for each region.
//  7. Where a step runs on another node than the step it waits for, a ring stands between them that
//  a
//     transport can back with frames or credits.
#pragma once
#include <cstdint>
#include <string>

#include "base/status.hpp"
#include "collective/schedule/schedule.hpp"
#include "topology/graph/placement.hpp"

namespace ff {

// What the proof found out besides.
struct Proof {
  Status status;  // FF_OK, or FF_ERROR_INTERNAL with the first rule that is broken, steps named

  // A hash of the result's expression: equal for equal expressions, in any schedule and process.
  // Two schedules with equal hashes give the same bits.
  uint64_t expression = 0;
  bool rank_order = false;  // leaves in rank order: the operation need not commute
  uint32_t roundings = 0;   // reductions on the longest path from an input to a result
  bool uniform = false;     // every region has the same expression: bits do not depend on size
  bool balanced = false;    // the balanced order over global ranks: bits do not depend on layout

  uint64_t steps = 0;
  uint64_t waits = 0;
};

Proof verify(const Schedule& schedule, const Placement& placement);

}  // namespace ff
