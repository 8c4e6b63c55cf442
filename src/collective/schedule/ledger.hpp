// The bytes that one call moves, node by node: computed from the schedule, without running it.
//
// A byte counts once for each time a step reads or writes it, wherever it is cached.
#pragma once
#include <cstdint>
#include <vector>

#include "collective/schedule/layout.hpp"
#include "collective/schedule/schedule.hpp"
#include "topology/graph/placement.hpp"

namespace ff {

struct NodeLedger {
  uint64_t caller_read = 0, caller_written = 0;    // the ranks' own buffers
  uint64_t staging_read = 0, staging_written = 0;  // slots; a message is written where it arrives
  uint64_t sent = 0, received = 0;                 // over the node's port

  bool operator==(const NodeLedger&) const = default;
};

std::vector<NodeLedger> ledger(const Schedule& schedule, const Placement& placement,
                               const Partition& partition, uint64_t element_bytes);

}  // namespace ff
