#include "base/environment.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/check.hpp"
#include "base/nearest.hpp"

namespace ff {
namespace {

constexpr std::array kVariables = {
    Variable{"FF_RANK", "0 to ranks-1", "this process's rank; set by ff run"},
    Variable{"FF_RANKS", "1 or more", "number of ranks of the job; set by ff run"},
    Variable{"FF_LOCAL_RANK", "0 or more", "this process's number on its host; set by ff run"},
    Variable{"FF_LOCAL_RANKS", "1 or more", "ranks of the job on this host; set by ff run"},
    Variable{"FF_RENDEZVOUS", "name:TEXT, file:/path",
             "where the ranks of the job meet; set by ff run, overrides another launcher's"},
    Variable{"FF_SECRET", "fd:N, file:/path, text:TEXT",
             "the job's secret, which every rank must prove; set by ff run"},
    Variable{"FF_NODE", "text",
             "identity of this node instead of the kernel's boot id: ranks with different ones "
             "count as on different nodes"},
    Variable{"FF_LOG", "error, warning, info, debug",
             "highest level of log lines that is shown (default warning)"},
    Variable{"FF_OPTIONS", "key=value;...",
             "forces the planner's choices; overridden by the communicator's own options"},
    Variable{"FF_ISA", "baseline, avx2, avx512, neon",
             "highest instruction set that the arithmetic may use"},
    Variable{"FF_VERIFY", "0, 1", "prove each schedule before it runs for the first time"},
    // Read by scripts and benchmark programs; listed so that they do not draw a warning.
    Variable{"FF_BENCH", "path", "benchmark scripts only: another benchmark program"},
    Variable{"FF_PREFIX", "path", "benchmark scripts only: where an installed copy is"},
};

}  // namespace

std::span<const Variable> known_variables() { return kVariables; }

Environment Environment::of_process() {
  Values values;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; entry++) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    // The first of two equal names is the one that getenv() finds.
    if (equals != std::string_view::npos) {
      values.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return Environment(std::move(values));
}

std::optional<std::string> Environment::get(std::string_view name) const {
  FF_CHECK(!name.starts_with("FF_") ||
               std::ranges::find(kVariables, name, &Variable::name) != kVariables.end(),
           "the variable is in the table");
  const auto found = values_.find(name);
  if (found == values_.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

std::vector<std::string> Environment::warnings() const {
  std::array<std::string_view, kVariables.size()> names;
  std::ranges::transform(kVariables, names.begin(), &Variable::name);
  std::vector<std::string> lines;
  for (const auto& [name, value] : values_) {
    if (!name.starts_with("FF_") || std::ranges::find(names, name) != names.end()) continue;
    lines.push_back(fmt::format("environment variable {} is unknown and ignored; {} is the nearest",
                                name, nearest(name, names)));
  }
  return lines;
}

}  // namespace ff
