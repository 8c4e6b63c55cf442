#include "topology/detect/node_facts.hpp"

#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include <memory>

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

}  // namespace ff
