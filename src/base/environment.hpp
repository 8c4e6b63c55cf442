// The environment variables that steer the library: one table, and the one place that reads them.
//
// An Environment is a copy of the variables at one moment, so that nothing here races with setenv,
// and tests bring their own. Launchers' variables (RANK, SLURM_PROCID, ...) are read through it
// too.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ff {

struct Variable {
  std::string_view name;
  std::string_view values;
  std::string_view meaning;
};

// Every FF_* variable there is. docs/config.md is the same table.
std::span<const Variable> known_variables();

class Environment {
 public:
  using Values = std::map<std::string, std::string, std::less<>>;

  explicit Environment(Values values) : values_(std::move(values)) {}
  // A copy of this process's variables.
  static Environment of_process();

  // Nothing for a variable that is unset or empty. An FF_ name must be in the table.
  std::optional<std::string> get(std::string_view name) const;

  // One line for each FF_* variable that is set but not in the table, with what was probably meant.
  std::vector<std::string> warnings() const;

 private:
  Values values_;
};

}  // namespace ff
