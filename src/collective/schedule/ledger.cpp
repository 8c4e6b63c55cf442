#include "collective/schedule/ledger.hpp"

namespace ff {

std::vector<NodeLedger> ledger(const Schedule& schedule, const Placement& placement,
                               const Partition& partition, uint64_t element_bytes) {
  std::vector<NodeLedger> nodes(placement.nodes());
  for (const Step& step : schedule.steps) {
    const NodeId at = placement.node_of(step.executor.rank);
    NodeLedger& here = nodes[at.index()];
    for (const Operand& operand : step.in) {
      const uint64_t bytes = partition.total(operand.region) * element_bytes;
      (operand.place == Place::kRing ? here.staging_read : here.caller_read) += bytes;
    }
    for (const Operand& operand : step.out) {
      const uint64_t bytes = partition.total(operand.region) * element_bytes;
      if (operand.place != Place::kRing) {
        here.caller_written += bytes;
        continue;
      }
      const NodeId home = placement.node_of(schedule.rings[operand.ring].home);
      nodes[home.index()].staging_written += bytes;
      if (home != at) {
        here.sent += bytes;
        nodes[home.index()].received += bytes;
      }
    }
  }
  return nodes;
}

}  // namespace ff
