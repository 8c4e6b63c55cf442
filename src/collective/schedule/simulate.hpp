// Predicts how long a schedule takes, by running it with time instead of data.
//
// The same graph as the engine's: a step starts when its waits have passed and its resource is
// free. Resources serve in order of arrival and queue, they never block each other: a core (which
// several ranks may share), a node's memory, a link's sending and its receiving side. Times are
// integer picoseconds, so that all ranks, whatever their CPU, predict the same and choose alike.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "collective/schedule/schedule.hpp"
#include "topology/graph/placement.hpp"

namespace ff {

using Picoseconds = int64_t;

}  // namespace ff
