#include "collective/algorithm/random_execution.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace ff {
namespace {

uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 31)) * 0x7fb5d329728ea185u;
  x = (x ^ (x >> 27)) * 0x81dadef4bc2dd44du;
  return x ^ (x >> 33);
}

}  // namespace

RandomExecution::RandomExecution(const Schedule& schedule, const Placement& placement)
    : schedule_(schedule),
      placement_(placement),
      regions_(size_t{schedule.layout.blocks} * schedule.layout.parts),
      left_by_(schedule.steps.size()),
      work_(schedule.ranks, 0),
      arrivals_of_(schedule.steps.size()) {
  for (const Ring& ring : schedule.rings) {
    slot_stride_ = std::max<size_t>(slot_stride_, 2u * ring.slots);
  }
  for (StepId id = 0; id < schedule.steps.size(); id++) {
    const Step& step = schedule.steps[id];
    left_by_[id].push_back(step.executor.rank.value());
    work_[step.executor.rank.index()]++;
    if (step.kind != StepKind::kPut) continue;
    for (uint32_t i = 0; i < step.out.size(); i++) {
      arrivals_of_[id].push_back(arrivals_.size());
      const Operand& out = step.out[i];
      const Rank home = out.place == Place::kRing ? schedule.rings[out.ring].home : out.rank;
      arrivals_.push_back({id, i, placement.node_of(home), 0, {}});
    }
  }
  for (uint32_t rank = 0; rank < schedule.exits.size(); rank++) {
    for (const StepId id : schedule.exits[rank]) {
      left_by_[id].push_back(rank);
      work_[rank]++;
    }
  }
}

uint64_t RandomExecution::random() {
  state_ += 0x9e3779b97f4a7c15u;
  return mix(state_);
}

RandomExecution::Value RandomExecution::input(uint32_t rank, size_t region, uint32_t chunk) const {
  const uint64_t value = mix(mix(mix(rank + 1u) + region) + chunk);
  return {value, ~value};
}

RandomExecution::Value RandomExecution::reduced(const std::vector<Value>& values, size_t first,
                                                size_t count) const {
  if (count == 1) return values[first];
  const size_t split = std::bit_floor(count - 1);
  const Value left = reduced(values, first, split);
  const Value right = reduced(values, first + split, count - split);
  return {left.sum + right.sum, mix(left.order + 3 * mix(right.order))};
}

size_t RandomExecution::region_of(const Operand& operand) const {
  return size_t{operand.region.block} * schedule_.layout.parts + operand.region.part;
}

// Chunks are counted over all calls. Own slots begin anew with each call; swapped ones cannot, for
// whose turn it is to write which follows from the chunks before.
RandomExecution::Value& RandomExecution::at(const Operand& operand, uint32_t chunk) {
  if (operand.place != Place::kRing) {
    std::vector<Value>& buffer = operand.place == Place::kSend || in_place_ ? send_ : recv_;
    return buffer[(operand.rank.index() * regions_ + region_of(operand)) * total_ + chunk];
  }
  const Ring& ring = schedule_.rings[operand.ring];
  const uint32_t in_call = chunk % chunks_;
  switch (ring.sharing) {
    case Sharing::kResult:
      return slots_[ring.partner * slot_stride_ + in_call % ring.slots];
    case Sharing::kSwap: {
      const bool second = operand.ring > ring.partner;
      const uint32_t turn = (chunk / ring.slots + (second ? 1 : 0)) % 2;
      return slots_[std::min(operand.ring, ring.partner) * slot_stride_ +
                    size_t{chunk % ring.slots} * 2 + turn];
    }
    case Sharing::kOwn:
      break;
  }
  return slots_[operand.ring * slot_stride_ + in_call % ring.slots];
}

uint32_t RandomExecution::visible(StepId id, NodeId node) const {
  const NodeId here = placement_.node_of(schedule_.steps[id].executor.rank);
  uint32_t seen = fired_[id];
  if (here == node) return seen;
  for (const size_t i : arrivals_of_[id]) {
    if (arrivals_[i].node == node) seen = std::min(seen, arrivals_[i].arrived);
  }
  return seen;
}

bool RandomExecution::enter_call(uint32_t rank) {
  if (entered_[rank] == calls_ || entered_[rank] != over_[rank]) return false;
  const uint32_t call = entered_[rank]++;
  for (size_t region = 0; region < regions_; region++) {
    for (uint32_t chunk = call * chunks_; chunk < (call + 1) * chunks_; chunk++) {
      send_[(rank * regions_ + region) * total_ + chunk] = input(rank, region, chunk);
    }
  }
  if (work_[rank] == 0) count_down(rank, call);
  return true;
}

void RandomExecution::read_inputs(StepId id, uint32_t chunk) {
  for (const Operand& in : schedule_.steps[id].in) inputs_[id].push_back(at(in, chunk));
}

bool RandomExecution::fire(StepId id) {
  const Step& step = schedule_.steps[id];
  const uint32_t chunk = fired_[id];
  if (chunk == total_) return false;
  if (!begun_[id]) {
    const uint32_t call = chunk / chunks_;
    if (entered_[step.executor.rank.index()] <= call) return false;
    const NodeId node = placement_.node_of(step.executor.rank);
    for (const Wait& wait : step.waits) {
      if (wait.lag > chunk - call * chunks_) continue;
      if (visible(wait.step, node) < chunk - wait.lag + 1) return false;
    }
    begun_[id] = 1;
    if (random() % 2 == 0) read_inputs(id, chunk);
    for (const Operand& out : step.out) {
      Value& value = at(out, chunk);
      const bool in_place = std::any_of(step.in.begin(), step.in.end(), [&](const Operand& in) {
        return &at(in, chunk) == &value;
      });
      if (!in_place) value = garbage();
    }
    return true;
  }
  std::vector<Value>& values = inputs_[id];
  if (values.empty()) read_inputs(id, chunk);
  for (uint32_t i = 0; i < step.out.size(); i++) {
    const Value value = step.lanes() ? values[i] : reduced(values, 0, values.size());
    if (step.kind == StepKind::kPut) {
      arrivals_[arrivals_of_[id][i]].sent[chunk] = value;
    } else {
      at(step.out[i], chunk) = value;
    }
  }
  values.clear();
  begun_[id] = 0;
  fired_[id]++;
  has_fired(id);
  return true;
}

bool RandomExecution::arrive(Arrival& arrival) {
  if (arrival.arrived == fired_[arrival.step]) return false;
  at(schedule_.steps[arrival.step].out[arrival.output], arrival.arrived) =
      arrival.sent[arrival.arrived];
  arrival.arrived++;
  return true;
}

void RandomExecution::has_fired(StepId id) {
  if (fired_[id] % chunks_ != 0) return;
  const uint32_t call = fired_[id] / chunks_ - 1;
  for (const uint32_t rank : left_by_[id]) count_down(rank, call);
}

void RandomExecution::count_down(uint32_t rank, uint32_t call) {
  if (work_[rank] != 0 && --work_left_[rank][call] != 0) return;
  over_[rank] = std::max(over_[rank], call + 1);
  open_--;
  for (size_t region = 0; region < regions_; region++) {
    for (uint32_t chunk = call * chunks_; chunk < (call + 1) * chunks_; chunk++) {
      const size_t place = (rank * regions_ + region) * total_ + chunk;
      Value& result = (in_place_ ? send_ : recv_)[place];
      Value expected;
      for (uint32_t from = 0; from < schedule_.ranks; from++) {
        expected.sum += input(from, region, chunk).sum;
      }
      // The order need only be the same on all ranks: the first to be over sets it, in a row of its
      // own behind the last rank's.
      Value& first = recv_[(schedule_.ranks * regions_ + region) * total_ + chunk];
      if (first == Value()) first = result;
      if (result.sum != expected.sum || result.order != first.order) wrong_ = true;
      result = garbage();
      send_[place] = garbage();
    }
  }
}

bool RandomExecution::act(size_t actor) {
  if (actor < schedule_.steps.size()) return fire(static_cast<StepId>(actor));
  actor -= schedule_.steps.size();
  if (actor < schedule_.ranks) return enter_call(static_cast<uint32_t>(actor));
  return arrive(arrivals_[actor - schedule_.ranks]);
}

RandomExecution::Outcome RandomExecution::run(uint64_t seed, uint32_t chunks, uint32_t calls) {
  const size_t steps = schedule_.steps.size();
  state_ = seed * 2 + 1;
  chunks_ = chunks;
  calls_ = calls;
  total_ = chunks * calls;
  in_place_ = random() % 2 == 0;
  wrong_ = false;
  open_ = size_t{schedule_.ranks} * calls;
  slots_.assign(schedule_.rings.size() * slot_stride_, {});
  send_.assign(schedule_.ranks * regions_ * total_, {});
  recv_.assign((schedule_.ranks + 1) * regions_ * total_, {});
  for (Value& value : slots_) value = garbage();
  for (Value& value : send_) value = garbage();
  for (size_t i = 0; i < schedule_.ranks * regions_ * total_; i++) recv_[i] = garbage();
  fired_.assign(steps, 0);
  begun_.assign(steps, 0);
  inputs_.assign(steps, {});
  entered_.assign(schedule_.ranks, 0);
  over_.assign(schedule_.ranks, 0);
  work_left_.assign(schedule_.ranks, {});
  for (uint32_t rank = 0; rank < schedule_.ranks; rank++) {
    work_left_[rank].assign(calls, work_[rank]);
  }
  for (Arrival& arrival : arrivals_) {
    arrival.arrived = 0;
    arrival.sent.assign(total_, {});
  }

  // Either every actor has the same chance, or some starve: they act only when no other can.
  const size_t actors = steps + schedule_.ranks + arrivals_.size();
  priority_.resize(actors);
  std::iota(priority_.begin(), priority_.end(), size_t{0});
  const bool starve = random() % 2 == 0;
  for (size_t i = actors; starve && i > 1; i--) {
    std::swap(priority_[i - 1], priority_[random() % i]);
  }
  while (open_ > 0) {
    const size_t start = starve && random() % 4 != 0 ? 0 : random() % actors;
    size_t tried = 0;
    while (tried < actors && !act(priority_[(start + tried) % actors])) tried++;
    if (tried == actors) return Outcome::kDeadlock;
  }
  return wrong_ ? Outcome::kWrong : Outcome::kRight;
}

}  // namespace ff
