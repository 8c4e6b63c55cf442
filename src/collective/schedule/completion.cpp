#include "collective/schedule/completion.hpp"

#include <map>
#include <utility>

#include "collective/schedule/order.hpp"

namespace ff {

// Each input occurs once in a result, so counting inputs is enough to tell when they are all there.
std::vector<bool> completing_steps(const Schedule& schedule) {
  std::vector<bool> completing(schedule.steps.size(), false);
  std::vector<uint64_t> in_ring(schedule.rings.size(), 0);
  std::map<std::pair<Rank, Region>, uint64_t> in_result;
  const auto held = [&](const Operand& operand) -> uint64_t {
    switch (operand.place) {
      case Place::kSend:
        return 1;
      case Place::kRecv:
        return in_result[{operand.rank, operand.region}];
      case Place::kRing:
        break;
    }
    return in_ring[operand.ring];
  };
  for (const StepId id : firing_order(schedule)) {
    const Step& step = schedule.steps[id];
    uint64_t sum = 0, largest = 0;
    for (const Operand& operand : step.in) {
      const uint64_t inputs = held(operand);
      sum += inputs;
      if (inputs > largest) largest = inputs;
    }
    // With one rank its input is the result, and the step that hands it over completes it.
    completing[id] = step.kind == StepKind::kReduce && sum == schedule.ranks &&
                     (largest < sum || schedule.ranks == 1);
    for (size_t i = 0; i < step.out.size(); i++) {
      const Operand& out = step.out[i];
      const uint64_t inputs = step.lanes() ? held(step.in[i]) : sum;
      if (out.place == Place::kRing) {
        in_ring[out.ring] = inputs;
      } else {
        in_result[{out.rank, out.region}] = inputs;
      }
    }
  }
  return completing;
}

}  // namespace ff
