// What the control groups above this process allow: CPU time and memory. Both hierarchies, v1 and
// v2, also side by side; the tightest of all groups up to the root counts.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace ff {

struct CgroupLimits {
  std::optional<double> cpus;            // CPU seconds a second; nothing: no quota
  std::optional<uint64_t> memory_bytes;  // of the tightest group; nothing: no limit
  std::optional<uint64_t> memory_left;   // limit less what cannot be reclaimed
};

CgroupLimits read_cgroup_limits(const std::string& root);

}  // namespace ff
