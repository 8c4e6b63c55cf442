#include "topology/detect/cpu_list.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

namespace ff {
namespace {

constexpr uint32_t kMostCpus = 65536;

bool take_number(std::string_view& text, uint32_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number >= kMostCpus) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

}  // namespace

Result<std::vector<uint32_t>> parse_cpu_list(std::string_view text) {
  const Status bad(FF_ERROR_ARGUMENT, fmt::format("'{}' is no list of CPUs", text));
  std::vector<uint32_t> cpus;
  while (!text.empty()) {
    uint32_t first = 0;
    if (!take_number(text, first)) return bad;
    uint32_t last = first;
    if (text.starts_with('-')) {
      text.remove_prefix(1);
      if (!take_number(text, last) || last < first) return bad;
    }
    for (uint32_t cpu = first; cpu <= last; cpu++) cpus.push_back(cpu);
    if (text.empty()) break;
    if (!text.starts_with(',') || text.size() == 1 || cpus.size() > kMostCpus) return bad;
    text.remove_prefix(1);
  }
  std::ranges::sort(cpus);
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

}  // namespace ff
