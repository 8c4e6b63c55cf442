#include "collective/schedule/expression.hpp"

#include <algorithm>
#include <bit>

#include "base/check.hpp"

namespace ff {
namespace {

// The finalizer of splitmix64: every input bit changes every output bit with even odds. Its
// constants are part of what "the same hash in any process" means.
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

uint64_t saturating_add(uint64_t a, uint64_t b) { return a + b < a ? UINT64_MAX : a + b; }

}  // namespace

size_t Expressions::KeyHash::operator()(const Key& key) const {
  return mix(key.value ^ (static_cast<uint64_t>(key.kind) << 62));
}

template <class Make>
Expressions::Id Expressions::intern(Key key, Make make) {
  const auto [entry, fresh] = known_.try_emplace(key, static_cast<Id>(nodes_.size()));
  if (fresh) nodes_.push_back(make());
  return entry->second;
}

Expressions::Id Expressions::leaf(Rank rank) {
  return intern({rank.value(), Kind::kLeaf}, [&] {
    Node node;
    node.left = node.first = node.last = rank.value();
    node.hash = mix(rank.value() + 1u);
    return node;
  });
}

Expressions::Id Expressions::combine(Id left, Id right) {
  return intern({(uint64_t{left} << 32) | right, Kind::kCombine}, [&] {
    const Node& a = nodes_[left];
    const Node& b = nodes_[right];
    Node node;
    node.kind = Kind::kCombine;
    node.ascending = a.ascending && b.ascending && a.last < b.first;
    node.left = left;
    node.right = right;
    node.first = a.first;
    node.last = b.last;
    node.roundings = std::max(a.roundings, b.roundings);
    node.leaves = saturating_add(a.leaves, b.leaves);
    node.hash = mix(mix(a.hash) + 3 * b.hash);  // left and right are not alike
    return node;
  });
}

Expressions::Id Expressions::round(Id value) {
  if (nodes_[value].kind != Kind::kCombine) return value;
  return intern({value, Kind::kRound}, [&] {
    Node node = nodes_[value];
    node.kind = Kind::kRound;
    node.left = value;
    node.right = 0;
    node.roundings++;
    node.hash = mix(~node.hash);
    return node;
  });
}

Expressions::Id Expressions::tree(std::span<const Id> inputs) {
  FF_CHECK(!inputs.empty(), "a reduction has inputs");
  if (inputs.size() == 1) return inputs[0];
  const size_t split = std::bit_floor(inputs.size() - 1);
  const Id left = tree(inputs.first(split));
  return combine(left, tree(inputs.subspan(split)));
}

std::vector<uint64_t> Expressions::occurrences(Id id, uint32_t ranks) const {
  std::vector<uint64_t> times(id + size_t{1}, 0);  // a part's id is below that of the whole
  std::vector<uint64_t> result(ranks, 0);
  times[id] = 1;
  for (size_t at = id + size_t{1}; at-- > 0;) {
    if (times[at] == 0) continue;
    const Node& node = nodes_[at];
    if (node.kind == Kind::kLeaf) {
      result[node.left] = saturating_add(result[node.left], times[at]);
    } else {
      times[node.left] = saturating_add(times[node.left], times[at]);
      if (node.kind == Kind::kCombine) {
        times[node.right] = saturating_add(times[node.right], times[at]);
      }
    }
  }
  return result;
}

}  // namespace ff
