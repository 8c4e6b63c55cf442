// ff perf: the command. Reads the options, seats the ranks, prints what rank 0 has gathered.
#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "ff/command.hpp"
#include "ff/perf/group.hpp"
#include "ff/perf/host.hpp"
#include "ff/perf/json.hpp"
#include "ff/perf/measure.hpp"
#include "ff/perf/names.hpp"
#include "ff/perf/options.hpp"
#include "ff/perf/report.hpp"

extern char** environ;

namespace ff::tools {
namespace perf {
namespace {

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);  // whoever watches sees each row when it is there
}

std::optional<double> required_bus_gbps() {
  const char* text = std::getenv("NCCL_TESTS_MIN_BW");
  return text != nullptr ? std::optional<double>(std::strtod(text, nullptr)) : std::nullopt;
}

// Every rank goes through the same table; rank 0 also keeps and prints it.
class Table {
 public:
  Table(Peers& peers, const Options& options)
      : peers_(peers), options_(options), writer_(peers.rank() == 0) {}

  void run() {
    RunInfo info{
        command_line(),        relevant_environment(environ), ff_version(), local_time(), "",
        gather_members(peers_)};
    OutputFile output;
    if (writer_ && !options_.json_path.empty()) {
      output = create_output(options_.json_path);
      if (!output.error.empty()) peers_.fail(output.error);
    }
    if (writer_ && peers_.ok()) {
      for (const std::string& note : options_.notes) fmt::print(stderr, "ff perf: {}\n", note);
      if (output.file && !options_.csv)
        print(fmt::format("# Writing JSON output to {}\n", output.path));
      print(options_.csv ? csv_header() : header(options_, info.version, info.members));
    }
    Measurer measurer(peers_, options_);
    for (int cycle = 0; peers_.ok() && (options_.cycles == 0 || cycle < options_.cycles); cycle++) {
      run_once(measurer);
    }
    summary_.required_bus_gbps = required_bus_gbps();
    summary_.average_bus_gbps = rates_ > 0 ? sum_of_rates_ / rates_ : 0;
    if (!peers_.ok()) summary_.errors.push_back(peers_.error());
    if (!writer_) return;
    if (!options_.csv) print(footer(summary_));
    info.end_time = local_time();
    if (output.file) {
      std::fputs(document(options_, info, rows_, summary_).dump(1).c_str(), output.file.get());
    }
  }

  bool good() const { return summary_.good(); }

 private:
  void run_once(Measurer& measurer) {
    for (const ff_type type : options_.types) {
      for (const ff_reduce_op op : options_.ops) {
        if (!is_defined(type, op)) continue;  // of "all"; a single pair was refused before
        for (const uint64_t bytes : sizes(options_)) {
          const Row row = measurer.measure(bytes, type, op);
          if (!peers_.ok()) return;
          add(row);
        }
      }
    }
  }

  void add(const Row& row) {
    for (const Measured* measured : {&row.out_of_place, &row.in_place}) {
      summary_.wrong += measured->wrong.value_or(0);
      sum_of_rates_ += measured->bus_gbps(row.bytes, peers_.ranks());
      rates_++;
    }
    if (!writer_) return;
    if (options_.csv) {
      print(csv_line(row, peers_.ranks()));
    } else {
      print(row_line(row, peers_.ranks()) + (options_.stats ? stats_line(row) : ""));
    }
    if (!options_.json_path.empty()) rows_.push_back(row);
  }

  Peers& peers_;
  const Options& options_;
  const bool writer_;
  std::vector<Row> rows_;
  Summary summary_;
  double sum_of_rates_ = 0;
  int rates_ = 0;
};

int run(const Options& options) {
  for (const char* name : {"NCCL_TESTS_SPLIT", "NCCL_TESTS_SPLIT_MASK"}) {
    if (std::getenv(name) == nullptr) continue;
    fmt::print(stderr, "ff perf: {} is set, but groups cannot be split yet; unset it\n", name);
    return kExitUsage;
  }
  std::atomic<bool> good{true};
  const bool ran = run_ranks(options, [&](Peers& peers) {
    Table table(peers, options);
    table.run();
    if (!table.good()) good.store(false, std::memory_order_relaxed);
  });
  return ran && good.load(std::memory_order_relaxed) ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace perf

Command add_perf(CLI::App& app) {
  CLI::App* const perf = app.add_subcommand("perf", "Time and check collectives, as nccl-tests");
  perf->require_subcommand(1);
  CLI::App* const all_reduce = perf->add_subcommand(
      "all_reduce", "Sum (or another operation) over all ranks, the result on all");
  const auto options = std::make_shared<perf::Options>();
  perf::add_flags(*all_reduce, options.get());
  Command command;
  command.app = perf;
  command.run = [options] { return perf::run(*options); };
  return command;
}

}  // namespace ff::tools
