#include "collective/schedule/order.hpp"

#include <cstddef>

namespace ff {

// Kahn's topological sort; the followers of all steps lie in one array, for graphs of 100,000s.
std::vector<StepId> firing_order(const Schedule& schedule) {
  const size_t count = schedule.steps.size();
  std::vector<uint32_t> missing(count, 0);
  std::vector<size_t> first(count + 1, 0);
  for (StepId id = 0; id < count; id++) {
    for (const Wait& wait : schedule.steps[id].waits) {
      if (wait.lag != 0) continue;
      missing[id]++;
      first[wait.step + 1]++;
    }
  }
  for (size_t i = 0; i < count; i++) first[i + 1] += first[i];
  std::vector<StepId> followers(first[count]);
  std::vector<size_t> end(first.begin(), first.end() - 1);
  for (StepId id = 0; id < count; id++) {
    for (const Wait& wait : schedule.steps[id].waits) {
      if (wait.lag == 0) followers[end[wait.step]++] = id;
    }
  }
  std::vector<StepId> order;
  order.reserve(count);
  for (StepId id = 0; id < count; id++) {
    if (missing[id] == 0) order.push_back(id);
  }
  for (size_t next = 0; next < order.size(); next++) {
    for (size_t i = first[order[next]]; i < first[order[next] + 1]; i++) {
      if (--missing[followers[i]] == 0) order.push_back(followers[i]);
    }
  }
  return order;
}

}  // namespace ff
