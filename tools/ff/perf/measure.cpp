#include "ff/perf/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ff/perf/check.hpp"
#include "ff/perf/host.hpp"
#include "ff/perf/names.hpp"
#include "ff/perf/probe.hpp"

namespace ff::tools::perf {
namespace {

double combine_times(Peers& peers, const Options& options, double mine) {
  const std::vector<double> all = peers.gather(std::span<const double>(&mine, 1));
  double sum = 0;
  for (const double seconds : all) sum += seconds;
  switch (options.average) {
    case Average::kRank0:
      return all.front();
    case Average::kMin:
      return *std::min_element(all.begin(), all.end());
    case Average::kMax:
      return *std::max_element(all.begin(), all.end());
    default:
      return sum / static_cast<double>(all.size());
  }
}

// The slowest rank's, since a call is over when it is over everywhere.
Percentiles slowest(Peers& peers, const Percentiles& mine) {
  const double three[] = {mine.p50, mine.p99, mine.least};
  const std::vector<double> all = peers.gather(three);
  size_t at = 0;
  for (size_t r = 3; r < all.size(); r += 3) at = all[r] > all[at] ? r : at;
  return {all[at], all[at + 1], all[at + 2]};
}

}  // namespace

bool Buffer::allocate(size_t bytes) {
  constexpr size_t kPage = 4096;
  const size_t rounded = std::max(kPage, (bytes + kPage - 1) / kPage * kPage);
  memory_.reset(static_cast<char*>(std::aligned_alloc(kPage, rounded)));
  if (memory_) std::memset(memory_.get(), 0, rounded);  // no page fault while timing
  return memory_ != nullptr;
}

Measurer::Measurer(Peers& peers, const Options& options) : peers_(peers), options_(options) {
  const size_t bytes = options.max_bytes + 8 * static_cast<size_t>(options.misaligned_elements);
  if (!send_.allocate(bytes) || !recv_.allocate(bytes)) {
    peers.fail(fmt::format("no memory for two buffers of {} bytes; lower -e", bytes));
  }
}

Row Measurer::measure(uint64_t bytes, ff_type type, ff_reduce_op op) {
  Row row;
  row.type = type;
  row.op = op;
  row.count = bytes / type_bytes(type);
  row.bytes = row.count * type_bytes(type);
  std::string error;
  // The check needs the plan's roundings; only narrow floats have any.
  if (options_.stats || (is_narrow_float(type) && options_.checks > 0)) {
    row.model = ask_model(peers_, row.bytes, type, op, &error);
    if (!row.model && !model_failed_ && peers_.rank() == 0) {
      fmt::print(stderr, "ff perf: no model beside the rows: {}\n", error);
    }
    model_failed_ = !row.model;
  }
  if (options_.stats) row.core_to_core_before_ns = probe();
  row.out_of_place = measure_mode(row, false);
  row.in_place = measure_mode(row, true);
  if (options_.stats) row.core_to_core_after_ns = probe();
  if (options_.timestamps) row.time_stamp = local_time();
  return row;
}

Measured Measurer::measure_mode(const Row& row, bool in_place) {
  const size_t skip = type_bytes(row.type) * static_cast<size_t>(options_.misaligned_elements);
  const Call call{in_place ? nullptr : send_.data() + skip, recv_.data() + skip, row.count,
                  row.type, row.op};
  fill_neutral(row.type, row.op, send_.data() + skip, row.count);
  fill_neutral(row.type, row.op, recv_.data() + skip, row.count);
  warm_up(peers_, options_, call, options_.warmup_iterations);
  const Timing timing = time_calls(peers_, options_, call, options_.stats);

  Measured measured;
  measured.seconds =
      combine_times(peers_, options_, options_.cpu_time ? timing.cpu_seconds : timing.seconds);
  if (!timing.samples.empty()) {
    measured.spread = slowest(peers_, percentiles(timing.samples, options_.skipped_samples));
  }
  if (options_.checks > 0) measured.wrong = count_wrong_results(row, in_place);
  return measured;
}

uint64_t Measurer::count_wrong_results(const Row& row, bool in_place) {
  const size_t skip = type_bytes(row.type) * static_cast<size_t>(options_.misaligned_elements);
  char* const send = send_.data() + skip;
  char* const recv = recv_.data() + skip;
  double wrong = 0;
  for (int i = 0; i < options_.checks && peers_.ok(); i++) {
    const Reduction reduction{row.type, row.op, peers_.ranks(), repetition_++,
                              row.model ? row.model->narrow_roundings : 0};
    fill(reduction, peers_.rank(), in_place ? recv : send, row.count);
    peers_.all_reduce(in_place ? nullptr : send, recv, row.count, row.type, row.op);
    if (!peers_.ok()) break;
    const Wrong found = count_wrong(reduction, recv, row.count);
    wrong += static_cast<double>(found.count);
    if (found.count == 0) continue;
    fmt::print(stderr,
               "ff perf: rank {}: {} of {} elements wrong ({} of {}, {}); the first is element {}: "
               "expected {}, found {}\n",
               peers_.rank(), found.count, row.count, op_name(row.op), column_name(row.type),
               in_place ? "in place" : "out of place", found.first, found.expected, found.found);
  }
  return static_cast<uint64_t>(peers_.combine(wrong, FF_SUM));
}

// Rank 0 measures while the others wait for it in a call, which after a moment is sleep.
std::optional<double> Measurer::probe() {
  double ns = -1;  // below any measurement, so that rank 0's is the greatest
  if (peers_.rank() == 0) ns = core_to_core_ns().value_or(-1);
  ns = peers_.combine(ns, FF_MAX);
  return ns < 0 ? std::nullopt : std::optional<double>(ns);
}

}  // namespace ff::tools::perf
