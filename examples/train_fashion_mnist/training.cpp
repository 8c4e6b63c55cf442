#include "training.hpp"

#include <numeric>
#include <random>
#include <utility>

namespace fashion {

void Descent::apply(std::span<float> weights, size_t offset, std::span<const float> gradient,
                    float rate) {
  for (size_t i = 0; i < gradient.size(); ++i) {
    float& velocity = velocity_[offset + i];
    velocity = momentum_ * velocity + gradient[i];
    weights[offset + i] -= rate * velocity;
  }
}

ff::Result<void> run(const Plan& plan, const Step& step, const Watch& watch) {
  std::vector<uint32_t> order(plan.images);
  std::iota(order.begin(), order.end(), 0U);
  std::mt19937_64 random(plan.seed);
  size_t done = 0;
  for (size_t epoch = 0; epoch < plan.epochs; ++epoch) {
    // Fisher and Yates's shuffle, written out: std::shuffle may differ between standard libraries.
    for (size_t i = order.size(); i-- > 1;) {
      std::swap(order[i], order[random() % (i + 1)]);
    }
    double loss = 0;
    for (size_t i = 0; i < plan.steps_per_epoch(); ++i) {
      const auto left = static_cast<float>(plan.steps() - done) / static_cast<float>(plan.steps());
      auto taken = step(std::span(order).subspan(i * plan.batch, plan.batch), plan.rate * left);
      if (!taken) {
        return taken.error();
      }
      loss += *taken;
      ++done;
      if (auto watched = watch(done, loss); !watched) {
        return watched.error();
      }
    }
  }
  return {};
}

}  // namespace fashion
