#include "topology/detect/cgroup.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <sstream>

#include "topology/detect/read_file.hpp"

namespace ff {
namespace {

// v1 writes "no limit" as the largest number of whole pages.
constexpr uint64_t kUnlimited = uint64_t{1} << 60;

std::optional<uint64_t> number(std::optional<std::string> text) {
  if (!text.has_value()) return std::nullopt;
  uint64_t value = 0;
  const char* last = text->data() + text->size();
  const auto [end, error] = std::from_chars(text->data(), last, value);
  if (error != std::errc() || end != last) return std::nullopt;  // "max", "-1"
  return value;
}

// The number beside `key` in a file of "key number" lines.
std::optional<uint64_t> field(const std::string& path, const std::string& key) {
  std::istringstream lines(read_text(path).value_or(""));
  std::string name, value;
  while (lines >> name >> value) {
    if (name == key) return number(value);
  }
  return std::nullopt;
}

template <class T>
void tighten(std::optional<T>& limit, std::optional<T> other) {
  if (other.has_value()) limit = std::min(limit.value_or(*other), *other);
}

// Calls `look` with the folder of the group and of each one above it.
void walk_up(const std::string& mount, std::string group,
             const std::function<void(const std::string&)>& look) {
  // A namespace shows a group outside of it as "/../..": only its own root can be seen.
  if (group.starts_with("/..")) group.resize(1);
  for (;;) {
    look(group == "/" ? mount : mount + group);
    if (group.size() <= 1) return;
    const size_t slash = group.rfind('/');
    if (slash == std::string::npos) return;
    group.resize(std::max<size_t>(slash, 1));
  }
}

void look_v2(const std::string& folder, CgroupLimits& limits) {
  std::istringstream quota(read_text(folder + "/cpu.max").value_or(""));
  std::string share, period;
  quota >> share >> period;
  const auto microseconds = number(share), every = number(period);
  if (microseconds.has_value() && every.value_or(0) > 0) {
    tighten(limits.cpus,
            std::optional(static_cast<double>(*microseconds) / static_cast<double>(*every)));
  }
  const auto limit = number(read_text(folder + "/memory.max"));
  if (!limit.has_value()) return;
  tighten(limits.memory_bytes, limit);
  const auto used = number(read_text(folder + "/memory.current"));
  if (!used.has_value()) return;
  const uint64_t reclaimable = field(folder + "/memory.stat", "inactive_file").value_or(0);
  const uint64_t held = *used - std::min(*used, reclaimable);
  tighten(limits.memory_left, std::optional(*limit - std::min(*limit, held)));
}

void look_v1_cpu(const std::string& folder, CgroupLimits& limits) {
  const auto quota = number(read_text(folder + "/cpu.cfs_quota_us"));  // -1: none
  const auto period = number(read_text(folder + "/cpu.cfs_period_us"));
  if (quota.has_value() && period.value_or(0) > 0) {
    tighten(limits.cpus, std::optional(static_cast<double>(*quota) / static_cast<double>(*period)));
  }
}

void look_v1_memory(const std::string& folder, CgroupLimits& limits) {
  const auto limit = number(read_text(folder + "/memory.limit_in_bytes"));
  if (!limit.has_value() || *limit >= kUnlimited) return;
  tighten(limits.memory_bytes, limit);
  const auto used = number(read_text(folder + "/memory.usage_in_bytes"));
  if (!used.has_value()) return;
  const uint64_t reclaimable = field(folder + "/memory.stat", "total_inactive_file").value_or(0);
  const uint64_t held = *used - std::min(*used, reclaimable);
  tighten(limits.memory_left, std::optional(*limit - std::min(*limit, held)));
}

bool lists(const std::string& controllers, const std::string& name) {
  return ("," + controllers + ",").find("," + name + ",") != std::string::npos;
}

}  // namespace

CgroupLimits read_cgroup_limits(const std::string& root) {
  CgroupLimits limits;
  const std::string mount = root + "/sys/fs/cgroup";
  std::istringstream lines(read_text(root + "/proc/self/cgroup").value_or(""));
  for (std::string line; std::getline(lines, line);) {  // "number:controllers:/group"
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos || second + 1 >= line.size()) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    const auto walk = [&](const std::string& hierarchy, auto look) {
      walk_up(mount + hierarchy, group, [&](const std::string& folder) { look(folder, limits); });
    };
    if (controllers.empty()) {
      walk("", look_v2);
      walk("/unified", look_v2);  // where v1 has the mount
    }
    if (lists(controllers, "cpu")) walk("/cpu", look_v1_cpu);
    if (lists(controllers, "memory")) walk("/memory", look_v1_memory);
  }
  return limits;
}

}  // namespace ff
