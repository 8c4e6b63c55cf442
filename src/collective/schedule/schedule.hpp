// A collective as data: a timed marked graph.
//
// A schedule is a list of steps. Every step fires once per chunk of the vector, in chunk order. It
// may fire on chunk k as soon as each step it waits for has fired on chunk k - lag: lag 0 where it
// needs that step's data, lag = slots where it needs a slot of a ring to be free again. Nothing
// else is in it: no loops, no barriers, no sizes. The same value is verified (verify.hpp), timed
// (simulate.hpp), explained, and run by the engine.
//
// An author of an algorithm writes rings, steps and operands, then calls derive(): waits follow
// from operands and are never written by hand.
//
// Elements: the vector is cut into layout.blocks blocks (what the collective means: the halves of a
// double tree, the stripes of channels), each block into K chunks (the stream) and each chunk into
// layout.parts parts (what the ranks of a node share out). layout.hpp computes the ranges.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.hpp"

namespace ff {

using StepId = uint32_t;
using RingId = uint32_t;
inline constexpr uint32_t kNone = ~uint32_t{0};

enum class StepKind : uint8_t {
  kCopy,    // one input to every output; or lanes: input i to output i
  kReduce,  // all inputs, in their order, reduced to one value that every output gets
  kPut,     // one input to rings of another node
  kEnter,   // rank has submitted the call: its buffers may be read by others. Made by derive()
};

// The queue that fires a step; for the simulator, the resource that it occupies.
enum class Unit : uint8_t { kCpu, kCopyIn, kCopyOut, kNic, kDevice };
struct Executor {
  Rank rank;
  Unit unit = Unit::kCpu;
  bool operator==(const Executor&) const = default;
};

enum class Place : uint8_t { kSend, kRecv, kRing };  // the caller's memory, or a ring of slots
struct Region {
  uint16_t block = 0;
  uint16_t part = 0;
  auto operator<=>(const Region&) const = default;
};
struct Operand {
  Place place = Place::kSend;
  Rank rank;            // whose buffer, for kSend and kRecv
  RingId ring = kNone;  // for kRing
  Region region;        // which elements of the vector pass here
  bool operator==(const Operand&) const = default;
};

// Chunk k may fire once `step` has fired on chunk k - lag.
struct Wait {
  StepId step = kNone;
  uint32_t lag = 0;
  bool operator==(const Wait&) const = default;
};

struct Step {
  StepKind kind = StepKind::kCopy;
  Executor executor;
  std::vector<Operand> in, out;
  std::vector<Wait> waits;  // derived

  bool lanes() const { return kind == StepKind::kCopy && in.size() > 1; }
};

// Whose memory a ring's slots are.
enum class Sharing : uint8_t {
  kOwn,     // its own
  kResult,  // those of `partner`, the contribution: the step that alone reads the contribution
            // writes the result over it, element by element
  kSwap,  // exchanged with `partner` every `slots` chunks, so that each writer overwrites what the
          // other wrote and it has itself just read
};

// A row of slots in the staging memory of `home`, one chunk part each: chunk k lies in slot
// k mod slots. One step writes a ring, any number read it.
struct Ring {
  Rank home;
  uint16_t slots = 1;
  Sharing sharing = Sharing::kOwn;
  RingId partner = kNone;       // kResult: the contribution; kSwap: the other ring
  RingId result = kNone;        // of a contribution: the ring that lies over it
  StepId writer = kNone;        // derived
  std::vector<StepId> readers;  // derived
};

struct Layout {
  uint16_t blocks = 1;
  uint16_t parts = 1;
  bool operator==(const Layout&) const = default;
};

struct Schedule {
  uint32_t ranks = 0;
  Layout layout;
  std::vector<Step> steps;
  std::vector<Ring> rings;
  // exits[r]: steps of other ranks that read rank r's buffers. Rank r's call is done when its own
  // steps and these have fired on every chunk. Derived.
  std::vector<std::vector<StepId>> exits;

  // ---- for authors --------------------------------------------------------------------------
  RingId add_ring(Rank home, uint32_t slots);
  RingId add_result_over(RingId contribution, Rank home);
  void swap_slots(RingId a, RingId b);
  StepId add_step(StepKind kind, Executor executor, std::vector<Operand> in,
                  std::vector<Operand> out);

  // Fills in writers, readers, waits, enter steps and exits from the operands. Call once, last.
  //  - a ring is read: lag 0 on its writer
  //  - a ring is written: lag `slots` on each step whose reading frees a slot (freed_by)
  //  - a caller's buffer is overwritten: lag 0 on every step that still reads the input there, for
  //    send and recv may be the same buffer
  //  - a caller's result is read: lag 0 on its writer
  //  - another rank's buffer is touched: lag 0 on that rank's enter, and an exit for that rank
  void derive();

  // ---- for everybody ------------------------------------------------------------------------
  // Whose reading frees a slot of `ring` for its writer. The only place that knows about sharing.
  std::span<const StepId> freed_by(RingId ring) const;

  // Drops lag-0 waits that other lag-0 waits imply. Not those for a put: on another node only its
  // own frame tells that the data has arrived. For running, not for proving.
  void prune();

  // May the next call reuse the same slots at once, although only this rank's own steps of the last
  // call are known to be done? A slot's writer w may refill it if whoever freed it, x, reaches by
  // lag-0 waits a step of some rank c, and a step of c reaches w: c's last call ended after x, and
  // w starts after c's next call began. Otherwise all ranks must have left the last call first.
  bool free_between_calls() const;
};

// Operands, as authors write them.
inline Operand send(Rank rank, Region region) { return {Place::kSend, rank, kNone, region}; }
inline Operand recv(Rank rank, Region region) { return {Place::kRecv, rank, kNone, region}; }
inline Operand slot(RingId ring, Region region) { return {Place::kRing, Rank(), ring, region}; }

}  // namespace ff
