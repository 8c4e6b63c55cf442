// Ranks as threads of this process, over the public C face.
#pragma once
#include <functional>
#include <string>

#include "fireflyer/fireflyer.h"

namespace ff::testing_tools {

struct RanksOptions {
  std::string options;                           // of each communicator
  std::function<std::string(int rank)> of_rank;  // instead, by rank
  ff_numerics numerics = FF_NUMERICS_DEFAULT;
  ff_progress progress = FF_PROGRESS_AUTO;
  uint32_t max_outstanding = 0;
};

// Runs `body` once as each rank of a fresh communicator. A communicator that cannot be made is a
// failed expectation.
void run_ranks(int ranks, const RanksOptions& options,
               const std::function<void(ff_comm* comm, int rank)>& body);

}  // namespace ff::testing_tools
