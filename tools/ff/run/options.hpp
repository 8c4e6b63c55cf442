// What the user asked `ff run` for, checked.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace ff::tools::run {

enum class Tag { kOnTerminal, kYes, kNo };

struct Options {
  int ranks = 0;
  bool bind_cores = false;
  std::vector<std::string> exports;                 // as given: VAR or VAR=VALUE
  std::string directory;                            // empty: the launcher's own
  std::optional<std::chrono::nanoseconds> timeout;  // of the whole job
  std::chrono::nanoseconds grace{0};                // between SIGTERM and SIGKILL
  Tag tag = Tag::kOnTerminal;
  std::vector<std::string> program;  // and its arguments; never empty
};

// The CPUs that this process may run on, ascending.
std::vector<int> allowed_cpus();

// What is wrong with these options, for the user; empty if nothing is.
std::string problem_with(const Options& options);

}  // namespace ff::tools::run
