// Ranks as processes that use the public C face, for tests of what goes wrong.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "children.hpp"
#include "fireflyer/fireflyer.h"

namespace ff::testing_tools {

struct GroupOptions {
  double call_timeout = 20;     // seconds
  double connect_timeout = 20;  // seconds
  const char* options = nullptr;
};

// In a rank's process: joins the group called `name`.
ff_status join(const std::string& name, int rank, int ranks, const GroupOptions& options,
               ff_comm** comm);

// Forks `ranks` children, each of which joins one fresh group, runs `body` and leaves.
// A child's output is what its body returns; "join: ..." if it could not join.
using Body = std::function<std::string(Child& self, ff_comm* comm, int rank)>;
std::vector<Child> start_group(int ranks, const GroupOptions& options, const Body& body);

// Sums `count` floats, different on each rank and position, in place; "" or what was wrong.
std::string sum_and_check(ff_comm* comm, size_t count, int round);

std::string failure_line(ff_comm* comm);  // "STATUS rank R pid P: text", of ff_comm_async_error
double seconds();                         // of a clock that only goes forward

}  // namespace ff::testing_tools
