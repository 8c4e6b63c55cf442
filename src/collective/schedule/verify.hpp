// Proves a schedule right for every number of chunks and every order of firing; or says what is
// wrong. Static: sizes, chunk counts and timing never enter.
//
// What is checked (why, and what was rejected: docs/design/schedule.md):
//  0. Form: operands fit their step's kind, every value stays at its place in the vector, what
//     derive() fills in (writers, readers, exits) is what the operands say.
//  1. No deadlock: waits with lag 0 form no cycle, so every cycle holds a token.
//  2. Slots are safe: a ring's writer waits, 0 < lag <= slots, for everyone whose reading frees a
//     slot; rings that share memory do so by the rules of Sharing.
//  3. Reads are ordered: every ring read is reachable from its write by lag-0 waits, and where the
//     data crosses nodes, through its arrival there.
//  4. No race on callers' memory: conflicting accesses to one (rank, block, part), where send and
//     recv count as one place, are connected by a lag-0 path; only its owner writes a buffer;
//     foreign touches wait for enter and appear in exits.
//  5. Exactly once: every output is an expression in which each rank's input occurs once.
//  6. Bit-identical: all ranks hold the same expression for each region, and so do all parts of a
//     block: how a block is cut into chunks may be tuned at run time and must not show in the bits.
//  7. Only puts cross nodes, and where a step waits for one on another node, a ring stands between
//     them: a frame carries the wait for data, a credit that for a slot.
#pragma once
#include <cstdint>
#include <string>

#include "base/data_type.hpp"
#include "base/status.hpp"
#include "collective/schedule/schedule.hpp"
#include "topology/graph/placement.hpp"

namespace ff {

// What a result's bits depend on, for one family of element types. The three levels of
// ff_numerics: any schedule is deterministic for its layout and size; `uniform`, for a schedule
// that was not chosen by size, is FF_NUMERICS_ANY_SIZE; `balanced` is FF_NUMERICS_ANY_LAYOUT.
struct Arithmetic {
  // A hash of the results' expressions, the same in any process. Two schedules with equal hashes
  // give the same bits.
  uint64_t expression = 0;
  bool uniform = false;   // one expression for all elements: bits do not depend on size
  bool balanced = false;  // it is the balanced order over global ranks: nor on the layout
  bool operator==(const Arithmetic&) const = default;
};

struct Proof {
  Status status;  // FF_OK, or FF_ERROR_INTERNAL: the first rule that is broken, with steps, rings
                  // and ranks. What follows is set only with FF_OK.

  Arithmetic wide;    // types reduced in their own precision: 32 and 64 bits, integers
  Arithmetic narrow;  // 16- and 8-bit floats: every reducing step rounds
  const Arithmetic& of(ff_type type) const { return is_narrow_floating(type) ? narrow : wide; }

  bool rank_order = false;  // inputs meet in rank order: the operation need not commute
  uint32_t roundings = 0;   // reducing steps on the longest path from an input to a result

  uint64_t steps = 0;
  uint64_t waits = 0;
};

// Takes milliseconds for thousands of steps; any thread. Whatever is in `schedule`, also ids that
// are out of range, gives a status and never a crash.
Proof verify(const Schedule& schedule, const Placement& placement);

}  // namespace ff
