#include "planner/plan.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "base/data_type.hpp"
#include "planner/size_class.hpp"

namespace ff {
namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 56;

uint64_t round_up(uint64_t value, uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}
uint64_t divide_up(uint64_t value, uint64_t by) { return value / by + (value % by != 0 ? 1 : 0); }

// The smallest piece with which the whole vector is one chunk.
uint64_t whole_piece(const Layout& layout, uint64_t bytes) {
  const uint64_t lines =
      divide_up(divide_up(divide_up(bytes, kLineBytes), layout.blocks), layout.parts);
  return std::max<uint64_t>(lines, 1) * kLineBytes;
}

std::string layout_text(const Placement& placement) {
  return fmt::format("{} ranks on {} node{}", placement.ranks(), placement.nodes(),
                     placement.nodes() == 1 ? "" : "s");
}

}  // namespace

struct Planner::Built {
  Built(const Algorithm& algorithm, const PlannerSetting& setting, uint16_t slots)
      : schedule(std::make_shared<const Schedule>(algorithm.all_reduce(
            setting.placement,
            Shape{slots, static_cast<uint16_t>(setting.constants.plan.channels)}))),
        simulator(
            *schedule, setting.placement,
            Machine{setting.cpus_per_node, setting.constants.memory, setting.constants.network}) {
    std::vector<uint64_t> slots_of(setting.placement.ranks(), 0);
    for (const Ring& ring : schedule->rings) {
      if (ring.sharing != Sharing::kResult) slots_of[ring.home.index()] += ring.slots;
    }
    rank_slots = *std::max_element(slots_of.begin(), slots_of.end());
  }

  const Proof& proved(const Placement& placement);

  std::shared_ptr<const Schedule> schedule;
  Simulator simulator;
  uint64_t rank_slots = 0;  // of the rank that holds most
  std::optional<Proof> proof;
};

Planner::Planner(PlannerSetting setting) : setting_(std::move(setting)) {
  FF_CHECK(setting_.placement.ranks() >= 1 && setting_.cpus_per_node >= 1,
           "a group of ranks and their CPUs");
}
Planner::~Planner() = default;

Planner::Built& Planner::built(const Algorithm& algorithm, uint16_t slots) {
  std::unique_ptr<Built>& entry = built_[{algorithm.name, slots}];
  if (entry == nullptr) entry = std::make_unique<Built>(algorithm, setting_, slots);
  return *entry;
}

uint16_t Planner::slots_for(uint64_t chunks) const {
  if (setting_.overrides.slots != 0) return static_cast<uint16_t>(setting_.overrides.slots);
  if (chunks == 1) return 1;
  const PlanConstants& plan = setting_.constants.plan;
  if (setting_.placement.nodes() > 1) return static_cast<uint16_t>(plan.slots_network);
  return static_cast<uint16_t>(setting_.placement.ranks() <= setting_.cpus_per_node
                                   ? plan.slots_own_core
                                   : plan.slots_shared_core);
}

// From large to small.
std::vector<uint64_t> Planner::pieces(const Layout& layout, uint64_t bytes) const {
  const uint64_t whole = whole_piece(layout, bytes);
  if (const uint64_t chunk = setting_.overrides.chunk_bytes; chunk != 0) {
    return {std::min(whole, round_up(divide_up(chunk, layout.parts), kLineBytes))};
  }
  std::vector<uint64_t> list = {whole};
  uint64_t piece = kLineBytes;
  while (piece < whole && piece < setting_.staging_bytes) piece *= 2;
  for (; piece >= kLineBytes; piece /= 2) {
    if (piece < whole) list.push_back(piece);
  }
  return list;
}

Candidate Planner::evaluate(const Algorithm& algorithm, const CallSize& vector) {
  Candidate best;
  best.algorithm = &algorithm;
  const uint64_t bytes = vector.count * vector.element_bytes;
  const Layout layout = built(algorithm, slots_for(1)).schedule->layout;
  uint64_t least_chunk = 0, least_needed = 0;
  for (const uint64_t piece : pieces(layout, bytes)) {
    CallSize call = vector;
    call.piece_bytes = piece;
    // Small ones only where staging leaves no choice.
    if (best.piece_bytes != 0 && piece * layout.parts < setting_.constants.plan.least_chunk_bytes) {
      break;
    }
    const uint64_t chunks = Partition(layout, call.count, call.element_bytes, piece).chunks();
    if (chunks > kMaxChunks) break;  // and so are all smaller pieces
    Built& with = built(algorithm, slots_for(chunks));
    least_chunk = piece * layout.parts;
    least_needed = with.rank_slots * piece;
    if (least_needed > setting_.staging_bytes) continue;
    Timing timing = with.simulator.run(call);
    if (best.piece_bytes == 0 || timing.total < best.timing.total) {
      best.piece_bytes = piece;
      best.slots = slots_for(chunks);
      best.timing = std::move(timing);
    } else if (timing.total / 5 > best.timing.total / 4) {
      break;  // overhead has taken over: smaller pieces are slower still
    }
  }
  if (best.piece_bytes != 0) return best;
  best.why_not = least_chunk != 0
                     ? fmt::format("needs {} of staging a rank, for chunks of {}; there are {}",
                                   format_bytes(least_needed), format_bytes(least_chunk),
                                   format_bytes(setting_.staging_bytes))
                     : fmt::format("{} are more than {} chunks of what staging holds",
                                   format_bytes(bytes), kMaxChunks);
  return best;
}

const Proof& Planner::Built::proved(const Placement& placement) {
  if (!proof) proof = verify(*schedule, placement);
  return *proof;
}

const Proof& Planner::proof(const Plan& plan) {
  return built(*plan.algorithm, plan.slots).proved(setting_.placement);
}

// The algorithm whose expression FF_NUMERICS_ANY_SIZE keeps to: one for all sizes.
const Algorithm* Planner::pinned(ff_type type) {
  const auto known = pinned_.find(is_narrow_floating(type));
  if (known != pinned_.end()) return known->second;
  const CallSize vector = {.count = kPinBytes / type_size(type), .element_bytes = type_size(type)};
  const Algorithm* fastest = nullptr;
  Picoseconds least = 0;
  for (const Algorithm* algorithm : algorithms()) {
    if (!algorithm->applies(setting_.placement)) continue;
    if (!setting_.overrides.algorithm.empty() && setting_.overrides.algorithm != algorithm->name) {
      continue;
    }
    const Proof& proof = built(*algorithm, slots_for(1)).proved(setting_.placement);
    if (!proof.status.ok() || !proof.of(type).uniform) continue;
    const Candidate candidate = evaluate(*algorithm, vector);
    if (!candidate.why_not.empty()) continue;
    if (fastest != nullptr && candidate.timing.total >= least) continue;
    fastest = algorithm;
    least = candidate.timing.total;
  }
  return pinned_[is_narrow_floating(type)] = fastest;
}

// Why the algorithm's bits are not what was asked for; empty if they are.
std::string Planner::unfit(const Algorithm& algorithm, const PlanRequest& request) {
  if (setting_.numerics == FF_NUMERICS_DEFAULT) return {};
  const Proof& proof = built(algorithm, slots_for(1)).proved(setting_.placement);
  if (!proof.status.ok()) return proof.status.message();
  const Arithmetic& arithmetic = proof.of(request.type);
  if (setting_.numerics == FF_NUMERICS_ANY_LAYOUT) {
    return arithmetic.balanced && arithmetic.uniform
               ? std::string()
               : "its bits depend on how ranks are spread over nodes";
  }
  if (!arithmetic.uniform) return "its bits depend on the size";
  const Algorithm* pin = pinned(request.type);
  if (pin == nullptr || pin == &algorithm) return {};
  const Proof& kept = built(*pin, slots_for(1)).proved(setting_.placement);
  return arithmetic.expression == kept.of(request.type).expression
             ? std::string()
             : fmt::format("other bits than {}, which all sizes keep to", pin->name);
}

Result<Plan> Planner::plan(const PlanRequest& request) {
  const uint64_t element_bytes = type_size(request.type);
  if (element_bytes == 0 || op_name(request.op) == nullptr) {
    return Status(FF_ERROR_ARGUMENT, fmt::format("unknown type {} or operation {}",
                                                 static_cast<int>(request.type), request.op));
  }
  if (request.count > kMostBytes / element_bytes) {
    return Status(FF_ERROR_ARGUMENT,
                  fmt::format("a vector of {} elements of {} bytes is larger "
                              "than {}",
                              request.count, element_bytes, format_bytes(kMostBytes)));
  }
  const Overrides& overrides = setting_.overrides;
  if (overrides.slots > UINT16_MAX) {
    return Status(FF_ERROR_ARGUMENT,
                  fmt::format("slots={}: at most {}", overrides.slots, UINT16_MAX));
  }
  const Algorithm* forced = nullptr;
  if (!overrides.algorithm.empty()) {
    FF_ASSIGN_OR_RETURN(forced, find_algorithm(overrides.algorithm));
    if (!forced->applies(setting_.placement)) {
      return Status(FF_ERROR_ARGUMENT, fmt::format("algorithm={} cannot run {}", forced->name,
                                                   layout_text(setting_.placement)));
    }
  }

  // Plan for the largest size of the class, so that all sizes of it share the plan.
  const uint64_t bytes = largest_of_class(size_class(request.count * element_bytes));
  const CallSize vector = {.count = divide_up(bytes, element_bytes),
                           .element_bytes = element_bytes};

  Plan plan;
  const Candidate* best = nullptr;
  const Candidate* second = nullptr;
  bool fits_numerics = true;
  plan.candidates.reserve(algorithms().size());
  for (const Algorithm* algorithm : algorithms()) {
    Candidate candidate;
    if (!algorithm->applies(setting_.placement)) {
      candidate.why_not = fmt::format("cannot run {}", layout_text(setting_.placement));
    } else if (forced != nullptr && forced != algorithm) {
      candidate.why_not = fmt::format("algorithm={} was asked for", forced->name);
    } else if (std::string why = unfit(*algorithm, request); !why.empty()) {
      candidate.why_not = std::move(why);
      fits_numerics = false;
    } else {
      candidate = evaluate(*algorithm, vector);
    }
    candidate.algorithm = algorithm;
    plan.candidates.push_back(std::move(candidate));
    const Candidate* last = &plan.candidates.back();
    if (!last->why_not.empty()) continue;
    if (best == nullptr || last->timing.total < best->timing.total) std::swap(best, last);
    if (last != nullptr && (second == nullptr || last->timing.total < second->timing.total)) {
      second = last;
    }
  }
  if (best == nullptr) {
    std::string reasons;
    for (const Candidate& candidate : plan.candidates) {
      if (forced != nullptr && forced != candidate.algorithm) continue;
      reasons += fmt::format("; {}: {}", candidate.algorithm->name, candidate.why_not);
    }
    const bool asked = forced != nullptr || overrides.chunk_bytes != 0 || overrides.slots != 0;
    const ff_status code = asked            ? FF_ERROR_ARGUMENT
                           : !fits_numerics ? FF_ERROR_UNSUPPORTED
                                            : FF_ERROR_RESOURCE;
    return Status(code, fmt::format("no way to reduce {} over {}{}", format_bytes(bytes),
                                    layout_text(setting_.placement), reasons));
  }

  Built& chosen = built(*best->algorithm, best->slots);
  plan.algorithm = best->algorithm;
  plan.schedule = chosen.schedule;
  plan.piece_bytes = best->piece_bytes;
  plan.slots = best->slots;
  plan.staging_bytes = chosen.rank_slots * best->piece_bytes;
  plan.timing = best->timing;
  if (forced != nullptr) {
    plan.reason = fmt::format("algorithm={} was asked for", forced->name);
  } else if (second == nullptr) {
    plan.reason = fmt::format("the only one that can run {}", layout_text(setting_.placement));
  } else {
    plan.reason =
        fmt::format("least predicted time: {}, before {} with {}", format_time(best->timing.total),
                    second->algorithm->name, format_time(second->timing.total));
  }
  return plan;
}

}  // namespace ff
