#include "ff/perf/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "ff/perf/names.hpp"

namespace ff::tools::perf {
namespace {

// "32M", "1.5k", "4": K, M and G are powers of 1024, in either case.
uint64_t parse_size(const std::string& flag, const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  double unit = 1;
  const bool has_unit = end != text.c_str() && *end != '\0';
  if (has_unit) {
    switch (*end++) {
      case 'K':
      case 'k':
        unit = 0x1p10;
        break;
      case 'M':
      case 'm':
        unit = 0x1p20;
        break;
      case 'G':
      case 'g':
        unit = 0x1p30;
        break;
      default:
        end--;
    }
  }
  const double bytes = number * unit;
  if (end == text.c_str() || *end != '\0' || !(bytes >= 0) || bytes >= 0x1p62) {
    throw CLI::ValidationError(
        flag, fmt::format("'{}' is no size; write a number with an optional K, M or G", text));
  }
  return static_cast<uint64_t>(bytes);
}

// A flag of nccl-tests that steers a device, and the value at which it asks for nothing.
struct DeviceFlag {
  const char* names;
  const char* idle;
  const char* about;
};
constexpr DeviceFlag kDeviceFlags[] = {
    {"-p,--parallel_init", "1", "communicators are always created by all threads at once"},
    {"-y,--stream_null", "0", "there is no stream"},
    {"-G,--cudagraph", "0", "there is no graph to capture"},
    {"-R,--local_register", "0", "host memory needs no registration"},
    {"-x,--cta_policy", "0", "there are no thread blocks"},
    {"-D,--device_implementation", "0", "there is no kernel to choose"},
    {"-V,--device_cta_count", "", "there are no thread blocks"},
    {"-M,--memory", "0", "there is no device memory to report"},
};

void read_types(const std::string& text, Options* options) {
  options->types.clear();
  if (text == "all") {
    for (int i = 0; i < FF_TYPE_COUNT; i++) options->types.push_back(static_cast<ff_type>(i));
  } else if (const auto type = find_type(text)) {
    options->types = {*type};
  } else {
    throw CLI::ValidationError(
        "-d,--datatype", fmt::format("unknown type '{}'; known are: {} all", text, known_types()));
  }
}

void read_ops(const std::string& text, Options* options) {
  options->ops.clear();
  if (text == "all") {
    for (ff_reduce_op op = 0; op < FF_BUILTIN_OPS; op++) options->ops.push_back(op);
  } else if (const auto op = find_op(text)) {
    options->ops = {*op};
  } else {
    throw CLI::ValidationError(
        "-o,--op", fmt::format("unknown operation '{}'; known are: {} all", text, known_ops()));
  }
}

// What the flags ask for together, once each has been read.
void check_together(const Options& options) {
  if (options.min_bytes > options.max_bytes) {
    throw CLI::ValidationError(
        "-b,--minbytes", fmt::format("{} is above -e,--maxbytes {}; give both", options.min_bytes,
                                     options.max_bytes));
  }
  const bool several = options.min_bytes < options.max_bytes;
  if (several && options.step_factor <= 1 && options.step_bytes == 0) {
    throw CLI::ValidationError("-i,--stepbytes", "0 never reaches -e,--maxbytes");
  }
  if (several && options.step_factor > 1 && options.min_bytes == 0) {
    throw CLI::ValidationError("-f,--stepfactor", "never leaves -b 0; start above it, or use -i");
  }
  if (options.ops.size() == 1 && options.types.size() == 1 &&
      !is_defined(options.types[0], options.ops[0])) {
    throw CLI::ValidationError("-o,--op",
                               fmt::format("{} is not defined for {}", op_name(options.ops[0]),
                                           column_name(options.types[0])));
  }
}

void add_size(CLI::App& app, const std::string& names, uint64_t* value, const std::string& about) {
  app.add_option_function<std::string>(
         names, [names, value](const std::string& text) { *value = parse_size(names, text); },
         about)
      ->type_name("SIZE");
}

template <class Number>
void add_number(CLI::App& app, const std::string& names, Number* value, int least,
                const std::string& about) {
  app.add_option(names, *value, about)->check(CLI::Range(least, 1 << 30))->capture_default_str();
}

void add_switch(CLI::App& app, const std::string& names, bool* value, const std::string& about) {
  app.add_option_function<int>(
         names, [value](int given) { *value = given != 0; }, about)
      ->check(CLI::Range(0, 1))
      ->type_name("0|1");
}

void add_device_flags(CLI::App& app, Options* options) {
  for (const DeviceFlag& flag : kDeviceFlags) {
    const auto note = [&flag, options](const std::string& value) {
      if (value == flag.idle) return;
      options->notes.push_back(
          fmt::format("{} {} changes nothing: {}", flag.names, value, flag.about));
    };
    app.add_option_function<std::string>(flag.names, note, std::string("accepted; ") + flag.about)
        ->group("Accepted for nccl-tests' sake");
  }
  app.add_option_function<int>(
         "-r,--root", [](int) {}, "accepted; all-reduce has no root")
      ->group("Accepted for nccl-tests' sake");
}

}  // namespace

void add_flags(CLI::App& app, Options* options) {
  app.option_defaults()->take_last();  // scripts append what overrides
  add_size(app, "-b,--minbytes", &options->min_bytes, "least size; K, M, G (default 32M)");
  add_size(app, "-e,--maxbytes", &options->max_bytes, "greatest size (default 32M)");
  add_size(app, "-i,--stepbytes", &options->step_bytes, "add this from row to row (default 1M)");
  app.add_option("-f,--stepfactor", options->step_factor, "multiply from row to row; wins over -i")
      ->check(CLI::Range(0.0, 1e9));
  add_number(app, "-n,--iters", &options->iterations, 1, "timed iterations a row");
  add_number(app, "-w,--warmup_iters", &options->warmup_iterations, 0, "untimed iterations before");
  add_number(app, "-m,--agg_iters", &options->calls_per_iteration, 1,
             "calls submitted together in one iteration");
  add_number(app, "-N,--run_cycles", &options->cycles, 0, "run the table so often; 0 = for ever");
  add_number(app, "-c,--check", &options->checks, 0, "checked calls a row; 0 = none");
  app.add_option_function<std::string>(
      "-d,--datatype", [options](const std::string& text) { read_types(text, options); },
      "element type, or all (default float): " + known_types());
  app.add_option_function<std::string>(
      "-o,--op", [options](const std::string& text) { read_ops(text, options); },
      "operation, or all (default sum): " + known_ops());
  add_number(app, "-t,--nthreads", &options->threads, 1, "ranks of this process, a thread each");
  add_number(app, "-g,--ngpus", &options->devices, 1, "as -t; the two are multiplied");
  app.add_option_function<int>(
         "-a,--average", [options](int how) { options->average = static_cast<Average>(how); },
         "time reported: 0 rank 0's, 1 mean, 2 least, 3 greatest of the ranks (default 1)")
      ->check(CLI::Range(0, 3));
  add_switch(app, "-z,--blocking", &options->blocking,
             "1 (default): wait for each iteration; 0: submit all iterations, then wait");
  add_switch(app, "-C,--report_cputime", &options->cpu_time,
             "report the CPU time of a rank instead of the time that passed");
  add_switch(app, "-S,--report_timestamps", &options->timestamps, "date and time behind each row");
  add_switch(app, "-I,--per_iter_timing", &options->stats, "as --stats");
  add_number(app, "-K,--per_iter_skip", &options->skipped_samples, 0,
             "leave so many first iterations out of --stats");
  add_number(app, "-u,--unalign", &options->misaligned_elements, 0,
             "start buffers so many elements behind a page's start");
  app.add_option("-T,--timeout", options->timeout_seconds, "seconds a call may take")
      ->check(CLI::Range(0.0, 1e6));
  app.add_option("-J,--output_file", options->json_path,
                 "write the results as JSON; never overwrites, adds a number");
  add_device_flags(app, options);
  app.add_flag("--stats", options->stats,
               "under each row: p50, p99 and least time, the model's time, the algorithm and why, "
               "the core-to-core latency before and after");
  app.add_flag("--csv", options->csv, "rows as comma-separated values");
  app.add_option("--options", options->library_options,
                 "library options, as \"algorithm=ring;chunk=64K\"");
  app.callback([options] {
    check_together(*options);
    if (options->devices > 1) {
      options->notes.push_back(
          fmt::format("-g {}: no device is used; each is a rank on a thread", options->devices));
    }
  });
}

std::vector<uint64_t> sizes(const Options& options) {
  std::vector<uint64_t> all;
  for (uint64_t bytes = options.min_bytes; bytes <= options.max_bytes;) {
    all.push_back(bytes);
    const auto scaled = static_cast<uint64_t>(static_cast<double>(bytes) * options.step_factor);
    const uint64_t next = options.step_factor > 1 ? scaled : bytes + options.step_bytes;
    bytes = std::max(next, bytes + 1);  // a factor near 1 moves small sizes by less than a byte
  }
  return all;
}

}  // namespace ff::tools::perf
