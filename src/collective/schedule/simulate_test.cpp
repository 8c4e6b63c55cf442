#include "collective/schedule/simulate.hpp"

#include <gtest/gtest.h>

namespace ff {
namespace {

// Round numbers: 1 byte is 1 ns of a core's copying, 2 ns of a transfer between cores or of the
// wire. Caches hold everything.
Machine simple(uint32_t cpus) {
  Machine machine;
  machine.cpus_per_node = cpus;
  machine.memory = {.step_ns = 10,
                    .read_slot_ns = 0,
                    .inline_bytes = 0,
                    .hand_over_ns = 100,
                    .switch_ns = 1000,
                    .core_mb_per_s = 1000,
                    .transfer_mb_per_s = 500,
                    .take_back_mb_per_s = 1000,
                    .far_slot_mb_per_s = 1000,
                    .core_memory_mb_per_s = 1000,
                    .node_memory_mb_per_s = 1000,
                    .core_cache_bytes = uint64_t{1} << 50,
                    .shared_cache_bytes = uint64_t{1} << 50};
  machine.network = {
      .message_ns = 50, .latency_ns = 10'000, .link_mb_per_s = 500, .core_mb_per_s = 0};
  return machine;
}

constexpr Region kWhole;

// Rank 0 hands its input to rank 1, through slots on rank 1's side.
Schedule hand_over(uint32_t slots, StepKind kind = StepKind::kCopy) {
  Schedule schedule;
  schedule.ranks = 2;
  const RingId ring = schedule.add_ring(Rank(1), slots);
  schedule.add_step(kind, {Rank(0)}, {send(Rank(0), kWhole)}, {slot(ring, kWhole)});
  schedule.add_step(StepKind::kCopy, {Rank(1)}, {slot(ring, kWhole)}, {recv(Rank(1), kWhole)});
  schedule.derive();
  return schedule;
}

Timing time_of(const Schedule& schedule, const Placement& placement, const Machine& machine,
               uint64_t bytes, uint64_t piece, bool full = false) {
  return Simulator(schedule, placement, machine)
      .run({.count = bytes, .element_bytes = 1, .piece_bytes = piece}, full);
}
constexpr Picoseconds ns(int64_t value) { return value * 1000; }

TEST(Simulator, OneChunkIsTheSumOfItsChain) {
  const Placement node = Placement::one_node(2);
  // Step, read, write; hand-over; step, read from the other core, write.
  EXPECT_EQ(time_of(hand_over(1), node, simple(2), 64, 64).total,
            ns(10 + 64 + 64 + 100 + 10 + 128 + 64));
  // On one core: no transfer and no hand-over, but a change of ranks.
  EXPECT_EQ(time_of(hand_over(1), node, simple(1), 64, 64).total,
            ns(10 + 64 + 64 + 1000 + 10 + 64 + 64));
}

TEST(Simulator, AMessageIsOverheadWireAndLatency) {
  const Timing timing =
      time_of(hand_over(1, StepKind::kPut), Placement::even(2, 2), simple(1), 64, 64);
  EXPECT_EQ(timing.total, ns(10 + 50) + ns(128 + 10'000) + ns(10 + 128 + 64));
  EXPECT_EQ(timing.nodes[0].sending, ns(128));
  EXPECT_EQ(timing.nodes[1].receiving, ns(128));
  EXPECT_EQ(timing.nodes[0].receiving, 0);
  EXPECT_EQ(timing.bottleneck, Bottleneck::kLatency);
}

TEST(Simulator, SlotsLetChunksOverlap) {
  // Writer 138 ns, reader 202 ns a chunk. One slot: each chunk waits for the reader of the last,
  // and both hand-overs. Two slots: the reader is never idle.
  const Placement node = Placement::one_node(2);
  const uint64_t k = 10;
  EXPECT_EQ(time_of(hand_over(1), node, simple(2), 64 * k, 64).total,
            ns(138 + 100 + 202) + ns((100 + 138 + 100 + 202) * (k - 1)));
  const Timing two = time_of(hand_over(2), node, simple(2), 64 * k, 64);
  const Timing many = time_of(hand_over(16), node, simple(2), 64 * k, 64);
  EXPECT_EQ(many.total, ns(138 + 100) + ns(202 * k));
  EXPECT_LT(two.total, time_of(hand_over(1), node, simple(2), 64 * k, 64).total);
  EXPECT_GE(two.total, many.total);
  EXPECT_EQ(many.bottleneck, Bottleneck::kCore);
  EXPECT_EQ(many.bottleneck_core, 1u);
}

TEST(Simulator, LongRunsAreExtrapolatedExactlyWhereTheyAreSteady) {
  const Placement node = Placement::one_node(2);
  for (const uint32_t slots : {1u, 2u, 4u}) {
    const uint64_t bytes = uint64_t{4096} * 100;
    const Timing quick = time_of(hand_over(slots), node, simple(2), bytes, 4096);
    const Timing full = time_of(hand_over(slots), node, simple(2), bytes, 4096, true);
    EXPECT_TRUE(quick.extrapolated);
    EXPECT_FALSE(full.extrapolated);
    EXPECT_EQ(quick.chunks, 100u);
    EXPECT_EQ(quick.total, full.total) << slots;
    EXPECT_EQ(quick.nodes[0].cores[1], full.nodes[0].cores[1]);
  }
}

TEST(Simulator, PortsQueueAndServeOthersMeanwhile) {
  // Nodes 0 and 1 send to 2; node 0 sends to 3 as well, after. The message to 3 need not wait until
  // port 2 has received both.
  Schedule schedule;
  schedule.ranks = 4;
  const RingId a = schedule.add_ring(Rank(2), 1), b = schedule.add_ring(Rank(2), 1),
               c = schedule.add_ring(Rank(3), 1);
  schedule.add_step(StepKind::kPut, {Rank(1)}, {send(Rank(1), kWhole)}, {slot(b, kWhole)});
  schedule.add_step(StepKind::kPut, {Rank(0)}, {send(Rank(0), kWhole)},
                    {slot(a, kWhole), slot(c, kWhole)});
  schedule.add_step(StepKind::kReduce, {Rank(2)}, {slot(a, kWhole), slot(b, kWhole)},
                    {recv(Rank(2), kWhole)});
  schedule.add_step(StepKind::kCopy, {Rank(3)}, {slot(c, kWhole)}, {recv(Rank(3), kWhole)});
  schedule.derive();
  const Timing timing = time_of(schedule, Placement::even(4, 4), simple(1), 640'000, 640'000);
  const Picoseconds wire = ns(2 * 640'000), cpu = ns(10 + 50);
  // Port 2 receives twice in a row, then its core reads both and writes one.
  EXPECT_EQ(timing.nodes[2].receiving, 2 * wire);
  const Picoseconds at_2 = cpu + 2 * wire + ns(10'000 + 10 + 5 * 640'000);
  // Node 0's second message follows its first: with blocking ports it would leave a wire later.
  const Picoseconds at_3 = cpu + ns(50) + 2 * wire + ns(10'000 + 10 + 3 * 640'000);
  EXPECT_NEAR(static_cast<double>(timing.total), static_cast<double>(std::max(at_2, at_3)),
              static_cast<double>(ns(100)));
}

TEST(Simulator, MemoryIsSharedByTheCoresOfANode) {
  // Two ranks copy their own buffers, 1 ns a byte each, and together load memory 2 ns a byte.
  Schedule schedule;
  schedule.ranks = 2;
  for (uint32_t r = 0; r < 2; r++) {
    schedule.add_step(StepKind::kCopy, {Rank(r)}, {send(Rank(r), kWhole)}, {recv(Rank(r), kWhole)});
  }
  schedule.derive();
  Machine machine = simple(2);
  machine.memory.step_ns = 0;
  const Placement node = Placement::one_node(2);
  const Timing cached = time_of(schedule, node, machine, 6400, 6400);
  EXPECT_EQ(cached.total, ns(2 * 6400));
  EXPECT_EQ(cached.nodes[0].memory, 0);
  machine.memory.shared_cache_bytes = 1024;
  const Timing missing = time_of(schedule, node, machine, 6400, 6400);
  EXPECT_EQ(missing.total, ns(4 * 6400));
  EXPECT_EQ(missing.nodes[0].memory, ns(4 * 6400));
  EXPECT_EQ(missing.bottleneck, Bottleneck::kMemory);
  EXPECT_EQ(missing.describe(), "memory of node 0, busy 100.0 % of the time");
}

TEST(Simulator, ACoreStaysWithItsRankWhileThatHasWork) {
  // Rank 0 and rank 1 on one core, two independent steps each: one change of ranks, not three.
  Schedule schedule;
  schedule.ranks = 2;
  const RingId rings[] = {schedule.add_ring(Rank(0), 1), schedule.add_ring(Rank(1), 1)};
  for (uint32_t r = 0; r < 2; r++) {
    schedule.add_step(StepKind::kCopy, {Rank(r)}, {send(Rank(r), kWhole)},
                      {slot(rings[r], kWhole)});
  }
  for (uint32_t r = 0; r < 2; r++) {
    schedule.add_step(StepKind::kCopy, {Rank(r)}, {slot(rings[r], kWhole)},
                      {recv(Rank(r), kWhole)});
  }
  schedule.derive();
  EXPECT_EQ(time_of(schedule, Placement::one_node(2), simple(1), 64, 64).total,
            ns(4 * (10 + 128) + 1000));
}

TEST(Simulator, HugeCallsDoNotOverflow) {
  const Placement node = Placement::one_node(2);
  const Timing timing =
      time_of(hand_over(2), node, simple(2), uint64_t{1} << 40, uint64_t{1} << 20);
  EXPECT_NEAR(static_cast<double>(timing.total), 0x1p40 * 3000, 0x1p40 * 30);
  // Slower than any machine, larger than any memory: still a time, and the longest one.
  Machine slow = simple(2);
  slow.memory.core_mb_per_s = slow.memory.transfer_mb_per_s = 1;
  const Timing forever = time_of(hand_over(2), node, slow, uint64_t{1} << 55, uint64_t{1} << 40);
  EXPECT_GT(forever.total, timing.total);
}

TEST(Simulator, IsDeterministic) {
  Schedule schedule = hand_over(3);
  const Placement node = Placement::one_node(2);
  Simulator simulator(schedule, node, simple(2));
  const CallSize call = {.count = 1'000'001, .element_bytes = 1, .piece_bytes = 4096};
  const Timing first = simulator.run(call);
  for (int i = 0; i < 3; i++) {
    const Timing again = simulator.run(call);
    EXPECT_EQ(again.total, first.total);
    EXPECT_EQ(again.nodes[0].cores, first.nodes[0].cores);
  }
  EXPECT_EQ(Simulator(schedule, node, simple(2)).run(call).total, first.total);
}

TEST(Simulator, ASlotThatOthersHaveOnlyReadIsDearToWrite) {
  Machine machine = simple(2);
  machine.memory.take_back_mb_per_s = 100;
  const Placement node = Placement::one_node(2);
  EXPECT_EQ(time_of(hand_over(1), node, machine, 64, 64).total -
                time_of(hand_over(1), node, simple(2), 64, 64).total,
            ns(64 * 9));
  // Unless it rides in the counter's line.
  machine.memory.inline_bytes = 64;
  EXPECT_EQ(time_of(hand_over(1), node, machine, 64, 64).total,
            time_of(hand_over(1), node, simple(2), 64, 64).total);
}

TEST(Simulator, TimesAreReadable) {
  EXPECT_EQ(format_time(0), "0 ps");
  EXPECT_EQ(format_time(37'100'000), "37.1 us");
  EXPECT_EQ(format_time(999'960), "1 us");
  EXPECT_EQ(format_time(Picoseconds{5} * 1'000'000'000'000), "5 s");
}

}  // namespace
}  // namespace ff
