// Each rule of verify() on the smallest schedule that breaks it and no other. (Whether the rules
// are the right ones: collective/algorithm/mutation_test.cpp.)
#include "collective/schedule/verify.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace ff {
namespace {

const Region kWhole;

// Two ranks lay out their inputs and each adds both. Steps 0 and 1 copy, 2 and 3 reduce.
Schedule exchange(uint32_t slots = 2) {
  Schedule s;
  s.ranks = 2;
  const RingId a = s.add_ring(Rank(0), slots), b = s.add_ring(Rank(1), slots);
  s.add_step(StepKind::kCopy, {Rank(0)}, {send(Rank(0), kWhole)}, {slot(a, kWhole)});
  s.add_step(StepKind::kCopy, {Rank(1)}, {send(Rank(1), kWhole)}, {slot(b, kWhole)});
  s.add_step(StepKind::kReduce, {Rank(0)}, {send(Rank(0), kWhole), slot(b, kWhole)},
             {recv(Rank(0), kWhole)});
  s.add_step(StepKind::kReduce, {Rank(1)}, {slot(a, kWhole), send(Rank(1), kWhole)},
             {recv(Rank(1), kWhole)});
  return s;
}

// The same between two nodes: steps 0 and 1 put, into rings at the other rank.
Schedule exchange_by_puts(uint32_t slots = 2) {
  Schedule s = exchange(slots);
  for (const StepId id : {0u, 1u}) s.steps[id].kind = StepKind::kPut;
  s.rings[0].home = Rank(1);
  s.rings[1].home = Rank(0);
  return s;
}

// The owner of everything is rank 0: steps 0 copy-in, 1 reduce in place of it, 2 copy-out.
Schedule pair(uint32_t slots = 2) {
  Schedule s;
  s.ranks = 2;
  const RingId contribution = s.add_ring(Rank(1), slots);
  const RingId result = s.add_result_over(contribution, Rank(0));
  s.add_step(StepKind::kCopy, {Rank(1)}, {send(Rank(1), kWhole)}, {slot(contribution, kWhole)});
  s.add_step(StepKind::kReduce, {Rank(0)}, {send(Rank(0), kWhole), slot(contribution, kWhole)},
             {recv(Rank(0), kWhole), slot(result, kWhole)});
  s.add_step(StepKind::kCopy, {Rank(1)}, {slot(result, kWhole)}, {recv(Rank(1), kWhole)});
  return s;
}

Schedule derived(Schedule s) {
  s.derive();
  return s;
}

const Placement kOneNode = Placement::one_node(2);
const Placement kTwoNodes = Placement::even(2, 2);

void expect_ok(const Schedule& schedule, const Placement& placement) {
  const Proof proof = verify(schedule, placement);
  EXPECT_TRUE(proof.status.ok()) << proof.status.message();
}

void expect_refused(const Schedule& schedule, const Placement& placement, const char* why) {
  const Proof proof = verify(schedule, placement);
  ASSERT_FALSE(proof.status.ok()) << "accepted, although: " << why;
  EXPECT_EQ(proof.status.code(), FF_ERROR_INTERNAL);
  EXPECT_NE(proof.status.message().find(why), std::string::npos)
      << "says: " << proof.status.message() << "\nand not: " << why;
}

void drop_wait(Schedule& schedule, StepId id, Wait wait) {
  ASSERT_EQ(std::erase(schedule.steps[id].waits, wait), 1u);
}

void replace_wait(Schedule& schedule, StepId id, Wait wait, Wait other) {
  drop_wait(schedule, id, wait);
  schedule.steps[id].waits.push_back(other);
}

TEST(Verify, AcceptsWhatIsRight) {
  for (const uint32_t slots : {1u, 2u, 7u}) {
    expect_ok(derived(exchange(slots)), kOneNode);
    expect_ok(derived(exchange_by_puts(slots)), kTwoNodes);
    expect_ok(derived(pair(slots)), kOneNode);
  }
  const Proof proof = verify(derived(exchange()), kOneNode);
  EXPECT_EQ(proof.steps, 4u);
  EXPECT_EQ(proof.waits, 6u);
  EXPECT_TRUE(proof.rank_order && proof.wide.balanced && proof.narrow.balanced);
  EXPECT_EQ(proof.roundings, 1u);
}

// ---- form ------------------------------------------------------------------------------------

TEST(VerifyForm, ValuesStayAtTheirPlace) {
  Schedule s = exchange();
  s.layout.blocks = 2;
  s.steps[2].in[1].region = {1, 0};
  expect_refused(derived(s), kOneNode,
                 "step 2 (reduce of rank 0) carries block 1 part 0 to block 0");
  s.steps[2].in[0].region = s.steps[2].out[0].region = {1, 0};
  expect_refused(derived(s), kOneNode, "reads block 1 part 0 from ring 1 (at rank 1)");
}

TEST(VerifyForm, RingsHaveOneWriterAndAReader) {
  Schedule s = exchange();
  s.add_ring(Rank(0), 1);
  expect_refused(derived(s), kOneNode, "nobody writes ring 2");
  s.steps[0].out.push_back(slot(2, kWhole));
  expect_refused(derived(s), kOneNode, "nobody reads ring 2");
  Schedule twice = derived(exchange());
  twice.steps[1].out.push_back(slot(0, kWhole));
  expect_refused(twice, kOneNode, "written by step 0 (copy of rank 0) and step 1");
}

TEST(VerifyForm, DerivedPartsMustBeThere) {
  expect_refused(exchange(), kOneNode, "does not name its writer and readers");
  Schedule s = derived(exchange());
  s.exits.clear();
  expect_refused(s, kOneNode, "exits are listed for 0 ranks of 2");
}

TEST(VerifyForm, OneFiringWritesAPlaceOnce) {
  Schedule s = derived(exchange());
  s.steps[2].out.push_back(s.steps[2].out[0]);
  expect_refused(s, kOneNode, "writes one place twice");
}

TEST(VerifyForm, LanesDoNotOverwriteEachOther) {
  Schedule s;
  s.ranks = 1;
  s.layout.blocks = 2;
  const Region a{0, 0}, b{1, 0};
  const RingId ring = s.add_ring(Rank(0), 1);
  s.add_step(StepKind::kCopy, {Rank(0)}, {send(Rank(0), a), send(Rank(0), b)},
             {slot(ring, a), recv(Rank(0), b)});
  s.add_step(StepKind::kCopy, {Rank(0)}, {slot(ring, a)}, {recv(Rank(0), a)});
  expect_ok(derived(s), Placement::one_node(1));
  // Lane 0 writes in place what lane 1 still has to read.
  s.steps[0].in = {slot(ring, a), send(Rank(0), b), send(Rank(0), a)};
  s.steps[0].out = {recv(Rank(0), a), recv(Rank(0), b), slot(ring, a)};
  expect_refused(derived(s), Placement::one_node(1), "lane 0 overwrites what lane 2 reads");
}

// ---- rules -----------------------------------------------------------------------------------

TEST(VerifyRule1, CycleWithoutAToken) {
  Schedule s = derived(exchange());
  replace_wait(s, 0, {3, 2}, {3, 0});
  expect_refused(s, kOneNode, "deadlock: step");
  s = derived(exchange());
  s.steps[1].waits.push_back({1, 0});
  expect_refused(s, kOneNode, "deadlock: step 1 (copy of rank 1), that for step 1");
}

TEST(VerifyRule2, SlotsAreNotOverwritten) {
  Schedule s = derived(exchange());
  drop_wait(s, 0, {3, 2});
  expect_refused(s, kOneNode,
                 "step 0 (copy of rank 0) may overwrite a slot of ring 0 (at rank 0) that step 3");
  s = derived(exchange());
  replace_wait(s, 0, {3, 2}, {3, 3});
  expect_refused(s, kOneNode, "lag 3, slots 2");
  s = derived(exchange());
  replace_wait(s, 0, {3, 2}, {3, 1});
  expect_ok(s, kOneNode);  // fewer chunks in flight than there are slots
}

TEST(VerifyRule2, ResultsLieOverTheirContribution) {
  Schedule s = derived(pair());
  // To wait for the contribution's reader is not enough: the result is still to be read.
  replace_wait(s, 0, {2, 2}, {1, 2});
  expect_refused(s, kOneNode, "may overwrite a slot of ring 0");
  s = derived(pair());
  s.rings[1].slots = 1;
  expect_refused(s, kOneNode, "share slots, but they have 1 and 2");
  s = derived(pair());
  s.rings[0].result = kNone;
  expect_refused(s, kOneNode, "which is not its contribution");

  s = pair();
  const RingId copy = s.add_ring(Rank(0), 2);
  s.add_step(StepKind::kCopy, {Rank(0)}, {slot(0, kWhole)}, {slot(copy, kWhole)});
  s.add_step(StepKind::kCopy, {Rank(0)}, {slot(copy, kWhole)}, {recv(Rank(0), kWhole)});
  expect_refused(derived(s), kOneNode, "overwrites ring 0 (at rank 1), which step 3");
}

TEST(VerifyRule2, SwappedRingsMatch) {
  Schedule s = exchange();
  s.swap_slots(0, 1);
  expect_ok(derived(s), kOneNode);
  Schedule alone = derived(s);
  alone.rings[1].sharing = Sharing::kOwn;
  expect_refused(alone, kOneNode, "which does not swap with it");
  Schedule uneven = derived(s);
  uneven.rings[1].slots = 3;
  expect_refused(uneven, kOneNode, "share slots, but they have 2 and 3");
  // Each writes what the other wrote: it must wait for its own reader, not for the other's.
  Schedule as_own = derived(exchange());
  as_own.swap_slots(0, 1);
  expect_refused(as_own, kOneNode, "may overwrite a slot");
}

TEST(VerifyRule3, ReadsComeAfterWrites) {
  Schedule s = derived(exchange());
  drop_wait(s, 2, {1, 0});
  expect_refused(s, kOneNode,
                 "step 2 (reduce of rank 0) may read ring 1 (at rank 1) before step 1");
  // A wait that lets the reader be one chunk ahead of the writer is no order.
  s.steps[2].waits.push_back({1, 1});
  expect_refused(s, kOneNode, "may read ring 1");
}

// Rank 0 sends its input, then something that depends on having sent. Who has got the second
// message has not got the first: they may take different ways.
TEST(VerifyRule3, OnlyArrivalTellsThatDataIsThere) {
  Schedule s;
  s.ranks = 2;
  const RingId there = s.add_ring(Rank(1), 2), back = s.add_ring(Rank(0), 2);
  const RingId later = s.add_ring(Rank(1), 2);
  s.add_step(StepKind::kPut, {Rank(0)}, {send(Rank(0), kWhole)}, {slot(there, kWhole)});
  s.add_step(StepKind::kPut, {Rank(1)}, {send(Rank(1), kWhole)}, {slot(back, kWhole)});
  s.add_step(StepKind::kReduce, {Rank(0)}, {send(Rank(0), kWhole), slot(back, kWhole)},
             {recv(Rank(0), kWhole)});
  s.add_step(StepKind::kPut, {Rank(0)}, {recv(Rank(0), kWhole)}, {slot(later, kWhole)});
  s.add_step(StepKind::kReduce, {Rank(1)}, {slot(there, kWhole), slot(later, kWhole)},
             {recv(Rank(1), kWhole)});
  s.derive();
  expect_refused(s, kTwoNodes, "rank 1's result");  // it adds rank 0 twice: the order is right
  drop_wait(s, 4, {0, 0});
  expect_refused(s, kTwoNodes,
                 "step 4 (reduce of rank 1) may read ring 0 (at rank 1) before step 0");

  // prune() must not take it for implied either.
  Schedule pruned = s;
  pruned.steps[4].waits.push_back({0, 0});
  pruned.prune();
  expect_refused(pruned, kTwoNodes, "rank 1's result");
}

TEST(VerifyRule4, InputsAreReadBeforeTheyAreOverwrittenInPlace) {
  Schedule s = derived(exchange());
  drop_wait(s, 2, {0, 0});
  expect_refused(s, kOneNode, "step 2 (reduce of rank 0) and step 0 (copy of rank 0) race");
}

TEST(VerifyRule4, OnlyOwnersWriteBuffers) {
  Schedule s = exchange();
  s.steps[3].executor.rank = Rank(0);
  expect_refused(derived(s), kOneNode, "step 3 (reduce of rank 0) writes rank 1's buffer");
}

// Rank 0 reads rank 1's input where it is.
Schedule pull() {
  Schedule s;
  s.ranks = 2;
  for (const uint32_t r : {0u, 1u}) {
    s.add_step(StepKind::kReduce, {Rank(r)}, {send(Rank(0), kWhole), send(Rank(1), kWhole)},
               {recv(Rank(r), kWhole)});
  }
  return s;
}

TEST(VerifyRule4, ForeignBuffersNeedEnterAndExit) {
  // In place, each would overwrite what the other still reads: no order can help.
  expect_refused(derived(pull()), kOneNode, "deadlock");

  Schedule s;  // rank 0 adds, rank 1 copies the result from rank 0's buffer
  s.ranks = 2;
  s.add_step(StepKind::kReduce, {Rank(0)}, {send(Rank(0), kWhole), send(Rank(1), kWhole)},
             {recv(Rank(0), kWhole)});
  s.add_step(StepKind::kCopy, {Rank(1)}, {recv(Rank(0), kWhole)}, {recv(Rank(1), kWhole)});
  s.derive();
  expect_ok(s, kOneNode);
  ASSERT_EQ(s.steps.size(), 4u);  // enter of rank 1 and of rank 0
  EXPECT_EQ(s.exits[0], std::vector<StepId>{1});
  EXPECT_EQ(s.exits[1], std::vector<StepId>{0});
  expect_refused(s, kTwoNodes, "on another node");

  Schedule early = s;
  drop_wait(early, 0, {2, 0});
  expect_refused(early, kOneNode, "may read rank 1's buffer before that rank has called");
  Schedule gone = s;
  gone.exits[0].clear();
  expect_refused(gone, kOneNode, "rank 0 leaves after 0 steps of others, but 1 touch");
  Schedule race = s;
  drop_wait(race, 1, {0, 0});
  expect_refused(race, kOneNode, "race on a buffer");
}

TEST(VerifyRule5, EachInputOnce) {
  Schedule s = exchange();
  s.steps[2].in.push_back(slot(1, kWhole));
  expect_refused(derived(s), kOneNode,
                 "rank 0's result at block 0 part 0 holds rank 1's input 2 times");
  s = exchange();
  s.steps[2].kind = StepKind::kCopy;
  s.steps[2].in.erase(s.steps[2].in.begin());
  expect_refused(derived(s), kOneNode, "holds rank 0's input 0 times");
  s = exchange();
  s.layout.blocks = 2;
  expect_refused(derived(s), kOneNode, "rank 0 never gets its result at block 1 part 0");
  s = exchange();
  s.steps[2].in[0] = recv(Rank(0), kWhole);
  expect_refused(derived(s), kOneNode, "reads rank 0's result, block 0 part 0, before anyone");
}

TEST(VerifyRule6, AllRanksAddInTheSameOrder) {
  Schedule s = exchange();
  std::swap(s.steps[2].in[0], s.steps[2].in[1]);
  expect_refused(derived(s), kOneNode, "ranks 0 and 1 add or round in different orders");
}

// Four ranks: rank 0 adds in two steps what the others add in one. For float32 that is the same
// arithmetic, for bfloat16 it is not.
TEST(VerifyRule6, AllRanksRoundAlike) {
  const auto build = [](bool all_nested) {
    Schedule s;
    s.ranks = 4;
    std::vector<RingId> input;
    for (uint32_t r = 0; r < 4; r++) {
      input.push_back(s.add_ring(Rank(r), 2));
      s.add_step(StepKind::kCopy, {Rank(r)}, {send(Rank(r), kWhole)}, {slot(input[r], kWhole)});
    }
    for (uint32_t r = 0; r < 4; r++) {
      const auto in = [&](uint32_t q) { return slot(input[q], kWhole); };
      if (r == 0 || all_nested) {
        const Operand low = slot(s.add_ring(Rank(r), 2), kWhole);
        const Operand high = slot(s.add_ring(Rank(r), 2), kWhole);
        s.add_step(StepKind::kReduce, {Rank(r)}, {in(0), in(1)}, {low});
        s.add_step(StepKind::kReduce, {Rank(r)}, {in(2), in(3)}, {high});
        s.add_step(StepKind::kReduce, {Rank(r)}, {low, high}, {recv(Rank(r), kWhole)});
      } else {
        s.add_step(StepKind::kReduce, {Rank(r)}, {in(0), in(1), in(2), in(3)},
                   {recv(Rank(r), kWhole)});
      }
    }
    return derived(s);
  };
  expect_refused(build(false), Placement::one_node(4), "add or round in different orders");
  const Proof proof = verify(build(true), Placement::one_node(4));
  ASSERT_TRUE(proof.status.ok()) << proof.status.message();
  EXPECT_TRUE(proof.wide.balanced);
  EXPECT_FALSE(proof.narrow.balanced);
  EXPECT_EQ(proof.roundings, 2u);
}

// Parts move with the chunk size. Blocks do not, and may differ.
TEST(VerifyRule6, PartsOfABlockAreAlike) {
  const auto build = [](Layout layout, Region second) {
    Schedule s = exchange();
    s.layout = layout;
    const RingId a = s.add_ring(Rank(0), 2), b = s.add_ring(Rank(1), 2);
    s.add_step(StepKind::kCopy, {Rank(0)}, {send(Rank(0), second)}, {slot(a, second)});
    s.add_step(StepKind::kCopy, {Rank(1)}, {send(Rank(1), second)}, {slot(b, second)});
    s.add_step(StepKind::kReduce, {Rank(0)}, {slot(b, second), send(Rank(0), second)},
               {recv(Rank(0), second)});
    s.add_step(StepKind::kReduce, {Rank(1)}, {send(Rank(1), second), slot(a, second)},
               {recv(Rank(1), second)});
    return derived(s);
  };
  expect_refused(build({1, 2}, {0, 1}), kOneNode, "bits would depend on the chunk size");
  const Proof proof = verify(build({2, 1}, {1, 0}), kOneNode);
  EXPECT_TRUE(proof.status.ok()) << proof.status.message();
  EXPECT_FALSE(proof.wide.uniform || proof.wide.balanced || proof.rank_order);
}

TEST(VerifyRule7, OnlyPutsCrossNodes) {
  expect_refused(derived(exchange()), kTwoNodes,
                 "step 2 (reduce of rank 0) on node 0 reads ring 1");
  expect_refused(derived(exchange_by_puts()), kOneNode, "puts cross nodes, nothing else does");
  Schedule s = exchange_by_puts();
  s.steps[0].kind = StepKind::kCopy;
  expect_refused(derived(s), kTwoNodes, "step 0 (copy of rank 0) on node 0 writes ring 0");
}

TEST(VerifyRule7, WaitsAcrossNodesRideOnRings) {
  Schedule s = derived(exchange_by_puts());
  s.steps[2].waits.push_back({3, 1});  // no put of rank 0 fills a ring that step 3's rank frees so
  expect_refused(
      s, kTwoNodes,
      "step 2 (reduce of rank 0) on node 0 waits for step 3 (reduce of rank 1) on node 1");
  s = derived(exchange_by_puts());
  s.steps[3].waits.push_back({2, 0});
  expect_refused(s, kTwoNodes, "no ring between them");
}

// ---- robustness ------------------------------------------------------------------------------

// Schedules of pure chance, ids out of range included: a status, never a crash.
TEST(Verify, GarbageGetsAStatus) {
  std::mt19937 random(11);
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  int refused = 0;
  for (int trial = 0; trial < 20000; trial++) {
    Schedule s;
    s.ranks = below(4);
    s.layout = {static_cast<uint16_t>(below(3)), static_cast<uint16_t>(below(3))};
    s.exits.resize(below(2) != 0 ? s.ranks : below(4));
    s.rings.resize(below(4));
    for (Ring& ring : s.rings) {
      ring.home = Rank(below(4));
      ring.slots = static_cast<uint16_t>(below(3));
      ring.sharing = static_cast<Sharing>(below(3));
      ring.partner = below(3) == 0 ? kNone : below(5);
      ring.result = below(3) == 0 ? below(5) : kNone;
      ring.writer = below(5);
      ring.readers.resize(below(3), below(5));
    }
    s.steps.resize(below(5));
    for (Step& step : s.steps) {
      step.kind = static_cast<StepKind>(below(5));
      step.executor.rank = Rank(below(4));
      for (auto* operands : {&step.in, &step.out}) {
        operands->resize(below(3));
        for (Operand& operand : *operands) {
          operand.place = static_cast<Place>(below(4));
          operand.rank = Rank(below(4));
          operand.ring = below(5);
          operand.region = {static_cast<uint16_t>(below(3)), static_cast<uint16_t>(below(2))};
        }
      }
      step.waits.resize(below(3));
      for (Wait& wait : step.waits) wait = {below(6), below(3)};
    }
    for (const uint32_t nodes : {1u, 2u}) {
      const Proof proof = verify(s, Placement::even(std::max(s.ranks, 1u), nodes));
      refused += proof.status.ok() ? 0 : 1;
      EXPECT_EQ(proof.status.ok(), proof.status.message().empty());
    }
  }
  EXPECT_GT(refused, 39900);  // one rank that copies its input is hit now and then
}

}  // namespace
}  // namespace ff
