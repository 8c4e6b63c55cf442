#include "collective/schedule/layout.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace ff {
namespace {

std::string describe(Layout layout, uint64_t count, size_t element_bytes, uint64_t piece_bytes) {
  return fmt::format("{} elements of {} bytes in {} blocks of {} parts, pieces of {} bytes", count,
                     element_bytes, layout.blocks, layout.parts, piece_bytes);
}

// All pieces in address order: each begins where the one before ends, the last ends at `count`.
// Also the promises: no piece above piece_bytes, sizes within a cache line, cuts between lines.
void expect_exact_cover(Layout layout, uint64_t count, size_t element_bytes, uint64_t piece_bytes) {
  const std::string text = describe(layout, count, element_bytes, piece_bytes);
  const Partition partition(layout, count, element_bytes, piece_bytes);
  const uint64_t line = kLineBytes / element_bytes;
  uint64_t next = 0, least = UINT64_MAX, most = 0;
  for (uint32_t block = 0; block < layout.blocks; block++) {
    for (uint64_t chunk = 0; chunk < partition.chunks(); chunk++) {
      for (uint32_t part = 0; part < layout.parts; part++) {
        const ElementRange range =
            partition.range({static_cast<uint16_t>(block), static_cast<uint16_t>(part)}, chunk);
        ASSERT_EQ(range.first, next) << text;
        ASSERT_TRUE(range.count == 0 || range.first % line == 0) << text;
        next += range.count;
        const uint64_t lines = (range.count + line - 1) / line;
        least = std::min(least, lines);
        most = std::max(most, lines);
      }
    }
  }
  ASSERT_EQ(next, count) << text;
  ASSERT_LE(most * kLineBytes, piece_bytes) << text;
  ASSERT_LE(most - least, 1u) << text;
}

TEST(Partition, CoversEachElementOnceAndEvenly) {
  const uint64_t counts[] = {0, 1, 3, 4, 5, 13, 15, 16, 17, 63, 64, 65, 1000, 1023, 4097, 100000};
  const Layout layouts[] = {{1, 1}, {1, 4}, {2, 1}, {8, 1}, {1, 7}, {3, 5}, {1, 129}, {1024, 1}};
  for (const Layout layout : layouts) {
    for (const uint64_t count : counts) {
      for (const size_t element_bytes : {1, 2, 4, 8}) {
        for (const uint64_t piece_bytes : {64, 128, 4096, 65536}) {
          expect_exact_cover(layout, count, element_bytes, piece_bytes);
        }
      }
    }
  }
}

// Counts that do not divide among ranks, down to fewer elements than ranks.
TEST(Partition, FewElementsForManyRanks) {
  struct Case {
    uint64_t count;
    uint16_t ranks;
  };
  for (const Case& c : {Case{0, 4}, Case{1, 4}, Case{3, 4}, Case{4, 4}, Case{5, 4}, Case{13, 8},
                        Case{100000, 1024}}) {
    for (const size_t element_bytes : {1, 2, 4, 8}) {
      expect_exact_cover({1, c.ranks}, c.count, element_bytes, 65536);
      expect_exact_cover({c.ranks, 1}, c.count, element_bytes, 65536);
    }
  }
}

// Beyond 32 bits nothing may wrap; looked at from both ends and in the middle, without the memory.
TEST(Partition, CountsBeyond32Bits) {
  const uint64_t two31 = uint64_t{1} << 31;
  for (const uint64_t count : {two31 - 1, two31, two31 + 1, 2 * two31 + 1, uint64_t{1} << 40}) {
    for (const size_t element_bytes : {1, 2, 4, 8}) {
      for (const Layout layout : {Layout{1, 1}, Layout{1, 8}, Layout{2, 3}, Layout{129, 1}}) {
        for (const uint64_t piece_bytes : {uint64_t{1} << 20, uint64_t{1} << 26}) {
          const std::string text = describe(layout, count, element_bytes, piece_bytes);
          const Partition partition(layout, count, element_bytes, piece_bytes);
          const uint64_t chunks = partition.chunks();
          ASSERT_LE(chunks, kMaxChunks) << text;
          uint64_t end_of_block = 0;
          for (uint16_t block = 0; block < layout.blocks; block++) {
            ASSERT_EQ(partition.range({block, 0}, 0).first, end_of_block) << text;
            for (const uint64_t chunk : {uint64_t{0}, chunks / 2, chunks - 1}) {
              uint64_t next = partition.range({block, 0}, chunk).first;
              for (uint16_t part = 0; part < layout.parts; part++) {
                const ElementRange range = partition.range({block, part}, chunk);
                ASSERT_EQ(range.first, next) << text;
                ASSERT_LE(range.count * element_bytes, piece_bytes) << text;
                next += range.count;
                ASSERT_LE(next, count) << text;
              }
              if (chunk + 1 < chunks) {
                ASSERT_EQ(partition.range({block, 0}, chunk + 1).first, next) << text;
              } else {
                end_of_block = next;
              }
            }
          }
          ASSERT_EQ(end_of_block, count) << text;
        }
      }
    }
  }
}

TEST(Partition, UsesTheLeastNumberOfChunks) {
  EXPECT_EQ(Partition({1, 1}, 0, 4, 64).chunks(), 1u);
  EXPECT_EQ(Partition({1, 1}, 1024, 4, 4096).chunks(), 1u);
  EXPECT_EQ(Partition({1, 1}, 1025, 4, 4096).chunks(), 2u);
  EXPECT_EQ(Partition({1, 4}, 4096, 4, 4096).chunks(), 1u);
  EXPECT_EQ(Partition({1, 4}, 4097, 4, 4096).chunks(), 2u);
  EXPECT_EQ(Partition({2, 1}, 4096, 4, 4096).chunks(), 2u);
}

// Where blocks lie must not depend on the size of chunks: it is part of the bits.
TEST(Partition, BlocksDoNotMoveWithTheChunkSize) {
  for (const uint64_t count : {1000u, 99999u}) {
    const Partition coarse({7, 1}, count, 4, 1 << 20), fine({7, 3}, count, 4, 256);
    for (uint16_t block = 0; block < 7; block++) {
      EXPECT_EQ(coarse.range({block, 0}, 0).first, fine.range({block, 0}, 0).first);
    }
  }
}

}  // namespace
}  // namespace ff
