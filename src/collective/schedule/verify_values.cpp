// Values: one symbolic chunk is run and its results compared. That any order gives the same values,
// for any number of chunks, is what the other rules prove.
#include <bit>

#include "collective/schedule/verifier.hpp"

namespace ff {

Verifier::Value Verifier::value_of(const Operand& operand) {
  switch (operand.place) {
    case Place::kSend: {
      const Expressions::Id leaf = expressions_.leaf(operand.rank);
      return {leaf, leaf};
    }
    case Place::kRecv:
      return in_result_[place_of(operand.rank, operand.region)];
    case Place::kRing:
      break;
  }
  return in_ring_[operand.ring];
}

Status Verifier::compute() {
  in_ring_.assign(schedule_.rings.size(), {});
  in_result_.assign(schedule_.ranks * regions(), {});
  std::vector<Expressions::Id> wide, narrow;
  std::vector<Value> values;
  for (const StepId id : order_) {
    const Step& step = schedule_.steps[id];
    if (step.kind == StepKind::kEnter) continue;
    values.clear();
    wide.clear();
    narrow.clear();
    for (const Operand& in : step.in) {
      const Value value = value_of(in);
      if (!value.known()) {
        return broken("{} reads rank {}'s result, {}, before anyone has written it", name(id),
                      in.rank.value(), region_name(in.region));
      }
      values.push_back(value);
      wide.push_back(value.wide);
      narrow.push_back(value.narrow);
    }
    if (step.kind == StepKind::kReduce) {
      values.assign(1, {expressions_.tree(wide), expressions_.round(expressions_.tree(narrow))});
    }
    for (size_t i = 0; i < step.out.size(); i++) {
      const Operand& out = step.out[i];
      Value& place = out.place == Place::kRing ? in_ring_[out.ring]
                                               : in_result_[place_of(out.rank, out.region)];
      place = values[step.lanes() ? i : 0];
    }
  }
  return {};
}

Status Verifier::check_once(Expressions::Id result, Rank rank, Region region) const {
  // Rank order and the right number of leaves: each is there once. Otherwise count.
  const uint32_t ranks = schedule_.ranks;
  const bool right_count = expressions_.leaves(result) == ranks;
  if (right_count && expressions_.ascending(result)) return {};
  const std::vector<uint64_t> times = expressions_.occurrences(result, ranks);
  for (uint32_t from = 0; from < ranks; from++) {
    if (times[from] == 1) continue;
    return broken("rank {}'s result at {} holds rank {}'s input {} times", rank.value(),
                  region_name(region), from, times[from]);
  }
  return {};
}

Status Verifier::check_results(Proof& proof) {
  const Layout layout = schedule_.layout;
  const auto value_at = [&](uint32_t rank, uint32_t block, uint32_t part) -> const Value& {
    return in_result_[(size_t{rank} * layout.blocks + block) * layout.parts + part];
  };
  std::vector<Value> blocks;
  for (uint32_t block = 0; block < layout.blocks; block++) {
    for (uint32_t part = 0; part < layout.parts; part++) {
      const Region region = {static_cast<uint16_t>(block), static_cast<uint16_t>(part)};
      for (uint32_t rank = 0; rank < schedule_.ranks; rank++) {
        const Value& value = value_at(rank, block, part);
        if (!value.known()) {
          return broken("rank {} never gets its result at {}", rank, region_name(region));
        }
        const Value& first = value_at(0, block, part);
        if (value == first && rank > 0) continue;
        // A value of its own: is it at least a complete sum?
        FF_RETURN_IF_ERROR(check_once(value.wide, Rank(rank), region));
        if (value == first) continue;
        return broken("ranks 0 and {} add or round in different orders at {}", rank,
                      region_name(region));
      }
      if (value_at(0, block, part) != value_at(0, block, 0)) {
        return broken(
            "{} and part 0 are added or rounded in different orders: bits would depend on "
            "the chunk size",
            region_name(region));
      }
    }
    blocks.push_back(value_at(0, block, 0));
  }

  std::vector<Expressions::Id> inputs;
  for (uint32_t rank = 0; rank < schedule_.ranks; rank++) {
    inputs.push_back(expressions_.leaf(Rank(rank)));
  }
  const Expressions::Id balanced = expressions_.tree(inputs);
  const auto describe = [&](Expressions::Id Value::*member, Expressions::Id in_balance) {
    Arithmetic arithmetic;
    arithmetic.uniform = true;
    uint64_t all = 0;
    for (const Value& value : blocks) {
      if (value.*member != blocks[0].*member) arithmetic.uniform = false;
      all = std::rotl(all, 7) * 0x9e3779b97f4a7c15u + expressions_.hash(value.*member);
    }
    arithmetic.expression = arithmetic.uniform ? expressions_.hash(blocks[0].*member) : all;
    arithmetic.balanced = arithmetic.uniform && blocks[0].*member == in_balance;
    return arithmetic;
  };
  proof.wide = describe(&Value::wide, balanced);
  proof.narrow = describe(&Value::narrow, expressions_.round(balanced));
  proof.rank_order = true;
  for (const Value& value : blocks) {
    proof.rank_order = proof.rank_order && expressions_.ascending(value.wide);
    proof.roundings = std::max(proof.roundings, expressions_.roundings(value.narrow));
  }
  return {};
}

Proof Verifier::run() {
  Proof proof;
  proof.status = check_form();
  if (proof.status.ok()) proof.status = check_liveness();
  if (proof.status.ok()) proof.status = check_slots();
  if (proof.status.ok()) proof.status = check_reads();
  if (proof.status.ok()) proof.status = check_memory();
  if (proof.status.ok()) proof.status = check_nodes();
  if (proof.status.ok()) proof.status = compute();
  if (proof.status.ok()) proof.status = check_results(proof);
  proof.steps = schedule_.steps.size();
  for (const Step& step : schedule_.steps) proof.waits += step.waits.size();
  return proof;
}

Proof verify(const Schedule& schedule, const Placement& placement) {
  return Verifier(schedule, placement).run();
}

}  // namespace ff
