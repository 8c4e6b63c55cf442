// What would be done, and why: the text behind ff_explain and `ff explain`.
//
// A request is words: "all_reduce ranks=16 nodes=2 bytes=64M". Known words:
//   ranks=N      (required)          nodes=N      consecutive ranks share a node; default 1
//   bytes=SIZE   of one vector (required)         type=, op=   default float32, sum
//   cpus=N       of a node; default: one a rank   rank=R       whose steps to show; default 0
//   algorithm=NAME, chunk=SIZE, slots=N           instead of the planner's choice
//   numerics=default|any_size|any_layout          staging=SIZE a rank
//   memory=CLASS, network=CLASS, constants=FILE   see planner/constants.hpp
//
// The answer is JSON: algorithm, reason, predicted_ns, candidates, trees, steps of one rank, proof,
// bytes and busy times of each node, bottleneck. Pure but for reading the file of constants.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "planner/plan.hpp"

namespace ff {

// FF_ERROR_ARGUMENT names the word that is wrong, and lists the known ones.
Result<std::string> explain(std::string_view request);

// The same for a group that exists, whose planner answers; only bytes, type, op and rank are asked
// for: "all_reduce bytes=64M".
Result<std::string> explain(std::string_view request, Planner& planner);

}  // namespace ff
