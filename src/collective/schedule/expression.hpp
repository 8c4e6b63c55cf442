// The arithmetic of a schedule as hash-consed expressions: two values are computed in the same way
// exactly if they have the same id.
//
// An expression says in which order ranks' inputs meet, and where the sum is rounded on the way. It
// does not say which elements they are: a value never leaves its place in the vector (the verifier
// sees to that), so the same id for two places means that both are computed alike.
//
//   leaf(r)         rank r's input
//   combine(a, b)   a op b
//   round(a)        a, rounded to the data type
//
// Reducing k inputs is the kernel's balanced tree over their order: tree(k) = tree(p) op
// tree(k - p), p the largest power of two below k. For types that are reduced in their own
// precision each combine rounds anyway, and round() is left out: so an aligned power of two of
// neighbours that was reduced beforehand is the same expression as the flat reduction. 16- and
// 8-bit floats are combined in float32 and rounded once a step: there every step's result goes
// through round(), and the two differ, as their bits do.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/ids.hpp"

namespace ff {

class Expressions {
 public:
  using Id = uint32_t;

  Id leaf(Rank rank);
  Id combine(Id left, Id right);
  Id round(Id value);  // exact on a leaf and on what is rounded already: the same id
  Id tree(std::span<const Id> inputs);

  // Equal for equal expressions in any process, whatever else was interned; a 64-bit hash.
  uint64_t hash(Id id) const { return nodes_[id].hash; }
  uint64_t leaves(Id id) const { return nodes_[id].leaves; }        // with repetition; saturates
  bool ascending(Id id) const { return nodes_[id].ascending; }      // leaves in strict rank order
  uint32_t roundings(Id id) const { return nodes_[id].roundings; }  // on the longest path

  // How often each rank's input occurs in it. Saturates.
  std::vector<uint64_t> occurrences(Id id, uint32_t ranks) const;

 private:
  enum class Kind : uint8_t { kLeaf, kCombine, kRound };
  struct Node {
    Kind kind = Kind::kLeaf;
    bool ascending = true;
    uint32_t left = 0, right = 0;  // ids; of a leaf, left is its rank
    uint32_t first = 0, last = 0;  // ranks of the outermost leaves
    uint32_t roundings = 0;
    uint64_t leaves = 1;
    uint64_t hash = 0;
  };
  struct Key {
    uint64_t value;
    Kind kind;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };

  template <class Make>
  Id intern(Key key, Make make);

  std::vector<Node> nodes_;
  std::unordered_map<Key, Id, KeyHash> known_;
};

}  // namespace ff
