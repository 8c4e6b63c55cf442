// Times calls of one rank.
#pragma once
#include <vector>

#include "ff/perf/options.hpp"
#include "ff/perf/peers.hpp"

namespace ff::tools::perf {

struct Call {
  const void* send;
  void* recv;
  size_t count;
  ff_type type;
  ff_reduce_op op;
};

struct Timing {
  double seconds = 0;           // a call
  double cpu_seconds = 0;       // a call and rank, of this process
  std::vector<double> samples;  // seconds a call, an entry for each iteration; see time_calls
};

// Options::iterations times Options::calls_per_iteration calls, after a barrier. With `sample` and
// blocking calls the clock is read after each iteration (some 20 ns, which 4-byte calls show).
Timing time_calls(Peers& peers, const Options& options, const Call& call, bool sample);

// The same calls, untimed.
void warm_up(Peers& peers, const Options& options, const Call& call, int iterations);

struct Percentiles {
  double p50 = 0, p99 = 0, least = 0;
};
// Of what is left without the first `skip`; zeros if that is nothing.
Percentiles percentiles(std::vector<double> samples, int skip);

}  // namespace ff::tools::perf
