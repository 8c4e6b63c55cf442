#include "collective/schedule/ledger.hpp"

#include <gtest/gtest.h>

#include <initializer_list>

namespace ff {
namespace {

TEST(Partition, TotalsAreTheSumsOfTheirPieces) {
  for (const uint64_t count : {0, 1, 15, 16, 17, 100, 1000, 4099}) {
    for (const uint16_t blocks : std::initializer_list<uint16_t>{1, 2, 3}) {
      for (const uint16_t parts : std::initializer_list<uint16_t>{1, 2, 5}) {
        for (const uint64_t piece : {64, 128, 1024}) {
          const Partition partition({blocks, parts}, count, 4, piece);
          uint64_t all = 0;
          for (uint16_t block = 0; block < blocks; block++) {
            for (uint16_t part = 0; part < parts; part++) {
              uint64_t sum = 0;
              for (uint64_t k = 0; k < partition.chunks(); k++) {
                sum += partition.range({block, part}, k).count;
              }
              EXPECT_EQ(partition.total({block, part}), sum)
                  << count << ' ' << blocks << ' ' << parts << ' ' << piece;
              all += sum;
            }
          }
          EXPECT_EQ(all, count);
        }
      }
    }
  }
}

// Rank 0 copies its input to rank 1, which adds its own; on one node, then on two.
Schedule add_to_the_right(bool put) {
  Schedule schedule;
  schedule.ranks = 2;
  const Region whole;
  const RingId ring = schedule.add_ring(Rank(put ? 1 : 0), 1);
  schedule.add_step(put ? StepKind::kPut : StepKind::kCopy, {Rank(0)}, {send(Rank(0), whole)},
                    {slot(ring, whole)});
  schedule.add_step(StepKind::kReduce, {Rank(1)}, {slot(ring, whole), send(Rank(1), whole)},
                    {recv(Rank(1), whole)});
  schedule.derive();
  return schedule;
}

TEST(Ledger, CountsEachOperandOnce) {
  const Schedule schedule = add_to_the_right(false);
  const Partition partition(schedule.layout, 1000, 4, 512);
  const std::vector<NodeLedger> nodes = ledger(schedule, Placement::one_node(2), partition, 4);
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_EQ(nodes[0], (NodeLedger{.caller_read = 8000,
                                  .caller_written = 4000,
                                  .staging_read = 4000,
                                  .staging_written = 4000,
                                  .sent = 0,
                                  .received = 0}));
}

TEST(Ledger, AMessageIsWrittenWhereItArrives) {
  const Schedule schedule = add_to_the_right(true);
  const Partition partition(schedule.layout, 1000, 4, 512);
  const std::vector<NodeLedger> nodes = ledger(schedule, Placement::even(2, 2), partition, 4);
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0], (NodeLedger{.caller_read = 4000,
                                  .caller_written = 0,
                                  .staging_read = 0,
                                  .staging_written = 0,
                                  .sent = 4000,
                                  .received = 0}));
  EXPECT_EQ(nodes[1], (NodeLedger{.caller_read = 4000,
                                  .caller_written = 4000,
                                  .staging_read = 4000,
                                  .staging_written = 4000,
                                  .sent = 0,
                                  .received = 4000}));
}

}  // namespace
}  // namespace ff
