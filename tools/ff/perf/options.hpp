// The command line of `ff perf`: nccl-tests' flags, and a few long ones of our own.
//
// Whoever has scripts for nccl-tests can point them here. Flags that steer a GPU are accepted and
// named in `notes`; names of types and operations that we do not know are refused, where nccl-tests
// would quietly measure float or sum instead.
#pragma once
#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "fireflyer/types.h"

namespace ff::tools::perf {

enum class Average { kRank0, kMean, kMin, kMax };

struct Options {
  uint64_t min_bytes = 32u << 20;
  uint64_t max_bytes = 32u << 20;
  uint64_t step_bytes = 1u << 20;
  double step_factor = 1;  // above 1: multiply; else add step_bytes

  int iterations = 20;
  int warmup_iterations = 1;
  int calls_per_iteration = 1;  // submitted together, waited for together
  int cycles = 1;               // of the whole table; 0 = for ever
  int checks = 1;               // checked calls for each row and buffer mode; 0 = none

  std::vector<ff_type> types = {FF_FLOAT32};
  std::vector<ff_reduce_op> ops = {FF_SUM};
  bool every_op = false;  // `-o all`: pairs that do not exist are left out instead of refused

  int threads = 1;  // ranks of this process, a thread each,
  int devices = 1;  // times this
  Average average = Average::kMean;
  bool blocking = true;  // wait for each call; false: submit all, then wait
  bool cpu_time = false;
  bool timestamps = false;
  int skipped_samples = 0;      // of --stats: the first ones are left out
  int misaligned_elements = 0;  // buffers start so many elements behind a page's start
  double timeout_seconds = 0;   // of a call; 0 = the library's default
  std::string json_path;

  // Ours.
  bool stats = false;  // a line under each row: p50, p99, least, model, algorithm, core to core
  bool csv = false;    // rows as comma-separated values, and nothing else, on standard output
  std::string library_options;  // ff_config.options: "algorithm=ring;chunk=64K"

  std::vector<std::string> notes;  // flags that were given and change nothing here
};

// Adds the flags to `app`; parsing then fills `options`, which must live as long. What is wrong
// makes the parser throw, as for every command.
void add_flags(CLI::App& app, Options* options);

// The sizes of the rows, in order.
std::vector<uint64_t> sizes(const Options& options);

}  // namespace ff::tools::perf
