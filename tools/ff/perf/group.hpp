// Puts the ranks of this process in their seats: one, or a thread for each of -t.
//
// Under a launcher (`ff run`, mpirun, srun, torchrun) the processes form one group, and with -t
// every process brings that many ranks; alone, the threads of this process are the group.
#pragma once
#include <functional>

#include "ff/perf/options.hpp"
#include "ff/perf/peers.hpp"

namespace ff::tools::perf {

// Calls body(peers) once for each rank of this process, each on a thread of its own (the first on
// this one), and tears the communicators down. A rank whose body leaves peers.ok() false ends the
// group for all. True if every rank here joined and stayed ok; each failure is on standard error.
bool run_ranks(const Options& options, const std::function<void(Peers&)>& body);

}  // namespace ff::tools::perf
