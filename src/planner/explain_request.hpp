// The words of a request to explain().
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "fireflyer/types.h"
#include "planner/plan.hpp"

namespace ff {

struct ExplainRequest {
  uint64_t bytes = 0;
  ff_type type = FF_FLOAT32;
  ff_reduce_op op = FF_SUM;
  uint32_t rank = 0;
  // Of a group that does not exist: what its planner would be made of.
  uint32_t ranks = 0, nodes = 1;
  std::optional<uint32_t> cpus;
  ff_numerics numerics = FF_NUMERICS_DEFAULT;
  Overrides overrides;
  std::optional<uint64_t> staging_bytes;
  std::string memory, network, constants_file;
};

// `group_exists`: words that describe a group are refused.
Result<ExplainRequest> parse_explain_request(std::string_view words, bool group_exists);

}  // namespace ff
