#include "topology/detect/node_facts.hpp"

#include <errno.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <sstream>

#include "base/bytes.hpp"
#include "topology/detect/cgroup.hpp"
#include "topology/detect/cpu_list.hpp"
#include "topology/detect/read_file.hpp"

namespace ff {

std::string boot_id(const std::string& root) {
  return read_text(root + "/proc/sys/kernel/random/boot_id").value_or("unknown");
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

Result<std::vector<uint32_t>> affinity_of_this_thread() {
  // The kernel refuses a mask shorter than its own; grow until it fits.
  for (int bits = 1024; bits <= 1 << 20; bits *= 2) {
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> mask(
        CPU_ALLOC(static_cast<size_t>(bits)), [](cpu_set_t* set) { CPU_FREE(set); });
    const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(bits));
    if (mask == nullptr) return Status(FF_ERROR_RESOURCE, "no memory for a CPU mask");
    if (sched_getaffinity(0, bytes, mask.get()) != 0) {
      if (errno == EINVAL) continue;
      return system_error("sched_getaffinity", errno);
    }
    std::vector<uint32_t> cpus;
    for (int cpu = 0; cpu < bits; cpu++) {
      if (CPU_ISSET_S(static_cast<size_t>(cpu), bytes, mask.get())) {
        cpus.push_back(static_cast<uint32_t>(cpu));
      }
    }
    return cpus;
  }
  return Status(FF_ERROR_SYSTEM, "sched_getaffinity refuses a mask of a million CPUs");
}

namespace {

// "MemTotal:  16384 kB" of /proc/meminfo.
std::optional<uint64_t> meminfo(const std::string& text, const std::string& name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string key, unit;
    uint64_t number = 0;
    if (words >> key >> number >> unit && key == name + ":" && unit == "kB") return number * 1024;
  }
  return std::nullopt;
}

std::optional<uint64_t> resource_limit(int resource) {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) return std::nullopt;
  if (limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

std::vector<Cache> caches(const std::string& root, const std::vector<uint32_t>& cpus, int level) {
  std::vector<Cache> found;
  for (const uint32_t cpu : cpus) {
    for (int index = 0; index < 16; index++) {
      const std::string folder =
          fmt::format("{}/sys/devices/system/cpu/cpu{}/cache/index{}", root, cpu, index);
      const auto text = read_text(folder + "/level");
      if (!text.has_value()) break;
      const std::string type = read_text(folder + "/type").value_or("");
      if (*text != fmt::to_string(level) || type == "Instruction") continue;
      const auto bytes = parse_bytes(read_text(folder + "/size").value_or(""));
      const auto sharers = parse_cpu_list(read_text(folder + "/shared_cpu_list").value_or(""));
      if (!bytes.ok() || !sharers.ok()) continue;
      const Cache cache = {*bytes, *sharers};
      if (std::ranges::find(found, cache) == found.end()) found.push_back(cache);
    }
  }
  return found;
}

std::optional<uint64_t> least(std::optional<uint64_t> a, std::optional<uint64_t> b) {
  if (!a.has_value() || !b.has_value()) return a.has_value() ? a : b;
  return std::min(*a, *b);
}

}  // namespace

NodeFacts read_node_facts(const std::string& root, std::vector<uint32_t> cpus) {
  const CgroupLimits group = read_cgroup_limits(root);
  const std::string memory = read_text(root + "/proc/meminfo").value_or("");
  NodeFacts facts;
  facts.host = host_name();
  facts.boot = boot_id(root);
  facts.cpus = std::move(cpus);
  const auto count = static_cast<double>(facts.cpus.size());
  facts.cpu_time = std::min(count, group.cpus.value_or(count));
  facts.l2 = caches(root, facts.cpus, 2);
  facts.l3 = caches(root, facts.cpus, 3);
  facts.page_bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  facts.memory_bytes = least(meminfo(memory, "MemTotal"), group.memory_bytes);
  facts.memory_available = least(meminfo(memory, "MemAvailable"), group.memory_left);
  facts.file_bytes_limit = resource_limit(RLIMIT_FSIZE);
  facts.address_space_limit = resource_limit(RLIMIT_AS);
  facts.descriptor_limit = resource_limit(RLIMIT_NOFILE);
  return facts;
}

}  // namespace ff
