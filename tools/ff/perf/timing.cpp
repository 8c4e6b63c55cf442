#include "ff/perf/timing.hpp"

#include <time.h>

#include <chrono>

namespace ff::tools::perf {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

double process_cpu_seconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// One iteration: a blocking call, or several submitted together and then waited for.
class Iteration {
 public:
  Iteration(Peers& peers, const Options& options, const Call& call)
      : peers_(peers), call_(call), operations_(options.calls_per_iteration) {}

  void run() {
    if (operations_.size() == 1) {
      peers_.all_reduce(call_.send, call_.recv, call_.count, call_.type, call_.op);
      return;
    }
    for (ff_operation*& operation : operations_) {
      operation = nullptr;
      submit(&operation);
    }
    for (ff_operation* operation : operations_) peers_.wait_and_release(operation);
  }

  // Submits without waiting; the library holds the caller back when too many are unfinished.
  void submit_only() {
    for (size_t i = 0; i < operations_.size(); i++) {
      ff_operation* operation = nullptr;
      submit(&operation);
      ff_operation_release(operation);
    }
  }

 private:
  void submit(ff_operation** operation) {
    peers_.all_reduce(call_.send, call_.recv, call_.count, call_.type, call_.op, operation);
  }

  Peers& peers_;
  const Call& call_;
  std::vector<ff_operation*> operations_;
};

}  // namespace

Timing time_calls(Peers& peers, const Options& options, const Call& call, bool sample) {
  Timing timing;
  Iteration iteration(peers, options, call);
  const double calls = static_cast<double>(options.iterations) * options.calls_per_iteration;
  const bool each = sample && options.blocking;
  if (each) timing.samples.resize(static_cast<size_t>(options.iterations));

  peers.barrier();
  const double cpu_start = process_cpu_seconds();
  const auto start = Clock::now();
  if (each) {
    auto before = start;
    for (double& seconds : timing.samples) {
      iteration.run();
      const auto after = Clock::now();
      seconds = seconds_between(before, after) / options.calls_per_iteration;
      before = after;
    }
  } else if (options.blocking) {
    for (int i = 0; i < options.iterations; i++) iteration.run();
  } else {
    for (int i = 0; i < options.iterations; i++) iteration.submit_only();
    peers.flush();
  }
  timing.seconds = seconds_between(start, Clock::now()) / calls;
  timing.cpu_seconds = (process_cpu_seconds() - cpu_start) / calls /
                       (static_cast<double>(options.threads) * options.devices);
  return timing;
}

void warm_up(Peers& peers, const Options& options, const Call& call, int iterations) {
  Iteration iteration(peers, options, call);
  for (int i = 0; i < iterations && peers.ok(); i++) iteration.run();
}

}  // namespace ff::tools::perf
