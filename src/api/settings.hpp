// What a communicator is made from: ff_config and the environment, checked and with defaults.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <variant>

#include "base/options.hpp"
#include "base/status.hpp"
#include "bootstrap/rendezvous.hpp"
#include "collective/engine/kernel/kernel.hpp"
#include "fireflyer/fireflyer.h"
#include "planner/constants.hpp"

namespace ff {

struct Settings {
  JoinOptions join;
  std::string name;
  std::chrono::nanoseconds call_timeout{0};  // < 0: none
  ff_progress progress = FF_PROGRESS_AUTO;
  ff_numerics numerics = FF_NUMERICS_DEFAULT;
  uint64_t staging_bytes = 0;
  double cpu_time = 0;              // CPU seconds a second that this process may use
  bool cpu_time_is_capped = false;  // by a control group, which its ranks are likely to share
  uint32_t max_outstanding = 0;
  Options options;
  Isa isa = Isa::kBaseline;
  Constants constants;
  void (*on_failure)(void* context, const ff_failure*) = nullptr;
  void* on_failure_context = nullptr;

  // All that must be equal on all ranks, in words: compared when they meet.
  std::string agreed() const;
};

// FF_ERROR_ARGUMENT names the field or variable. Reads the environment, once.
Result<Settings> read_settings(const ff_config& config);

// 0 = `standard`, -1 = no limit (returned as is); other negative values are errors.
Result<std::chrono::nanoseconds> read_timeout(int64_t nanoseconds,
                                              std::chrono::nanoseconds standard, const char* field);

}  // namespace ff
