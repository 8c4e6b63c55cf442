// The plan of a run, and the order in which a replay adds.
#include "training.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "proof.hpp"
#include "replay.hpp"

namespace fashion {
namespace {

TEST(Descent, FollowsTheGradientWithMomentum) {
  Plan plan;
  plan.momentum = 0.5F;
  Descent descent(plan, 3);
  std::vector<float> weights = {1, 1, 1};
  const std::vector<float> gradient = {2};
  descent.apply(weights, 1, gradient, 0.25F);  // velocity 2
  EXPECT_EQ(weights, (std::vector<float>{1, 0.5F, 1}));
  descent.apply(weights, 1, gradient, 0.25F);  // velocity 3
  EXPECT_EQ(weights, (std::vector<float>{1, -0.25F, 1}));
}

// Numbers whose float sum shows in which order they were added.
TEST(Replay, AddsAsABalancedTree) {
  const float a = 1e8F, b = 3.25F, c = -1e8F, d = 5.5F, e = 0.1F;
  const auto tree = [](std::vector<float> values) {
    std::vector<std::vector<float>> terms;
    for (const float value : values) {
      terms.push_back({value});
    }
    add_as_tree(terms);
    return terms[0][0];
  };
  EXPECT_EQ(tree({a}), a);
  EXPECT_EQ(tree({a, b}), a + b);
  EXPECT_EQ(tree({a, b, c}), (a + b) + c);
  EXPECT_EQ(tree({a, b, c, d}), (a + b) + (c + d));
  EXPECT_EQ(tree({a, b, c, d, e}), ((a + b) + (c + d)) + e);
  EXPECT_EQ(tree({a, b, c, d, e, a}), ((a + b) + (c + d)) + (e + a));
  EXPECT_NE(tree({a, b, c, d}), ((a + b) + c) + d);  // so the numbers do tell
}

TEST(Training, TakesEveryImageOnceAnEpochInAnOrderOfItsOwn) {
  Plan plan;
  plan.epochs = 2;
  plan.images = 12;
  plan.batch = 4;
  plan.rate = 6;
  std::vector<uint32_t> seen;
  std::vector<float> rates;
  std::vector<double> losses;
  run(
      plan,
      [&](std::span<const uint32_t> batch, float rate) -> ff::Result<double> {
        seen.insert(seen.end(), batch.begin(), batch.end());
        rates.push_back(rate);
        return 1.5;
      },
      [&](size_t, double loss) -> ff::Result<void> {
        losses.push_back(loss);
        return {};
      })
      .value();
  EXPECT_EQ(rates, (std::vector<float>{6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(losses, (std::vector<double>{1.5, 3, 4.5, 1.5, 3, 4.5}));
  ASSERT_EQ(seen.size(), 24U);
  std::vector<uint32_t> first(seen.begin(), seen.begin() + 12);
  std::vector<uint32_t> second(seen.begin() + 12, seen.end());
  EXPECT_NE(first, second);
  std::vector<uint32_t> all(12);
  std::iota(all.begin(), all.end(), 0U);
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  EXPECT_EQ(first, all);
  EXPECT_EQ(second, all);
}

TEST(Training, StopsAtTheFirstError) {
  Plan plan;
  plan.images = 8;
  plan.batch = 4;
  int steps = 0;
  const auto outcome = run(
      plan,
      [&](std::span<const uint32_t>, float) -> ff::Result<double> {
        ++steps;
        return ff::Error{FF_ERROR_PEER_LOST, "rank 2 died"};
      },
      [](size_t, double) -> ff::Result<void> { return {}; });
  EXPECT_EQ(outcome.error().message, "rank 2 died");
  EXPECT_EQ(steps, 1);
}

}  // namespace
}  // namespace fashion
