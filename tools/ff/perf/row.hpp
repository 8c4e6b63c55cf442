// What was measured for one size, type and operation.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ff/perf/model.hpp"
#include "ff/perf/timing.hpp"
#include "fireflyer/types.h"

namespace ff::tools::perf {

struct Measured {
  double seconds = 0;                 // as Options::average combines the ranks' times
  std::optional<uint64_t> wrong;      // of all ranks; nothing if unchecked
  std::optional<Percentiles> spread;  // of the rank with the highest median

  double algorithm_gbps(uint64_t bytes) const {
    return seconds > 0 ? static_cast<double>(bytes) / 1e9 / seconds : 0;
  }
  // What each rank's link would carry under a ring: comparable over numbers of ranks.
  double bus_gbps(uint64_t bytes, int ranks) const {
    return algorithm_gbps(bytes) * 2 * (ranks - 1) / ranks;
  }
};

struct Row {
  uint64_t bytes = 0;
  uint64_t count = 0;
  ff_type type = FF_FLOAT32;
  ff_reduce_op op = FF_SUM;
  Measured out_of_place, in_place;
  std::string time_stamp;
  // With --stats.
  std::optional<Model> model;
  std::optional<double> core_to_core_before_ns, core_to_core_after_ns;
};

// One rank, as the header lists it.
struct Member {
  int rank = 0;
  int pid = 0;
  std::string host;
  int cpu = 0;
  std::string cpu_model;
};

// Of a whole run.
struct Summary {
  uint64_t wrong = 0;
  double average_bus_gbps = 0;
  std::optional<double> required_bus_gbps;  // NCCL_TESTS_MIN_BW
  std::vector<std::string> errors;

  bool fast_enough() const {
    return !required_bus_gbps || average_bus_gbps >= 0.9 * *required_bus_gbps;
  }
  bool good() const { return wrong == 0 && errors.empty() && fast_enough(); }
};

}  // namespace ff::tools::perf
