#include "network.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

namespace fashion {

Network::Network(const std::vector<Eigen::Index>& widths, uint64_t seed) {
  for (size_t i = 0; i + 1 < widths.size(); ++i) {
    layers_.push_back({widths[i], widths[i + 1], 0});
  }
  size_t offset = 0;
  for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
    layer->offset = offset;
    offset += layer->size();
  }
  weights_ = Eigen::VectorXf::Zero(static_cast<Eigen::Index>(offset));
  outputs_.resize(layers_.size());

  // He's initialisation, uniform. Written out rather than with std::uniform_real_distribution,
  // whose values each standard library is free to choose.
  std::mt19937_64 random(seed);
  for (const Layer& layer : layers_) {
    const float bound = std::sqrt(6.0F / static_cast<float>(layer.inputs));
    for (float& weight : matrix_of(layer, weights_.data()).reshaped()) {
      const auto unit = static_cast<float>(random() >> 40) * 0x1p-24F;  // in [0, 1)
      weight = (2 * unit - 1) * bound;
    }
  }
}

void Network::forward(const Batch& batch) {
  for (size_t i = 0; i < layers_.size(); ++i) {
    Eigen::MatrixXf& output = outputs_[i];
    output.noalias() = matrix_of(layers_[i], weights_.data()) * input_of(i, batch);
    output.colwise() += bias_of(layers_[i], weights_.data());
    if (i + 1 < layers_.size()) {
      output = output.cwiseMax(0.0F);
    }
  }
}

// Softmax and cross entropy: their common slope is the probability, less one for the true class.
double Network::start_backward(const Batch& batch, float scale) {
  slope_ = outputs_.back();
  double loss = 0;
  for (Eigen::Index column = 0; column < slope_.cols(); ++column) {
    auto scores = slope_.col(column);
    const Eigen::Index label = batch.labels[static_cast<size_t>(column)];
    const float highest = scores.maxCoeff();
    float total = 0;
    for (float& score : scores) {
      score = std::exp(score - highest);  // at most 1: cannot overflow
      total += score;
    }
    loss += std::log(total) - std::log(std::max(scores[label], 1e-30F));
    scores /= total;
    scores[label] -= 1;
  }
  slope_ *= scale;
  return loss;
}

double Network::backward(const Batch& batch, float scale, std::span<float> gradient,
                         const Ready& ready) {
  forward(batch);
  const double loss = start_backward(batch, scale);
  for (size_t i = layers_.size(); i-- > 0;) {
    const Layer& layer = layers_[i];
    const Eigen::MatrixXf& input = input_of(i, batch);
    matrix_of(layer, gradient.data()).noalias() = slope_ * input.transpose();
    bias_of(layer, gradient.data()) = slope_.rowwise().sum();
    // Before the slope goes on to the layer below: whoever waits for this gradient can start now.
    ready(layer.offset + layer.size());
    if (i > 0) {
      next_slope_.noalias() = matrix_of(layer, weights_.data()).transpose() * slope_;
      slope_ = (input.array() > 0).select(next_slope_, 0.0F);
    }
  }
  return loss;
}

size_t Network::count_correct(const Batch& batch) {
  forward(batch);
  size_t correct = 0;
  for (Eigen::Index column = 0; column < outputs_.back().cols(); ++column) {
    Eigen::Index guess = 0;
    outputs_.back().col(column).maxCoeff(&guess);
    correct += guess == batch.labels[static_cast<size_t>(column)] ? 1U : 0U;
  }
  return correct;
}

}  // namespace fashion
