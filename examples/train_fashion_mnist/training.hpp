// What a training run is, apart from who computes it: the order of the images, the learning rate,
// the update of the weights. The data-parallel run and its replay in one process share all of it.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "dataset.hpp"
#include "fireflyer/result.hpp"
#include "network.hpp"

namespace fashion {

struct Plan {
  std::vector<Eigen::Index> widths = {kPixels, 256, 128, kClasses};
  size_t epochs = 10;
  size_t images = 60000;  // of the training set; the rest is left out
  size_t batch = 256;     // images a step, over all ranks
  float rate = 0.05F;     // falls linearly to 0
  float momentum = 0.9F;
  uint64_t seed = 1;

  size_t steps_per_epoch() const { return images / batch; }
  size_t steps() const { return epochs * steps_per_epoch(); }
};

// Stochastic gradient descent with momentum, applied to any part of the weights at a time.
class Descent {
 public:
  explicit Descent(const Plan& plan, size_t weights)
      : momentum_(plan.momentum), velocity_(weights) {}

  // weights[offset ..] -= rate * velocity, after the velocity has taken the gradient in.
  void apply(std::span<float> weights, size_t offset, std::span<const float> gradient, float rate);

 private:
  float momentum_;
  std::vector<float> velocity_;
};

// One training step: sees to it that the weights take in the mean gradient over `batch`, indices
// into the training set. Returns the sum of the losses that it has seen itself.
using Step = std::function<ff::Result<double>(std::span<const uint32_t> batch, float rate)>;

// Follows a run: steps done so far, and the sum of the losses returned in this epoch.
using Watch = std::function<ff::Result<void>(size_t steps, double epoch_loss)>;

// Takes every step of the plan, in an order that depends on nothing but the plan.
ff::Result<void> run(const Plan& plan, const Step& step, const Watch& watch);

}  // namespace fashion
