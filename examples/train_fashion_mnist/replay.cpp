#include "replay.hpp"

#include <bit>

namespace fashion {

void add_as_tree(std::span<std::vector<float>> terms) {
  if (terms.size() < 2) {
    return;
  }
  const size_t half = std::bit_floor(terms.size() - 1);
  add_as_tree(terms.first(half));
  add_as_tree(terms.subspan(half));
  for (size_t i = 0; i < terms[0].size(); ++i) {
    terms[0][i] += terms[half][i];
  }
}

Replay::Replay(const Plan& plan, const Dataset& dataset, size_t ranks)
    : dataset_(dataset),
      network_(plan.widths, plan.seed),
      descent_(plan, network_.weights().size()),
      gradients_(ranks, std::vector<float>(network_.weights().size())) {}

ff::Result<double> Replay::step(std::span<const uint32_t> batch, float rate) {
  const size_t share = batch.size() / gradients_.size();
  const float scale = 1.0F / static_cast<float>(batch.size());
  double loss = 0;
  for (size_t rank = 0; rank < gradients_.size(); ++rank) {
    gather(dataset_, batch.subspan(rank * share, share), batch_);
    loss += network_.backward(batch_, scale, gradients_[rank], [](size_t) {});
  }
  add_as_tree(gradients_);
  descent_.apply(network_.weights(), 0, gradients_[0], rate);
  return loss;
}

}  // namespace fashion
