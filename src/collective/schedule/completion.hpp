// Which steps turn partial results into the result.
#pragma once
#include <vector>

#include "collective/schedule/schedule.hpp"

namespace ff {

// For each step, whether it is a reduction whose output holds every rank's input: the one place on
// each way to a result where FF_AVG divides, before the sum is rounded. All others move or add
// partial sums. Costs one pass over the operands; the schedule must be one that verify() accepts.
std::vector<bool> completing_steps(const Schedule& schedule);

}  // namespace ff
