#include "planner/explain.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/data_type.hpp"
#include "collective/schedule/ledger.hpp"
#include "planner/explain_request.hpp"
#include "planner/find_trees.hpp"

namespace ff {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kDefaultStaging = 3 << 19;  // as a communicator's

double in_ns(Picoseconds time) { return static_cast<double>(time) / 1000; }

const char* numerics_name(ff_numerics numerics) {
  switch (numerics) {
    case FF_NUMERICS_ANY_SIZE:
      return "any_size";
    case FF_NUMERICS_ANY_LAYOUT:
      return "any_layout";
    case FF_NUMERICS_DEFAULT:
      break;
  }
  return "default";
}

Json candidates_of(const Plan& plan) {
  Json list = Json::array();
  for (const Candidate& candidate : plan.candidates) {
    Json json = {{"algorithm", candidate.algorithm->name}};
    if (candidate.why_not.empty()) {
      json["predicted_ns"] = in_ns(candidate.timing.total);
      json["piece_bytes"] = candidate.piece_bytes;
      json["slots"] = candidate.slots;
      json["chunks"] = candidate.timing.chunks;
      json["bottleneck"] = candidate.timing.describe();
    } else {
      json["why_not"] = candidate.why_not;
    }
    list.push_back(std::move(json));
  }
  return list;
}

Json trees_of(const Plan& plan, const Placement& placement) {
  Json list = Json::array();
  for (const FoundTree& tree : find_trees(*plan.schedule, placement)) {
    Json nodes = Json::array();
    std::vector<std::vector<uint32_t>> children(placement.nodes());
    for (uint32_t node = 0; node < placement.nodes(); node++) {
      if (tree.parent[node] != kNone) children[tree.parent[node]].push_back(node);
    }
    for (uint32_t node = 0; node < placement.nodes(); node++) {
      Json json = {{"node", node}, {"children", children[node]}};
      json["parent"] = tree.parent[node] == kNone ? Json(nullptr) : Json(tree.parent[node]);
      nodes.push_back(std::move(json));
    }
    list.push_back({{"blocks", tree.blocks}, {"root", tree.root.value()}, {"nodes", nodes}});
  }
  return list;
}

const char* kind_name(StepKind kind) {
  switch (kind) {
    case StepKind::kCopy:
      return "copy";
    case StepKind::kReduce:
      return "reduce";
    case StepKind::kPut:
      return "put";
    case StepKind::kEnter:
      break;
  }
  return "enter";
}

const char* unit_name(Unit unit) {
  switch (unit) {
    case Unit::kCpu:
      return "cpu";
    case Unit::kCopyIn:
      return "copy_in";
    case Unit::kCopyOut:
      return "copy_out";
    case Unit::kNic:
      return "nic";
    case Unit::kDevice:
      break;
  }
  return "device";
}

Json operands_of(const std::vector<Operand>& operands, const Schedule& schedule) {
  Json list = Json::array();
  for (const Operand& operand : operands) {
    Json json;
    if (operand.place == Place::kRing) {
      json = {{"place", "ring"}, {"ring", operand.ring}};
      json["home"] = schedule.rings[operand.ring].home.value();
    } else {
      json = {{"place", operand.place == Place::kSend ? "send" : "recv"}};
      json["rank"] = operand.rank.value();
    }
    json["block"] = operand.region.block;
    json["part"] = operand.region.part;
    list.push_back(std::move(json));
  }
  return list;
}

Json steps_of(const Plan& plan, const Placement& placement, Rank rank) {
  const Schedule& schedule = *plan.schedule;
  Json steps = Json::array();
  for (StepId id = 0; id < schedule.steps.size(); id++) {
    const Step& step = schedule.steps[id];
    if (step.executor.rank != rank) continue;
    Json waits = Json::array();
    for (const Wait& wait : step.waits) {
      waits.push_back({{"step", wait.step},
                       {"lag", wait.lag},
                       {"rank", schedule.steps[wait.step].executor.rank.value()}});
    }
    steps.push_back({{"step", id},
                     {"kind", kind_name(step.kind)},
                     {"unit", unit_name(step.executor.unit)},
                     {"in", operands_of(step.in, schedule)},
                     {"out", operands_of(step.out, schedule)},
                     {"waits", std::move(waits)}});
  }
  return {{"rank", rank.value()},
          {"node", placement.node_of(rank).value()},
          {"local_rank", placement.local_rank(rank).value()},
          {"steps", std::move(steps)},
          {"exit_waits_for", schedule.exits[rank.index()]}};
}

Json proof_of(const Proof& proof, ff_type type) {
  if (!proof.status.ok()) return {{"ok", false}, {"text", proof.status.message()}};
  const Arithmetic& arithmetic = proof.of(type);
  return {{"ok", true},
          {"steps", proof.steps},
          {"waits", proof.waits},
          {"expression", fmt::format("{:016x}", arithmetic.expression)},
          {"rank_order", proof.rank_order},
          {"roundings", proof.roundings},
          {"same_for_any_size", arithmetic.uniform},
          {"same_for_any_layout", arithmetic.balanced}};
}

// One rank or core at a time would hide that nodes differ: each node has its line.
Json nodes_of(const Plan& plan, const PlannerSetting& setting, uint64_t count,
              uint64_t element_bytes) {
  const Placement& placement = setting.placement;
  const Partition partition(plan.schedule->layout, count, element_bytes, plan.piece_bytes);
  const std::vector<NodeLedger> bytes = ledger(*plan.schedule, placement, partition, element_bytes);
  Json list = Json::array();
  for (uint32_t node = 0; node < placement.nodes(); node++) {
    const NodeLedger& moved = bytes[node];
    const NodeBusy& busy = plan.timing.nodes[node];
    Picoseconds cores = 0;
    for (const Picoseconds core : busy.cores) cores += core;
    list.push_back({{"node", node},
                    {"ranks", placement.ranks_of(NodeId(node)).size()},
                    {"caller_read_bytes", moved.caller_read},
                    {"caller_written_bytes", moved.caller_written},
                    {"staging_read_bytes", moved.staging_read},
                    {"staging_written_bytes", moved.staging_written},
                    {"sent_bytes", moved.sent},
                    {"received_bytes", moved.received},
                    {"cores_busy_ns", in_ns(cores)},
                    {"memory_busy_ns", in_ns(busy.memory)},
                    {"sending_busy_ns", in_ns(busy.sending)},
                    {"receiving_busy_ns", in_ns(busy.receiving)}});
  }
  return list;
}

Result<std::string> explain(const ExplainRequest& request, Planner& planner) {
  const PlannerSetting& setting = planner.setting();
  const Placement& placement = setting.placement;
  if (request.rank >= placement.ranks()) {
    return Status(FF_ERROR_ARGUMENT,
                  fmt::format("rank={} of {} ranks", request.rank, placement.ranks()));
  }
  const uint64_t element_bytes = type_size(request.type);
  const uint64_t count = request.bytes / element_bytes;
  FF_ASSIGN_OR_RETURN(const Plan plan, planner.plan({count, request.type, request.op}));
  const Timing& timing = plan.timing;

  Json json;
  json["collective"] = "all_reduce";
  json["ranks"] = placement.ranks();
  json["node_count"] = placement.nodes();
  json["cpus_per_node"] = setting.cpus_per_node;
  json["bytes"] = request.bytes;
  json["count"] = count;
  json["type"] = type_name(request.type);
  json["op"] = op_name(request.op);
  json["numerics"] = numerics_name(setting.numerics);
  json["constants"] = {{"name", setting.constants.name},
                       {"hash", fmt::format("{:016x}", setting.constants.hash())}};
  json["algorithm"] = plan.algorithm->name;
  json["summary"] = plan.algorithm->summary;
  json["reason"] = plan.reason;
  json["predicted_ns"] = in_ns(timing.total);
  json["extrapolated"] = timing.extrapolated;
  json["blocks"] = plan.schedule->layout.blocks;
  json["parts"] = plan.schedule->layout.parts;
  json["chunks"] = timing.chunks;
  json["piece_bytes"] = plan.piece_bytes;
  json["slots"] = plan.slots;
  json["staging_bytes"] = plan.staging_bytes;
  json["bottleneck"] = {{"resource", bottleneck_name(timing.bottleneck)},
                        {"node", timing.bottleneck_node.value()},
                        {"core", timing.bottleneck_core},
                        {"busy_percent", timing.busiest_permille / 10.0},
                        {"text", timing.describe()}};
  json["candidates"] = candidates_of(plan);
  json["trees"] = trees_of(plan, placement);
  json["rank"] = steps_of(plan, placement, Rank(request.rank));
  json["proof"] = proof_of(planner.proof(plan), request.type);
  json["nodes"] = nodes_of(plan, setting, count, element_bytes);
  return json.dump();
}

Result<Constants> constants_of(const ExplainRequest& request) {
  if (request.constants_file.empty()) return shipped_constants(request.memory, request.network);
  if (!request.memory.empty() || !request.network.empty()) {
    return Status(FF_ERROR_ARGUMENT, "constants=FILE replaces memory= and network=: say one");
  }
  return load_constants(request.constants_file);
}

}  // namespace

Result<std::string> explain(std::string_view words) {
  FF_ASSIGN_OR_RETURN(ExplainRequest request, parse_explain_request(words, false));
  FF_ASSIGN_OR_RETURN(Constants constants, constants_of(request));
  const uint32_t ranks_a_node = (request.ranks + request.nodes - 1) / request.nodes;
  Planner planner({.placement = Placement::even(request.ranks, request.nodes),
                   .cpus_per_node = request.cpus.value_or(ranks_a_node),
                   .staging_bytes = request.staging_bytes.value_or(kDefaultStaging),
                   .constants = std::move(constants),
                   .overrides = request.overrides,
                   .numerics = request.numerics});
  return explain(request, planner);
}

Result<std::string> explain(std::string_view words, Planner& planner) {
  FF_ASSIGN_OR_RETURN(const ExplainRequest request, parse_explain_request(words, true));
  return explain(request, planner);
}

}  // namespace ff
