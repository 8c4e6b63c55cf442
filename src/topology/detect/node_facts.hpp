// What this process may use of the machine it runs on: CPUs, caches, memory, limits.
//
// Everything is read under a root directory that is passed in ("/" in earnest, a fixture tree in
// tests) except the affinity mask and resource limits, which only the kernel knows. Where a fact
// cannot be had, it is absent rather than guessed.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.hpp"

namespace ff {

// Identity of the running kernel; "unknown" where /proc does not show it.
std::string boot_id(const std::string& root);
std::string host_name();

// CPUs that the calling thread may run on, ascending.
Result<std::vector<uint32_t>> affinity_of_this_thread();

}  // namespace ff
