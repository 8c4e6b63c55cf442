#include "ff/perf/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "ff/perf/names.hpp"

namespace ff::tools::perf {
namespace {

using Json = nlohmann::ordered_json;

// nccl-tests writes truth values as words, and its readers compare with these.
const char* truth(bool value) { return value ? "true" : "false"; }

template <class T>
Json optional(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json config(const Options& options) {
  Json json;
  json["nthreads"] = options.threads;
  json["ngpus"] = options.devices;
  json["minimum_bytes"] = options.min_bytes;
  json["maximum_bytes"] = options.max_bytes;
  if (options.step_factor > 1) {
    json["step_factor"] = options.step_factor;
  } else {
    json["step_bytes"] = options.step_bytes;
  }
  json["warmup_iters"] = options.warmup_iterations;
  json["iterations"] = options.iterations;
  json["aggregated_iterations"] = options.calls_per_iteration;
  json["validation"] = options.checks;
  json["graph"] = 0;
  json["blocking_collectives"] = truth(options.blocking);
  json["per_iter_timing"] = truth(options.stats);
  json["per_iter_skip"] = options.skipped_samples;
  json["parallel_init"] = truth(true);
  json["unalign"] = options.misaligned_elements;
  json["library_options"] = options.library_options;
  return json;
}

Json device(const Member& member) {
  Json json;
  json["rank"] = member.rank;
  json["group"] = 0;
  json["pid"] = member.pid;
  json["hostname"] = member.host;
  json["device"] = member.cpu;
  json["device_hex"] = "0000:00:00";
  json["device_info"] = member.cpu_model;
  return json;
}

Json measured(const Options& options, const Row& row, const Measured& side, int ranks) {
  Json json;
  json[options.cpu_time ? "cpu_time" : "time"] = side.seconds * 1e6;
  json["alg_bw"] = side.algorithm_gbps(row.bytes);
  json["bus_bw"] = side.bus_gbps(row.bytes, ranks);
  json["nwrong"] = optional(side.wrong);
  if (side.spread) {
    json["p50_us"] = side.spread->p50 * 1e6;
    json["p99_us"] = side.spread->p99 * 1e6;
    json["min_us"] = side.spread->least * 1e6;
  }
  return json;
}

Json result(const Options& options, const Row& row, int ranks) {
  Json json;
  json["size"] = row.bytes;
  json["count"] = row.count;
  json["type"] = column_name(row.type);
  json["redop"] = op_name(row.op);
  json["root"] = "    -1";  // a text of that width in nccl-tests
  json["out_of_place"] = measured(options, row, row.out_of_place, ranks);
  json["in_place"] = measured(options, row, row.in_place, ranks);
  json["actual_iterations"] = options.iterations;
  json["experiment_name"] = "all_reduce_perf";
  if (options.stats) {
    json["core_to_core_ns"] = {optional(row.core_to_core_before_ns),
                               optional(row.core_to_core_after_ns)};
  }
  if (row.model) {
    json["model_us"] = row.model->predicted_seconds * 1e6;
    json["algorithm"] = row.model->algorithm;
    json["reason"] = row.model->reason;
  }
  return json;
}

}  // namespace

Json document(const Options& options, const RunInfo& info, const std::vector<Row>& rows,
              const Summary& summary) {
  const int ranks = static_cast<int>(info.members.size());
  Json json;
  json["version"] = 3;  // of nccl-tests' format
  json["start_time"] = info.start_time;
  json["args"] = info.words;
  json["env"] = info.environment;
  json["nccl_version"] = nullptr;  // the key is theirs; none is used here
  json["fireflyer_version"] = info.version;
  json["config"] = config(options);
  json["devices"] = Json::array();
  for (const Member& member : info.members) json["devices"].push_back(device(member));
  json["results"] = Json::array();
  for (const Row& row : rows) json["results"].push_back(result(options, row, ranks));
  json["out_of_bounds"]["count"] = summary.wrong;
  json["out_of_bounds"]["okay"] = truth(summary.wrong == 0);
  json["average_bus_bandwidth"]["bandwidth"] = summary.average_bus_gbps;
  json["average_bus_bandwidth"]["okay"] =
      summary.required_bus_gbps ? truth(summary.fast_enough()) : "unchecked";
  json["errors"] = summary.errors;
  json["end_time"] = info.end_time;
  return json;
}

std::vector<std::string> relevant_environment(char** environment) {
  constexpr std::string_view kPrefixes[] = {"FF_",  "NCCL_TESTS_", "OMPI_",  "PMI_",
                                            "OMP_", "SLURM_",      "WORLD_", "RANK="};
  std::vector<std::string> kept;
  for (char** entry = environment; *entry != nullptr; entry++) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    if (name.find("SECRET") != name.npos || name.find("TOKEN") != name.npos ||
        name.find("KEY") != name.npos) {
      continue;
    }
    if (std::any_of(std::begin(kPrefixes), std::end(kPrefixes), [&](std::string_view prefix) {
          return text.substr(0, prefix.size()) == prefix;
        })) {
      kept.emplace_back(text);
    }
  }
  return kept;
}

OutputFile create_output(const std::string& path) {
  OutputFile output;
  output.path = path;
  for (int number = 0;; number++) {
    output.file.reset(std::fopen(output.path.c_str(), "wxe"));
    if (output.file) return output;
    if (errno != EEXIST) {
      output.error = fmt::format("cannot write {}: {}", output.path, std::strerror(errno));
      return output;
    }
    output.path = fmt::format("{}.{}", path, number);
  }
}

}  // namespace ff::tools::perf
