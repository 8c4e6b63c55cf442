#include "ff/perf/timing.hpp"

#include <gtest/gtest.h>

#include "ff/perf/probe.hpp"

namespace ff::tools::perf {
namespace {

TEST(Percentiles, OfAHundred) {
  std::vector<double> samples;
  for (int i = 100; i >= 1; i--) samples.push_back(i);
  const Percentiles all = percentiles(samples, 0);
  EXPECT_EQ(all.p50, 51);
  EXPECT_EQ(all.p99, 99);
  EXPECT_EQ(all.least, 1);
  EXPECT_EQ(percentiles(samples, 99).p50, 1);  // the last sample is the least here
}

TEST(Percentiles, OfFewOrNone) {
  EXPECT_EQ(percentiles({3}, 0).p99, 3);
  EXPECT_EQ(percentiles({3}, 1).p50, 0);
  EXPECT_EQ(percentiles({}, 0).least, 0);
}

TEST(Probe, TakesAPlausibleTimeOrSaysThatItCannot) {
  const auto ns = core_to_core_ns();
  if (!ns) GTEST_SKIP() << "needs hardware: two CPUs, and neither too busy to answer";
  EXPECT_GT(*ns, 5);
  EXPECT_LT(*ns, 1e5);
}

}  // namespace
}  // namespace ff::tools::perf
