#include "ff/run/outcome.hpp"

#include <fmt/format.h>

#include <cstring>
#include <map>

namespace ff::tools::run {
namespace {

// "0, 2-5"
std::string join_ranges(const std::vector<size_t>& ascending) {
  std::string text;
  for (size_t i = 0; i < ascending.size();) {
    size_t last = i;
    while (last + 1 < ascending.size() && ascending[last + 1] == ascending[last] + 1) ++last;
    if (!text.empty()) text += ", ";
    text += last == i ? fmt::format("{}", ascending[i])
                      : fmt::format("{}-{}", ascending[i], ascending[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace

Outcome outcome_of(const siginfo_t& child) {
  return {.ended = true,
          .by_signal = child.si_code != CLD_EXITED,
          .dumped_core = child.si_code == CLD_DUMPED,
          .value = child.si_status};
}

std::string signal_name(int signal) {
  const char* const name = sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

std::string describe(const Outcome& outcome) {
  if (!outcome.ended) return "did not end";
  if (!outcome.by_signal) return fmt::format("exited with code {}", outcome.value);
  return fmt::format("was killed by {}{}", signal_name(outcome.value),
                     outcome.dumped_core ? " (core dumped)" : "");
}

std::string summarize(const std::vector<Outcome>& outcomes, int except) {
  std::map<std::string, std::vector<size_t>> groups;
  for (size_t rank = 0; rank < outcomes.size(); ++rank) {
    if (static_cast<int>(rank) != except) groups[describe(outcomes[rank])].push_back(rank);
  }
  std::string text;
  for (const auto& [how, ranks] : groups) {
    if (!text.empty()) text += "; ";
    text += fmt::format("{}: rank{} {}", how, ranks.size() == 1 ? "" : "s", join_ranges(ranks));
  }
  return text;
}

}  // namespace ff::tools::run
