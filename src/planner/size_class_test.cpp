#include "planner/size_class.hpp"

#include <gtest/gtest.h>

namespace ff {
namespace {

TEST(SizeClass, EverySizeLiesInItsClassAndInNoSmallerOne) {
  for (uint64_t bytes = 0; bytes <= 70'000; bytes++) {
    const uint32_t c = size_class(bytes);
    EXPECT_GE(largest_of_class(c), bytes);
    if (c > 0) {
      EXPECT_LT(largest_of_class(c - 1), bytes);
    }
  }
}

TEST(SizeClass, ClassesAreDenseUpToHugeSizes) {
  for (uint32_t c = 0; c < 450; c++) EXPECT_EQ(size_class(largest_of_class(c)), c);
}

TEST(SizeClass, PowersOfTwoAreTheLargestOfTheirClass) {
  for (int bit = 0; bit < 60; bit++) {
    EXPECT_EQ(largest_of_class(size_class(uint64_t{1} << bit)), uint64_t{1} << bit);
  }
}

TEST(SizeClass, WastesAtMostAnEighth) {
  for (uint64_t bytes = 1; bytes < (uint64_t{1} << 50); bytes = bytes * 9 / 8 + 1) {
    EXPECT_LE(largest_of_class(size_class(bytes)) - bytes, bytes / 8);
  }
}

}  // namespace
}  // namespace ff
