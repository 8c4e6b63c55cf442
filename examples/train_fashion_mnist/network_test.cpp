// The backward pass against finite differences, and what the data-parallel trainer relies on: the
// gradient is finished from the front, and shares of a batch add up to the whole.
#include "network.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "proof.hpp"

namespace fashion {
namespace {

Batch some_batch(Eigen::Index inputs, size_t images) {
  Batch batch;
  batch.images.resize(inputs, static_cast<Eigen::Index>(images));
  for (Eigen::Index i = 0; i < batch.images.size(); ++i) {
    batch.images.data()[i] = std::sin(static_cast<float>(3 * i + 1));
  }
  for (size_t i = 0; i < images; ++i) {
    batch.labels.push_back(static_cast<uint8_t>(i % 3));
  }
  return batch;
}

double loss_of(Network& network, const Batch& batch) {
  std::vector<float> gradient(network.weights().size());
  return network.backward(batch, 1, gradient, [](size_t) {});
}

TEST(Network, GradientMatchesFiniteDifferences) {
  Network network({5, 7, 6, 3}, 3);
  const Batch batch = some_batch(5, 8);
  // Fresh biases are 0, where a unit whose inputs are all silent sits on ReLU's kink.
  for (size_t i = 0; i < network.weights().size(); ++i) {
    network.weights()[i] += 0.2F * std::cos(static_cast<float>(5 * i));
  }
  constexpr float kScale = 0.25F;
  std::vector<float> gradient(network.weights().size());
  (void)network.backward(batch, kScale, gradient, [](size_t) {});

  constexpr float kStep = 2e-3F;
  double largest = 0;
  for (size_t i = 0; i < gradient.size(); ++i) {
    float& weight = network.weights()[i];
    const float kept = weight;
    weight = kept + kStep;
    const double above = loss_of(network, batch);
    weight = kept - kStep;
    const double below = loss_of(network, batch);
    weight = kept;
    EXPECT_NEAR(gradient[i], kScale * (above - below) / (2 * kStep), 2e-3) << "weight " << i;
    largest = std::max(largest, std::fabs(static_cast<double>(gradient[i])));
  }
  EXPECT_GT(largest, 0.1);  // the tolerance is small against what it judges
}

TEST(Network, GradientIsFinishedFromTheFront) {
  Network network({4, 6, 5, 3}, 1);
  const Batch batch = some_batch(4, 2);
  const float unset = std::nanf("");
  std::vector<float> gradient(network.weights().size(), unset);
  std::vector<size_t> prefixes;
  std::vector<float> when_ready;
  (void)network.backward(batch, 1, gradient, [&](size_t elements) {
    prefixes.push_back(elements);
    when_ready.insert(when_ready.end(), gradient.begin() + static_cast<long>(when_ready.size()),
                      gradient.begin() + static_cast<long>(elements));
    for (size_t i = elements; i < gradient.size(); ++i) {
      EXPECT_TRUE(std::isnan(gradient[i])) << "element " << i << " written before it was ready";
    }
  });
  EXPECT_EQ(prefixes, (std::vector<size_t>{(5 + 1) * 3, (5 + 1) * 3 + (6 + 1) * 5,
                                           (5 + 1) * 3 + (6 + 1) * 5 + (4 + 1) * 6}));
  EXPECT_EQ(difference(when_ready, gradient), "");  // nothing changed after it was ready
}

TEST(Network, SharesOfABatchAddUpToTheWhole) {
  Network network({4, 6, 3}, 5);
  const Batch whole = some_batch(4, 6);
  std::vector<float> expected(network.weights().size());
  const double loss = network.backward(whole, 1, expected, [](size_t) {});

  std::vector<float> sum(expected.size());
  double sum_of_losses = 0;
  for (Eigen::Index part = 0; part < 3; ++part) {
    Batch share;
    share.images = whole.images.middleCols(2 * part, 2);
    share.labels.assign(whole.labels.begin() + 2 * part, whole.labels.begin() + 2 * part + 2);
    std::vector<float> gradient(expected.size());
    sum_of_losses += network.backward(share, 1, gradient, [](size_t) {});
    for (size_t i = 0; i < sum.size(); ++i) {
      sum[i] += gradient[i];
    }
  }
  EXPECT_NEAR(sum_of_losses, loss, 1e-5);
  for (size_t i = 0; i < sum.size(); ++i) {
    EXPECT_NEAR(sum[i], expected[i], 1e-5);
  }
}

TEST(Network, LossOfHopelessScoresIsFinite) {
  Network network({2, 3}, 1);
  std::fill(network.weights().begin(), network.weights().end(), 0.0F);
  network.weights()[0] = 1e6F;  // class 0 from the first input
  Batch batch = some_batch(2, 1);
  batch.images(0, 0) = 1;
  batch.labels = {1};
  std::vector<float> gradient(network.weights().size());
  EXPECT_TRUE(std::isfinite(network.backward(batch, 1, gradient, [](size_t) {})));
  EXPECT_EQ(network.count_correct(batch), 0U);
  batch.labels = {0};
  EXPECT_EQ(network.count_correct(batch), 1U);
}

TEST(Network, SameSeedSameWeights) {
  const Network one({20, 10, 3}, 7);
  const Network two({20, 10, 3}, 7);
  const Network other({20, 10, 3}, 8);
  EXPECT_EQ(difference(one.weights(), two.weights()), "");
  EXPECT_NE(difference(one.weights(), other.weights()), "");
  EXPECT_EQ(fingerprint(one.weights()), fingerprint(two.weights()));
  EXPECT_NE(fingerprint(one.weights()), fingerprint(other.weights()));
}

}  // namespace
}  // namespace fashion
