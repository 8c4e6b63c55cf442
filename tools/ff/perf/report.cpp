#include "ff/perf/report.hpp"

#include <fmt/format.h>

#include "ff/perf/names.hpp"

namespace ff::tools::perf {
namespace {

std::string columns(const Measured& measured, const Row& row, int ranks) {
  const std::string wrong = measured.wrong ? fmt::format("{:>6}", *measured.wrong) : "   N/A";
  return fmt::format("  {}  {}  {}  {}", fit(measured.seconds * 1e6, 7),
                     fit(measured.algorithm_gbps(row.bytes), 6),
                     fit(measured.bus_gbps(row.bytes, ranks), 6), wrong);
}

std::string spread_text(const char* which, const Measured& measured) {
  if (!measured.spread) return fmt::format("{} -", which);
  const Percentiles& spread = *measured.spread;
  return fmt::format("{} p50 {:.2f} p99 {:.2f} min {:.2f} us", which, spread.p50 * 1e6,
                     spread.p99 * 1e6, spread.least * 1e6);
}

std::string nanoseconds(const std::optional<double>& ns) {
  return ns ? fmt::format("{:.0f}", *ns) : "-";
}

}  // namespace

std::string fit(double value, int width) {
  for (const int decimals : {2, 1, 0}) {
    const std::string text = fmt::format("{:{}.{}f}", value, width, decimals);
    if (text.size() <= static_cast<size_t>(width)) return text;
  }
  return fmt::format("{:{}.{}e}", value, width, width >= 7 ? 1 : 0);
}

std::string header(const Options& options, uint32_t version, const std::vector<Member>& members) {
  const bool factor = options.step_factor > 1;
  std::string text = fmt::format(
      "# fireflyer version {}.{}.{}, columns as nccl-tests\n"
      "# Collective test starting: all_reduce_perf\n"
      "# nThread {} nGpus {} minBytes {} maxBytes {} step: {}({}) warmup iters: {} iters: {} "
      "agg iters: {} validation: {} graph: 0 unalign: {}\n",
      version / 10000, version / 100 % 100, version % 100, options.threads, options.devices,
      options.min_bytes, options.max_bytes,
      factor ? fmt::format("{:g}", options.step_factor) : fmt::format("{}", options.step_bytes),
      factor ? "factor" : "bytes", options.warmup_iterations, options.iterations,
      options.calls_per_iteration, options.checks, options.misaligned_elements);
  text += options.blocking ? "# Blocking Enabled: wait after each iteration\n" : "";
  text += "#\n# Using devices\n";
  for (const Member& member : members) {
    // A device's place in nccl-tests; here the CPU that the rank was on, which has no PCI address.
    text += fmt::format("#  Rank {:2} Group {:2} Pid {:6} on {:>10} device {:2} [0000:00:00] {}\n",
                        member.rank, 0, member.pid, member.host, member.cpu, member.cpu_model);
  }
  const char* time = options.cpu_time ? "cputime" : "time";
  const char* stamp = options.timestamps ? "           timestamp" : "";
  const char* stamp_format = options.timestamps ? "   %Y-%m-%d %H:%M:%S" : "";
  const auto line = [](const char* a, const char* b, const char* c, const char* d, const char* e) {
    return fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}", a, b, c, d, e);
  };
  const auto half = [](const char* a, const char* b, const char* c, const char* d) {
    return fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", a, b, c, d);
  };
  text += "#\n" + line("", "", "", "", "") +
          "           out-of-place                       in-place          \n";
  const std::string names = half(time, "algbw", "busbw", "#wrong");
  text += line("size", "count", "type", "redop", "root") + names + names + " " + stamp + "\n";
  const std::string units = half("(us)", "(GB/s)", "(GB/s)", "");
  text += line("(B)", "(elements)", "", "", "") + units + units + " " + stamp_format + "\n";
  return text;
}

std::string row_line(const Row& row, int ranks) {
  return fmt::format("{:12}  {:12}  {:>8}  {:>6}  {:>6}{}{}{}\n", row.bytes, row.count,
                     column_name(row.type), op_name(row.op), -1,
                     columns(row.out_of_place, row, ranks), columns(row.in_place, row, ranks),
                     row.time_stamp.empty() ? "" : fmt::format("{:>21}", row.time_stamp));
}

std::string stats_line(const Row& row) {
  std::string text =
      "#  " + spread_text("out", row.out_of_place) + " | " + spread_text("in", row.in_place);
  if (row.model) {
    text += fmt::format(" | model {:.2f} us, {}: {}", row.model->predicted_seconds * 1e6,
                        row.model->algorithm, row.model->reason);
  }
  return text + fmt::format(" | core to core {} -> {} ns\n",
                            nanoseconds(row.core_to_core_before_ns),
                            nanoseconds(row.core_to_core_after_ns));
}

std::string footer(const Summary& summary) {
  const char* verdict = summary.required_bus_gbps ? summary.fast_enough() ? "OK" : "FAILED" : "";
  std::string text = fmt::format(
      "# {:<20} : {} {}\n# {:<20} : {:g} {}\n#\n# Collective test concluded: all_reduce_perf\n",
      "Out of bounds values", summary.wrong, summary.wrong == 0 ? "OK" : "FAILED",
      "Avg bus bandwidth", summary.average_bus_gbps, verdict);
  for (const std::string& error : summary.errors) text += fmt::format("# error: {}\n", error);
  return text + "#\n";
}

std::string csv_header() {
  return "bytes,count,type,op,ranks,out_us,out_p50_us,out_p99_us,out_min_us,out_wrong,in_us,"
         "in_p50_us,in_p99_us,in_min_us,in_wrong,model_us,algorithm,core_to_core_before_ns,"
         "core_to_core_after_ns\n";
}

std::string csv_line(const Row& row, int ranks) {
  std::string text = fmt::format("{},{},{},{},{}", row.bytes, row.count, column_name(row.type),
                                 op_name(row.op), ranks);
  for (const Measured* measured : {&row.out_of_place, &row.in_place}) {
    text += fmt::format(",{:.3f}", measured->seconds * 1e6);
    if (const auto& spread = measured->spread) {
      text += fmt::format(",{:.3f},{:.3f},{:.3f}", spread->p50 * 1e6, spread->p99 * 1e6,
                          spread->least * 1e6);
    } else {
      text += ",,,";
    }
    text += measured->wrong ? fmt::format(",{}", *measured->wrong) : ",";
  }
  text += row.model
              ? fmt::format(",{:.3f},{}", row.model->predicted_seconds * 1e6, row.model->algorithm)
              : ",,";
  const auto number = [](const std::optional<double>& ns) {
    return ns ? fmt::format("{:.0f}", *ns) : "";
  };
  return text + fmt::format(",{},{}\n", number(row.core_to_core_before_ns),
                            number(row.core_to_core_after_ns));
}

}  // namespace ff::tools::perf
