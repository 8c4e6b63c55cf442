// What this process is and runs on, for headers and reports.
#pragma once
#include <string>
#include <vector>

#include "ff/perf/peers.hpp"
#include "ff/perf/row.hpp"

namespace ff::tools::perf {

std::vector<Member> gather_members(Peers& peers);  // by rank
std::vector<std::string> command_line();
std::string local_time();  // "2026-01-31 23:59:59"

}  // namespace ff::tools::perf
