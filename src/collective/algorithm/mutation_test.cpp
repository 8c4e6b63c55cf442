// Is the verifier right? Schedules are broken in every way we could think of; what it still accepts
// must survive random executions with right results.
//
// Two families of mutants:
//  - of what derive() made and of the sharing of slots: waits dropped, moved, with another lag;
//    results over other pairs' slots. Accepted ones are slower or equal, never wrong.
//  - of what an author writes, then derived anew: steps and operands dropped, doubled, swapped,
//    misdirected. Refused, or the same arithmetic (listed as equivalent), or, where two things
//    changed places, the same sum in another order that all ranks agree on: a legal all-reduce,
//    which its expression gives away (Numerics.ExpressionsArePinned).
//
// By default a minute's worth of runs. FF_MUTATION_RUNS, how often each accepted mutant is run, and
// FF_MUTATION_SAMPLE, every how many refused ones is run to see whether it would have failed, make
// it thorough: the test labelled `slow`.
#include <fmt/core.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "collective/algorithm/algorithm.hpp"
#include "collective/algorithm/random_execution.hpp"
#include "collective/schedule/verify.hpp"

namespace ff {
namespace {

// Direct without staging: owners read callers' buffers, which brings enter steps and exits into
// play. No product algorithm; the engine elides copies instead.
Schedule pull(const Placement& placement, const Shape&) {
  const uint32_t n = placement.ranks();
  Schedule schedule;
  schedule.ranks = n;
  schedule.layout.parts = static_cast<uint16_t>(n);
  const auto part = [](uint32_t p) { return Region{0, static_cast<uint16_t>(p)}; };
  for (uint32_t b = 0; b < n; b++) {
    std::vector<Operand> in;
    for (uint32_t q = 0; q < n; q++) in.push_back(send(Rank(q), part(b)));
    schedule.add_step(StepKind::kReduce, {Rank(b)}, in, {recv(Rank(b), part(b))});
  }
  for (uint32_t q = 0; q < n; q++) {
    for (uint32_t b = 0; b < n; b++) {
      if (b == q) continue;
      schedule.add_step(StepKind::kCopy, {Rank(q)}, {recv(Rank(b), part(b))},
                        {recv(Rank(q), part(b))});
    }
  }
  schedule.derive();
  return schedule;
}
const Algorithm kPull = {"pull", "", [](const Placement& p) { return p.nodes() == 1; }, pull};

struct Base {
  const Algorithm* algorithm;
  Placement placement;
  uint16_t slots;
  std::string name() const {
    std::string nodes;
    for (uint32_t r = 0; r < placement.ranks(); r++) {
      nodes += fmt::format(" {}", placement.node_of(Rank(r)).value());
    }
    return fmt::format("{} on nodes{} with {} slots", algorithm->name, nodes, slots);
  }
};

std::vector<Base> bases() {
  const auto place = [](std::vector<uint32_t> node_of) { return Placement(node_of); };
  std::vector<Base> list;
  for (const uint16_t slots : std::initializer_list<uint16_t>{1, 2, 3}) {
    for (const Placement& placement :
         {place({0, 0}), place({0, 0, 0}), place({0, 1}), place({0, 1, 2}), place({0, 1, 1}),
          place({0, 0, 1, 1}), place({0, 1, 0, 2}), place({0, 1, 2, 3, 4})}) {
      if (slots == 3 && placement.ranks() > 2) continue;
      for (const Algorithm* algorithm : algorithms()) {
        if (!algorithm->applies(placement)) continue;
        // Large graphs add runs and nothing new.
        if (algorithm->all_reduce(placement, {slots, 2}).steps.size() > 32) continue;
        list.push_back({algorithm, placement, slots});
      }
      if (kPull.applies(placement)) list.push_back({&kPull, placement, slots});
    }
  }
  return list;
}

struct Mutant {
  std::string kind;
  Schedule schedule;
  bool exchange = false;  // two things changed places: that may merely be another order
};

// ---- broken waits and sharing ----------------------------------------------------------------

void mutate_waits(const Schedule& base, std::vector<Mutant>& mutants) {
  for (StepId id = 0; id < base.steps.size(); id++) {
    for (size_t w = 0; w < base.steps[id].waits.size(); w++) {
      const Wait wait = base.steps[id].waits[w];
      const auto with = [&](const char* kind, Wait other) {
        Mutant& mutant = mutants.emplace_back(Mutant{kind, base});
        mutant.schedule.steps[id].waits[w] = other;
      };
      Mutant& dropped = mutants.emplace_back(
          Mutant{wait.lag == 0 ? "wait for data dropped" : "wait for a slot dropped", base});
      std::vector<Wait>& waits = dropped.schedule.steps[id].waits;
      waits.erase(waits.begin() + static_cast<std::ptrdiff_t>(w));
      with("lag + 1", {wait.step, wait.lag + 1});
      if (wait.lag > 0) with("lag 0", {wait.step, 0});
      if (wait.lag > 1) with("lag - 1", {wait.step, wait.lag - 1});
      for (StepId other = 0; other < base.steps.size(); other++) {
        if (other != wait.step) with("wait on another step", {other, wait.lag});
      }
    }
  }
  for (uint32_t rank = 0; rank < base.ranks; rank++) {
    for (size_t i = 0; i < base.exits[rank].size(); i++) {
      Mutant& mutant = mutants.emplace_back(Mutant{"exit dropped", base});
      std::vector<StepId>& exits = mutant.schedule.exits[rank];
      exits.erase(exits.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

void mutate_sharing(const Schedule& base, std::vector<Mutant>& mutants) {
  const auto with = [&](const char* kind, auto change) {
    Mutant& mutant = mutants.emplace_back(Mutant{kind, base});
    change(mutant.schedule);
  };
  for (RingId id = 0; id < base.rings.size(); id++) {
    const Ring& ring = base.rings[id];
    with("ring with a slot more", [&](Schedule& s) { s.rings[id].slots++; });
    if (ring.slots > 1) with("ring with a slot less", [&](Schedule& s) { s.rings[id].slots--; });
    if (ring.sharing == Sharing::kResult) {
      const RingId contribution = ring.partner;
      for (RingId other = 0; other < base.rings.size(); other++) {
        if (base.rings[other].result == kNone || other == contribution) continue;
        with("result over another pair's slot", [&](Schedule& s) { s.rings[id].partner = other; });
        with("two pairs' slots exchanged", [&](Schedule& s) {
          const RingId displaced = s.rings[other].result;
          s.rings[id].partner = other;
          s.rings[other].result = id;
          s.rings[displaced].partner = contribution;
          s.rings[contribution].result = displaced;
        });
      }
      // Someone else reads the contribution too, into a ring that its own reader empties again.
      with("second reader of a contribution", [&](Schedule& s) {
        const Operand in = slot(contribution, s.steps[ring.writer].out[0].region);
        const Executor executor = s.steps[ring.readers[0]].executor;
        const RingId copy = s.add_ring(executor.rank, ring.slots);
        const StepId reader = s.add_step(StepKind::kCopy, executor, {in}, {slot(copy, in.region)});
        const RingId unused = s.add_ring(executor.rank, ring.slots);
        const StepId second = s.add_step(StepKind::kCopy, executor, {slot(copy, in.region)},
                                         {slot(unused, in.region)});
        s.steps[reader].waits = {{s.rings[contribution].writer, 0}, {second, ring.slots}};
        s.steps[second].waits = {{reader, 0}};
        s.rings[contribution].readers.push_back(reader);
        s.rings[copy].writer = reader;
        s.rings[copy].readers = {second};
        s.rings[unused].writer = second;
      });
      with("result in slots of its own", [&](Schedule& s) {
        s.rings[id].sharing = Sharing::kOwn;
        s.rings[contribution].result = kNone;
      });
    }
    if (ring.sharing == Sharing::kSwap) {
      with("one ring of a pair does not swap",
           [&](Schedule& s) { s.rings[id].sharing = Sharing::kOwn; });
    }
    for (RingId other = id + 1; other < base.rings.size(); other++) {
      if (ring.sharing != Sharing::kOwn || base.rings[other].sharing != Sharing::kOwn) continue;
      with("two rings swap that must not", [&](Schedule& s) { s.swap_slots(id, other); });
      with("a result over a ring that is none", [&](Schedule& s) {
        s.rings[other].sharing = Sharing::kResult;
        s.rings[other].partner = id;
        s.rings[id].result = other;
      });
    }
  }
}

// ---- broken authors --------------------------------------------------------------------------

// Derives again after operands or steps have changed. Where two steps write one ring derive()
// would stop the process, as it should: then the waits stay as they were.
void derive_again(Schedule& schedule) {
  std::set<RingId> written;
  for (const Step& step : schedule.steps) {
    for (const Operand& out : step.out) {
      if (out.place == Place::kRing && !written.insert(out.ring).second) return;
    }
  }
  std::erase_if(schedule.steps, [](const Step& step) { return step.kind == StepKind::kEnter; });
  for (Step& step : schedule.steps) step.waits.clear();
  for (Ring& ring : schedule.rings) {
    ring.writer = kNone;
    ring.readers.clear();
  }
  schedule.derive();
}

// Operands that an author might have meant instead: another ring, rank, buffer or region.
std::vector<Operand> misdirections(const Schedule& base, const Operand& operand, bool written) {
  std::vector<Operand> list;
  for (RingId ring = 0; ring < base.rings.size(); ring++) {
    if (operand.place != Place::kRing || ring != operand.ring) {
      list.push_back(slot(ring, operand.region));
    }
  }
  for (uint32_t rank = 0; rank < base.ranks; rank++) {
    if (!written) list.push_back(send(Rank(rank), operand.region));
    list.push_back(recv(Rank(rank), operand.region));
  }
  for (uint16_t block = 0; block < base.layout.blocks; block++) {
    for (uint16_t part = 0; part < base.layout.parts; part++) {
      Operand other = operand;
      other.region = {block, part};
      list.push_back(other);
    }
  }
  std::erase(list, operand);
  return list;
}

void mutate_authors(const Schedule& base, std::vector<Mutant>& mutants) {
  const auto with = [&](const char* kind, auto change) -> Mutant& {
    Mutant& mutant = mutants.emplace_back(Mutant{kind, base});
    change(mutant.schedule);
    derive_again(mutant.schedule);
    return mutant;
  };
  for (StepId id = 0; id < base.steps.size(); id++) {
    const Step& step = base.steps[id];
    if (step.kind == StepKind::kEnter) continue;
    with("step dropped", [&](Schedule& s) { s.steps.erase(s.steps.begin() + id); });
    with("step doubled", [&](Schedule& s) { s.steps.push_back(s.steps[id]); });
    for (uint32_t rank = 0; rank < base.ranks; rank++) {
      if (Rank(rank) == step.executor.rank) continue;
      with("step on another rank", [&](Schedule& s) { s.steps[id].executor.rank = Rank(rank); });
    }
    for (const StepKind kind : {StepKind::kCopy, StepKind::kReduce, StepKind::kPut}) {
      if (kind == step.kind) continue;
      with("step of another kind", [&](Schedule& s) { s.steps[id].kind = kind; });
    }
    for (StepId other = id + 1; other < base.steps.size(); other++) {
      if (base.steps[other].kind == StepKind::kEnter) continue;
      with("steps' inputs swapped", [&](Schedule& s) {
        std::swap(s.steps[id].in, s.steps[other].in);
      }).exchange = true;
      with("steps' outputs swapped", [&](Schedule& s) {
        std::swap(s.steps[id].out, s.steps[other].out);
      }).exchange = true;
    }
    for (const bool written : {false, true}) {
      const auto side = [written](Step& s) -> std::vector<Operand>& {
        return written ? s.out : s.in;
      };
      const std::vector<Operand>& operands = written ? step.out : step.in;
      for (size_t i = 0; i < operands.size(); i++) {
        const auto offset = static_cast<std::ptrdiff_t>(i);
        with("operand dropped",
             [&](Schedule& s) { side(s.steps[id]).erase(side(s.steps[id]).begin() + offset); });
        with("operand doubled", [&](Schedule& s) {
          side(s.steps[id]).insert(side(s.steps[id]).begin() + offset, operands[i]);
        });
        for (size_t j = i + 1; j < operands.size(); j++) {
          with("operands swapped", [&](Schedule& s) {
            std::swap(side(s.steps[id])[i], side(s.steps[id])[j]);
          }).exchange = true;
        }
        for (const Operand& other : misdirections(base, operands[i], written)) {
          with("operand misdirected", [&](Schedule& s) { side(s.steps[id])[i] = other; });
        }
      }
    }
  }
}

bool sharing_is_as_in(const Schedule& original, const Schedule& mutant) {
  return std::equal(original.rings.begin(), original.rings.end(), mutant.rings.begin(),
                    mutant.rings.end(), [](const Ring& a, const Ring& b) {
                      return a.slots == b.slots && a.sharing == b.sharing && a.partner == b.partner;
                    });
}

// Has the mutant every wait of the original, perhaps with less lag, and maybe more? Then each of
// its executions is one of the original's. All that could be new is a deadlock, and whether a
// marked graph deadlocks does not depend on the order in which it is fired: a few runs tell.
bool only_adds_order(const Schedule& original, const Schedule& mutant) {
  for (StepId id = 0; id < original.steps.size(); id++) {
    for (const Wait& wait : original.steps[id].waits) {
      const std::vector<Wait>& waits = mutant.steps[id].waits;
      if (std::none_of(waits.begin(), waits.end(), [&](const Wait& other) {
            return other.step == wait.step && other.lag <= wait.lag;
          })) {
        return false;
      }
    }
  }
  return true;
}

// ---- judgement -------------------------------------------------------------------------------

struct Tally {
  uint64_t made = 0, refused = 0, refused_tried = 0, refused_failed = 0;
  uint64_t accepted = 0, accepted_failed = 0, run = 0, run_in_full = 0, equivalent = 0,
           reordered = 0;
};

uint32_t setting(const char* name, uint32_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : static_cast<uint32_t>(std::strtoul(text, nullptr, 10));
}

// Runs with changing chunk counts; several calls on end where the schedule says that it may.
bool ever_fails(const Schedule& schedule, const Placement& placement, uint32_t runs,
                bool calls_on_end) {
  RandomExecution execution(schedule, placement);
  for (uint32_t run = 0; run < runs; run++) {
    const uint32_t chunks = 1 + run % 7;
    const uint32_t calls = calls_on_end ? 1 + run / 7 % 3 : 1;
    if (execution.run(run, chunks, calls) != RandomExecution::Outcome::kRight) return true;
  }
  return false;
}

// What an execution can tell of a schedule: its operands, and its waits but for those that others
// imply. Mutants with the same text behave alike, and one of them is run for all.
std::string behaviour(Schedule schedule) {
  schedule.prune();
  std::string text;
  const auto add = [&](const std::vector<Operand>& operands) {
    for (const Operand& o : operands) {
      text += fmt::format(" {}.{}.{}.{}.{}", int(o.place), o.rank.value(), o.ring, o.region.block,
                          o.region.part);
    }
  };
  for (Step& step : schedule.steps) {
    std::sort(step.waits.begin(), step.waits.end(), [](const Wait& a, const Wait& b) {
      return std::pair(a.step, a.lag) < std::pair(b.step, b.lag);
    });
    text += fmt::format("\n{} {}", int(step.kind), step.executor.rank.value());
    add(step.in);
    text += " ->";
    add(step.out);
    for (const Wait& wait : step.waits) text += fmt::format(" w{}-{}", wait.step, wait.lag);
  }
  for (const Ring& ring : schedule.rings) {
    text += fmt::format("\n{} {} {} {}", ring.home.value(), ring.slots, int(ring.sharing),
                        ring.partner);
  }
  for (const auto& exits : schedule.exits) text += fmt::format("\n{}", fmt::join(exits, " "));
  return text;
}

void judge_all(void (*mutate)(const Schedule&, std::vector<Mutant>&), uint32_t accepted_runs,
               uint32_t refused_sample, bool authors) {
  std::map<std::string, Tally> tallies;
  std::map<std::string, uint64_t> equivalents;
  uint64_t index = 0;
  for (const Base& base : bases()) {
    const Schedule original = base.algorithm->all_reduce(base.placement, {base.slots, 2});
    const Proof truth = verify(original, base.placement);
    ASSERT_TRUE(truth.status.ok()) << base.name() << ": " << truth.status.message();
    const bool calls_on_end = original.free_between_calls();
    std::vector<Mutant> mutants;
    mutate(original, mutants);
    Schedule pruned = original;
    pruned.prune();
    std::set<std::string> run_already = {behaviour(original)};  // ProvedSchedulesSucceed runs it
    for (const Mutant& mutant : mutants) {
      Tally& tally = tallies[mutant.kind];
      tally.made++;
      const Proof proof = verify(mutant.schedule, base.placement);
      if (!proof.status.ok()) {
        tally.refused++;
        if (refused_sample != 0 && ++index % refused_sample == 0) {
          tally.refused_tried++;
          tally.refused_failed += ever_fails(mutant.schedule, base.placement, 400, calls_on_end);
        }
        continue;
      }
      tally.accepted++;
      const bool same = proof.wide == truth.wide && proof.narrow == truth.narrow;
      if (same) {
        tally.equivalent++;
        if (authors) equivalents[fmt::format("{}: {}", base.algorithm->name, mutant.kind)]++;
      } else {
        tally.reordered++;
        EXPECT_TRUE(authors && mutant.exchange)
            << base.name() << ", " << mutant.kind << ": accepted, but other arithmetic";
      }
      if (!run_already.insert(behaviour(mutant.schedule)).second) continue;
      const bool slower = !authors && sharing_is_as_in(original, mutant.schedule) &&
                          only_adds_order(pruned, mutant.schedule);
      tally.run++;
      tally.run_in_full += slower ? 0 : 1;
      // What another call may find in the slots is a property of the mutant's own graph.
      const bool may_repeat = calls_on_end && mutant.schedule.free_between_calls();
      const uint32_t runs = slower ? std::min(accepted_runs, 14u) : accepted_runs;
      if (ever_fails(mutant.schedule, base.placement, runs, may_repeat)) {
        tally.accepted_failed++;
        ADD_FAILURE() << base.name() << ", " << mutant.kind << ": accepted, but fails when run";
      }
    }
  }
  uint64_t tried = 0, failed = 0;
  for (const auto& [kind, tally] : tallies) {
    fmt::print(
        "{:34} {:6} made, {:6} refused ({} of {} tried fail), {:5} accepted: {} differ, {} of "
        "them in more than added order, {} reordered\n",
        kind, tally.made, tally.refused, tally.refused_failed, tally.refused_tried, tally.accepted,
        tally.run, tally.run_in_full, tally.reordered);
    tried += tally.refused_tried;
    failed += tally.refused_failed;
  }
  for (const auto& [name, count] : equivalents) fmt::print("equivalent: {} ({})\n", name, count);
  fmt::print("refused and tried {}, of which {} failed\n", tried, failed);
  // The verifier may be stricter than needed (it wants the wait itself, not one that implies it),
  // but a rule that refuses what never fails would be noise.
  EXPECT_GE(failed * 10, tried * 8);
}

TEST(Mutation, BrokenWaits) {
  judge_all(mutate_waits, setting("FF_MUTATION_RUNS", 30), setting("FF_MUTATION_SAMPLE", 100),
            false);
}

TEST(Mutation, BrokenSharing) {
  judge_all(mutate_sharing, setting("FF_MUTATION_RUNS", 30), setting("FF_MUTATION_SAMPLE", 100),
            false);
}

// Refused ones are not run: many have no form in which they could be.
TEST(Mutation, BrokenAuthors) {
  judge_all(mutate_authors, setting("FF_MUTATION_RUNS", 30), 0, true);
}

TEST(RandomExecutions, ProvedSchedulesSucceed) {
  const uint32_t runs = std::max(100u, setting("FF_MUTATION_RUNS", 100));
  for (const Base& base : bases()) {
    const Schedule schedule = base.algorithm->all_reduce(base.placement, {base.slots, 2});
    EXPECT_FALSE(ever_fails(schedule, base.placement, runs, schedule.free_between_calls()))
        << base.name();
    Schedule pruned = schedule;
    pruned.prune();
    EXPECT_FALSE(ever_fails(pruned, base.placement, runs, schedule.free_between_calls()))
        << base.name() << ", pruned";
  }
}

// Where free_between_calls() says no, calls on end in the same slots really do go wrong.
TEST(RandomExecutions, CallsOnEndFailWhereTheyAreForbidden) {
  int forbidden = 0;
  for (const Base& base : bases()) {
    const Schedule schedule = base.algorithm->all_reduce(base.placement, {base.slots, 2});
    if (schedule.free_between_calls()) continue;
    forbidden++;
    EXPECT_TRUE(ever_fails(schedule, base.placement, 4000, true)) << base.name();
  }
  EXPECT_GT(forbidden, 0);
}

}  // namespace
}  // namespace ff
