// What the library's planner says of a call: which algorithm, why, and the time it predicts.
#pragma once
#include <optional>
#include <string>

#include "ff/perf/peers.hpp"

namespace ff::tools::perf {

struct Model {
  std::string algorithm;
  std::string reason;
  double predicted_seconds = 0;
  int narrow_roundings = 0;  // on the worst path; 0 if the plan does not say
};

// Asks peers.comm(); nothing, and the reason in `error`, if it does not answer.
std::optional<Model> ask_model(const Peers& peers, uint64_t bytes, ff_type type, ff_reduce_op op,
                               std::string* error);
std::optional<Model> parse_model(const std::string& json, std::string* error);

}  // namespace ff::tools::perf
