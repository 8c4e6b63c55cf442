// Double tree: half of the channels along each of two binary trees, up and down at once.
//
// 2m bytes a node in 2 floor(log2 n) stages. Each vertex adds its children's sums to its own
// contribution, in the order left, own, right, which is rank order in an in-order tree, and sends
// that up; the root's sum comes down and is forwarded straight from the slot it arrived in. No
// vertex is interior in both trees, so all carry the same load (topology/graph/tree.hpp).
#include <utility>
#include <vector>

#include "collective/algorithm/exchange.hpp"
#include "topology/graph/tree.hpp"

namespace ff {
namespace {

class TreeExchange {
 public:
  TreeExchange(NodeStage& stage, Region region, Tree tree)
      : stage_(stage), region_(region), tree_(tree), up_(stage.nodes(), kNone) {}

  void add() {
    for (uint32_t v = 0; v < stage_.nodes(); v++) {
      if (const auto parent = tree_.parent(v)) up_[v] = stage_.add_ring(NodeId(*parent), region_);
    }
    for (uint32_t v = 0; v < stage_.nodes(); v++) go_up(v);
    std::vector<RingId> down(stage_.nodes(), kNone);
    for (uint32_t v = 0; v < stage_.nodes(); v++) {
      if (!tree_.parent(v)) continue;
      down[v] = stage_.add_ring(NodeId(v), region_);
      stage_.result_arrives(NodeId(v), region_, down[v]);
    }
    for (uint32_t v = 0; v < stage_.nodes(); v++) {
      std::vector<Operand> out;
      if (const auto left = tree_.left(v)) out.push_back(slot(down[*left], region_));
      if (const auto right = tree_.right(v)) out.push_back(slot(down[*right], region_));
      if (!out.empty()) put(v, stage_.result(NodeId(v), region_), std::move(out));
    }
  }

 private:
  void go_up(uint32_t v) {
    std::vector<Operand> in = stage_.contributions(NodeId(v), region_);
    if (const auto left = tree_.left(v)) in.insert(in.begin(), slot(up_[*left], region_));
    if (const auto right = tree_.right(v)) in.push_back(slot(up_[*right], region_));
    if (!tree_.parent(v)) {
      reduce(v, std::move(in), stage_.result_outputs(NodeId(v), region_));
    } else if (in.size() == 1) {
      put(v, in[0], {slot(up_[v], region_)});
    } else {
      const Operand sum = slot(stage_.add_ring(NodeId(v), region_), region_);
      reduce(v, std::move(in), {sum});
      put(v, sum, {slot(up_[v], region_)});
    }
  }
  void reduce(uint32_t v, std::vector<Operand> in, std::vector<Operand> out) {
    stage_.schedule().add_step(StepKind::kReduce, {stage_.owner(NodeId(v), region_)}, std::move(in),
                               std::move(out));
  }
  void put(uint32_t v, Operand in, std::vector<Operand> out) {
    stage_.schedule().add_step(StepKind::kPut, {stage_.owner(NodeId(v), region_), Unit::kNic}, {in},
                               std::move(out));
  }

  NodeStage& stage_;
  const Region region_;
  const Tree tree_;
  std::vector<RingId> up_;  // from each vertex, at its parent
};

}  // namespace

void exchange_by_trees(NodeStage& stage) {
  const uint32_t nodes = stage.nodes();
  for (uint16_t channel = 0; channel < stage.schedule().layout.blocks; channel++) {
    const Tree tree = channel % 2 == 0 ? Tree::first(nodes) : Tree::second(nodes);
    TreeExchange(stage, {channel, 0}, tree).add();
  }
}

const Algorithm kDoubleTree = {
    "double_tree",
    "ranks alone on their nodes: half the vector along each of two binary trees",
    [](const Placement& placement) { return placement.nodes() == placement.ranks(); },
    [](const Placement& placement, const Shape& shape) {
      NodeStage stage(placement, shape, 1);
      exchange_by_trees(stage);
      return stage.finish();
    },
};

}  // namespace ff
