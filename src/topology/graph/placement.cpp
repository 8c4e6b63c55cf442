#include "topology/graph/placement.hpp"

#include <map>

#include "base/check.hpp"

namespace ff {

Placement::Placement(std::span<const uint32_t> node_of) {
  std::map<uint32_t, NodeId> renumbered;
  for (size_t r = 0; r < node_of.size(); r++) {
    const auto [entry, fresh] = renumbered.try_emplace(node_of[r], renumbered.size());
    if (fresh) ranks_of_.emplace_back();
    std::vector<Rank>& members = ranks_of_[entry->second.index()];
    node_of_.push_back(entry->second);
    local_rank_.emplace_back(members.size());
    members.emplace_back(r);
  }
}

Placement Placement::one_node(uint32_t ranks) { return even(ranks, 1); }

Placement Placement::even(uint32_t ranks, uint32_t nodes) {
  FF_CHECK(nodes >= 1, "at least one node");
  std::vector<uint32_t> node_of(ranks);
  for (uint32_t r = 0; r < ranks; r++) {
    node_of[r] = static_cast<uint32_t>(uint64_t{r} * nodes / ranks);
  }
  return Placement(node_of);
}

}  // namespace ff
