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

struct Cache {
  uint64_t bytes = 0;
  std::vector<uint32_t> cpus;  // those that share it, ascending
  bool operator==(const Cache&) const = default;
};

struct NodeFacts {
  std::string host, boot;
  std::vector<uint32_t> cpus;  // usable by this process, ascending
  double cpu_time = 0;         // CPU seconds a second: as many as CPUs, or a control group's quota
  std::vector<Cache> l2, l3;   // distinct ones that usable CPUs have, by their first CPU
  uint64_t page_bytes = 0;
  std::optional<uint64_t> memory_bytes;         // of the machine, or a control group's limit
  std::optional<uint64_t> memory_available;     // without swapping, within that limit
  std::optional<uint64_t> file_bytes_limit;     // RLIMIT_FSIZE; nothing: no limit
  std::optional<uint64_t> address_space_limit;  // RLIMIT_AS
  std::optional<uint64_t> descriptor_limit;     // RLIMIT_NOFILE
};

// `cpus`: from affinity_of_this_thread(), or a test's own.
NodeFacts read_node_facts(const std::string& root, std::vector<uint32_t> cpus);

}  // namespace ff
