// The kernel's notation of CPU sets: "0-3,8,10-11".
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace ff {

// Ascending, without doubles. "" is the empty set. At most 65,536 CPUs.
Result<std::vector<uint32_t>> parse_cpu_list(std::string_view text);

}  // namespace ff
