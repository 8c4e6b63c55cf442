// An order in which the steps of a schedule may fire on one chunk: each after those it waits for
// with lag 0. Where lag-0 waits form a cycle there is none, and the list is shorter than the steps.
#pragma once
#include <vector>

#include "collective/schedule/schedule.hpp"

namespace ff {

std::vector<StepId> firing_order(const Schedule& schedule);

}  // namespace ff
