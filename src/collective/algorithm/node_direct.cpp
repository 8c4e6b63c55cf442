// Direct between nodes: node p reduces part p of every chunk and sends the sum to all others.
//
// 2m(n-1)/n bytes a node in two stages, with n-1 peers: for few nodes. Every node's contributions
// are added first, the sum of the node that reduces among them, so that each part is the same
// expression: with an aligned power of two of consecutive ranks on each node it is the balanced one
// over all ranks, whatever the number of nodes, for types that do not round between.
#include <utility>
#include <vector>

#include "collective/algorithm/exchange.hpp"

namespace ff {
namespace {

void exchange_channel(NodeStage& stage, uint16_t channel) {
  const uint32_t n = stage.nodes();
  const auto region = [&](uint32_t part) { return Region{channel, static_cast<uint16_t>(part)}; };
  const auto put = [&](uint32_t from, Operand in, std::vector<Operand> out) {
    stage.schedule().add_step(StepKind::kPut, {stage.owner(NodeId(from), in.region), Unit::kNic},
                              {in}, std::move(out));
  };
  // Each node starts with its right neighbour's part, so that not all send to one at the same time.
  std::vector<std::vector<Operand>> sums(n, std::vector<Operand>(n));  // [part][node]
  for (uint32_t node = 0; node < n; node++) {
    for (uint32_t distance = 1; distance <= n; distance++) {
      const uint32_t part = (node + distance) % n;
      const Operand sum = stage.sum(NodeId(node), region(part));
      sums[part][node] = sum;
      if (part == node) continue;
      sums[part][node] = slot(stage.add_ring(NodeId(part), region(part)), region(part));
      put(node, sum, {sums[part][node]});
    }
  }
  for (uint32_t part = 0; part < n; part++) {
    stage.schedule().add_step(StepKind::kReduce, {stage.owner(NodeId(part), region(part))},
                              std::move(sums[part]),
                              stage.result_outputs(NodeId(part), region(part)));
    std::vector<Operand> arrivals;
    for (uint32_t distance = 1; distance < n; distance++) {
      const uint32_t node = (part + distance) % n;
      const RingId ring = stage.add_ring(NodeId(node), region(part));
      stage.result_arrives(NodeId(node), region(part), ring);
      arrivals.push_back(slot(ring, region(part)));
    }
    if (n > 1) put(part, stage.result(NodeId(part), region(part)), std::move(arrivals));
  }
}

}  // namespace

void exchange_directly(NodeStage& stage) {
  for (uint16_t channel = 0; channel < stage.schedule().layout.blocks; channel++) {
    exchange_channel(stage, channel);
  }
}

}  // namespace ff
