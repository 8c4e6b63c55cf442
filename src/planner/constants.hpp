// The table of constants behind every prediction: what a step, a copied byte, a hand-over between
// cores and a message cost.
//
// Constants are agreed, never local: all ranks of a communicator use one table, and its hash is
// part of every call's digest. A table is a value; a file of it is JSON:
//
//   {"format": 1, "name": "my cluster", "memory": {...}, "network": {...}, "plan": {...}}
//
// Each section that is there must have all its fields; a section that is not keeps the shipped
// values. docs/formats/constants.md lists them, with units.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "collective/schedule/simulate.hpp"

namespace ff {

// What the planner itself decides from.
struct PlanConstants {
  uint64_t slots_own_core = 0;     // of a ring, where each rank of a node has a core of its own
  uint64_t slots_shared_core = 0;  // where ranks take turns, and so never overlap
  uint64_t slots_network = 0;      // where nodes are involved: covers a round trip
  uint64_t channels = 0;           // stripes of the vector between nodes. Part of the expression
  uint64_t least_chunk_bytes = 0;  // smaller chunks are not tried where the vector is larger
};

struct Constants {
  std::string name;
  SharedMemoryModel memory;
  NetworkModel network;
  PlanConstants plan;

  // Equal for tables with equal numbers, on every machine. The name does not count.
  uint64_t hash() const;
};

// Link classes that Fireflyer has numbers for: `memory` "near" (cores share a cache) or "far";
// `network` "tcp1", "tcp10", "tcp25", "tcp100", by Gbit/s. Empty: near, tcp10.
Result<Constants> shipped_constants(std::string_view memory = {}, std::string_view network = {});

// `origin` names the text in errors, which name the field. Unknown fields are errors.
Result<Constants> parse_constants(std::string_view json, std::string_view origin);
Result<Constants> load_constants(const std::string& path);
std::string to_json(const Constants& constants);  // what parse_constants reads

}  // namespace ff
