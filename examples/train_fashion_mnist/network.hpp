// A small fully connected network: ReLU between the layers, softmax and cross entropy at the end,
// and a backward pass written by hand.
//
// All weights lie in one vector, and all gradients in another of the same layout: the *last*
// layer first, because its gradient is the first to be ready. So at any moment of the backward pass
// the finished part of the gradient is a prefix, which is what a data-parallel trainer sends away.
//
// Given the same weights and images, the results are the same bit for bit: one thread, no value
// that depends on where memory happens to lie. Not thread-safe: layers' outputs are kept inside.
#pragma once
#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "dataset.hpp"

namespace fashion {

class Network {
 public:
  // `widths` from the input to the output, two at least. Weights are drawn at random from `seed`.
  Network(const std::vector<Eigen::Index>& widths, uint64_t seed);

  std::span<float> weights() { return as_span(weights_); }
  std::span<const float> weights() const { return as_span(weights_); }

  // Called when the first `elements` of the gradient are final; the last time with all of them.
  using Ready = std::function<void(size_t elements)>;

  // The gradient of `scale` times the batch's summed loss, written to `gradient`. Returns the
  // summed loss, unscaled.
  double backward(const Batch& batch, float scale, std::span<float> gradient, const Ready& ready);

  // How many images of the batch the network puts into their class.
  size_t count_correct(const Batch& batch);

 private:
  struct Layer {
    Eigen::Index inputs;
    Eigen::Index outputs;
    size_t offset;  // of its matrix, then its bias, in weights and gradient
    size_t size() const { return static_cast<size_t>((inputs + 1) * outputs); }
  };
  using Matrix = Eigen::Map<Eigen::MatrixXf>;
  using Vector = Eigen::Map<Eigen::VectorXf>;

  static std::span<float> as_span(Eigen::VectorXf& v) {
    return {v.data(), static_cast<size_t>(v.size())};
  }
  static std::span<const float> as_span(const Eigen::VectorXf& v) {
    return {v.data(), static_cast<size_t>(v.size())};
  }
  static Matrix matrix_of(const Layer& layer, float* base) {
    return {base + layer.offset, layer.outputs, layer.inputs};
  }
  static Vector bias_of(const Layer& layer, float* base) {
    return {base + layer.offset + layer.inputs * layer.outputs, layer.outputs};
  }

  const Eigen::MatrixXf& input_of(size_t layer, const Batch& batch) const {
    return layer == 0 ? batch.images : outputs_[layer - 1];
  }
  void forward(const Batch& batch);
  double start_backward(const Batch& batch, float scale);

  std::vector<Layer> layers_;  // from the input to the output
  Eigen::VectorXf weights_;
  std::vector<Eigen::MatrixXf> outputs_;  // of each layer, for the batch at hand
  Eigen::MatrixXf slope_;                 // of the loss, with respect to a layer's output
  Eigen::MatrixXf next_slope_;
};

}  // namespace fashion
