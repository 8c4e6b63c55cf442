// The simulator against closed forms of the algorithms, on links of 12.5 GB/s with fast cores: what
// it says of a cluster rests on these.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "collective/algorithm/algorithm.hpp"
#include "collective/schedule/ledger.hpp"
#include "collective/schedule/simulate.hpp"

namespace ff {
namespace {

constexpr double kLink = 12.5e9;   // bytes a second
constexpr double kStage = 7.0e-6;  // seconds from ready to acted upon

Machine cluster() {
  Machine machine;
  constexpr uint64_t kFast = 100'000'000;  // MB/s: cores and memory take no time
  machine.memory = {.step_ns = 0,
                    .read_slot_ns = 0,
                    .inline_bytes = 0,
                    .hand_over_ns = 0,
                    .switch_ns = 0,
                    .core_mb_per_s = kFast,
                    .transfer_mb_per_s = kFast,
                    .take_back_mb_per_s = kFast,
                    .far_slot_mb_per_s = kFast,
                    .core_memory_mb_per_s = kFast,
                    .node_memory_mb_per_s = kFast,
                    .core_cache_bytes = uint64_t{1} << 40,
                    .shared_cache_bytes = uint64_t{1} << 40};
  machine.network = {
      .message_ns = 0, .latency_ns = 7'000, .link_mb_per_s = 12'500, .core_mb_per_s = 0};
  return machine;
}

Schedule make(const Algorithm& algorithm, uint32_t nodes, uint16_t slots, uint16_t channels = 2) {
  return algorithm.all_reduce(Placement::even(nodes, nodes), Shape{slots, channels});
}

double seconds(const Schedule& schedule, uint32_t nodes, uint64_t bytes, uint64_t piece,
               bool full = false) {
  const Placement placement = Placement::even(nodes, nodes);
  Simulator simulator(schedule, placement, cluster());
  const Timing timing =
      simulator.run({.count = bytes / 4, .element_bytes = 4, .piece_bytes = piece}, full);
  return static_cast<double>(timing.total) * 1e-12;
}

double best(const Schedule& schedule, uint32_t nodes, uint64_t bytes) {
  double least = INFINITY;
  for (uint64_t piece = 16'384; piece <= (8u << 20); piece *= 2) {
    least = std::min(least, seconds(schedule, nodes, bytes, piece));
  }
  return least;
}

// 2m/B + 2ha + 4 sqrt(amh/B): both halves at once, up and down at once, at the best chunk. Ports
// that had to be free at both ends at the same instant would make it 1.5 to 2 times slower. Eight
// slots, as a credit takes as long to come back as data to arrive.
TEST(Time, DoubleTreesReachTheirClosedForm) {
  constexpr double kBytes = 64 << 20;
  for (const uint32_t n : {4u, 8u, 16u, 32u, 64u}) {
    const double h = std::floor(std::log2(n));
    const double closed =
        2 * kBytes / kLink + 2 * h * kStage + 4 * std::sqrt(kStage * kBytes * h / kLink);
    const double ratio = best(make(kDoubleTree, n, 8), n, 64 << 20) / closed;
    EXPECT_GT(ratio, 0.86) << n;
    EXPECT_LT(ratio, 1.0) << n;
  }
}

TEST(Time, DirectIsTwoStagesOfTheLeastBytes) {
  for (const uint32_t n : {2u, 3u, 4u, 8u, 16u}) {
    for (const uint64_t bytes : {uint64_t{1} << 20, uint64_t{64} << 20}) {
      const double m = static_cast<double>(bytes);
      const double closed = 2 * m * (n - 1) / n / kLink + 2 * kStage;
      // One chunk: the second stage begins when the first has ended.
      const Schedule schedule = make(kHierarchicalDirect, n, 4, 1);
      EXPECT_NEAR(seconds(schedule, n, bytes, bytes) / closed, 1, 0.04) << n << ' ' << bytes;
      // In chunks, the stages overlap in both directions of the link, and nothing else is won.
      EXPECT_GE(best(schedule, n, bytes) / closed, 0.49) << n << ' ' << bytes;
    }
  }
}

TEST(Time, RingIsAllStagesOfTheLeastBytes) {
  for (const uint32_t n : {2u, 3u, 8u, 16u}) {
    for (const uint64_t bytes : {uint64_t{1} << 20, uint64_t{64} << 20}) {
      const double m = static_cast<double>(bytes);
      const double closed = 2.0 * (n - 1) * kStage + 2 * m * (n - 1) / n / kLink;
      EXPECT_NEAR(seconds(make(kRing, n, 1), n, bytes, bytes) / closed, 1, 0.02)
          << n << ' ' << bytes;
    }
  }
}

// T(K) = T(16) + (K - 16)(T(16) - T(8))/8 against running all K chunks. Where a slot is waited for
// the run is not quite steady after 16 chunks, and the extrapolation errs to the slow side.
TEST(Time, ExtrapolationIsNearTheFullRun) {
  for (const Algorithm* algorithm : {&kDoubleTree, &kHierarchicalDirect, &kRing}) {
    for (const uint32_t n : {2u, 4u, 8u, 16u}) {
      const Schedule schedule = make(*algorithm, n, 4);
      for (const uint64_t bytes : {uint64_t{1} << 20, uint64_t{16} << 20, uint64_t{64} << 20}) {
        for (const uint64_t piece : {uint64_t{16'384}, uint64_t{65'536}, uint64_t{262'144}}) {
          const double ratio =
              seconds(schedule, n, bytes, piece) / seconds(schedule, n, bytes, piece, true);
          EXPECT_GE(ratio, 0.94) << algorithm->name << ' ' << n << ' ' << bytes << ' ' << piece;
          EXPECT_LE(ratio, 1.08) << algorithm->name << ' ' << n << ' ' << bytes << ' ' << piece;
        }
      }
    }
  }
}

// Bytes on the wire, exactly.
TEST(Time, LinksCarryTheBytesOfTheory) {
  constexpr uint64_t kBytes = 7 * 9 * 16 * 64 * 1024;  // divides evenly
  const auto sent = [&](const Algorithm& algorithm, uint32_t n) {
    const Schedule schedule = make(algorithm, n, 2);
    const Partition partition(schedule.layout, kBytes / 4, 4, kBytes);
    return ledger(schedule, Placement::even(n, n), partition, 4);
  };
  for (const uint32_t n : {2u, 3u, 4u, 7u, 9u, 16u}) {
    for (const NodeLedger& node : sent(kHierarchicalDirect, n)) {
      EXPECT_EQ(node.sent, 2 * kBytes * (n - 1) / n) << n;
      EXPECT_EQ(node.received, node.sent);
    }
    for (const NodeLedger& node : sent(kRing, n)) {
      EXPECT_EQ(node.sent, 2 * kBytes * (n - 1) / n) << n;
    }
    uint64_t all = 0, most = 0;
    for (const NodeLedger& node : sent(kDoubleTree, n)) {
      all += node.sent;
      most = std::max(most, node.sent);
    }
    EXPECT_EQ(all, 2 * kBytes * (n - 1)) << n;
    EXPECT_EQ(most, n == 2 ? kBytes : n == 3 ? kBytes * 3 / 2 : 2 * kBytes) << n;
  }
}

}  // namespace
}  // namespace ff
