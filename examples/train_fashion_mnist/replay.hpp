// The same training by one process alone: it computes the ranks' shares of each batch one after the
// other and adds their gradients in the order that Fireflyer documents for FF_NUMERICS_ANY_LAYOUT:
// a balanced binary tree over ascending ranks, (g0 + g1) + (g2 + g3) for four.
//
// Floating-point addition is not associative, so only the right order gives the same weights.
#pragma once
#include <span>
#include <vector>

#include "training.hpp"

namespace fashion {

// terms[0] becomes tree(terms): tree(n) = tree(first p) + tree(the rest), p the largest power of
// two below n. The other terms are used up.
void add_as_tree(std::span<std::vector<float>> terms);

class Replay {
 public:
  Replay(const Plan& plan, const Dataset& dataset, size_t ranks);

  ff::Result<double> step(std::span<const uint32_t> batch, float rate);

  const Network& network() const { return network_; }

 private:
  const Dataset& dataset_;
  Network network_;
  Descent descent_;
  Batch batch_;
  std::vector<std::vector<float>> gradients_;  // one a rank
};

}  // namespace fashion
