// Form: ids are in range, operands fit their step, and what derive() filled in is what the operands
// say. Later rules then need not look at malformed data.
#include <algorithm>

#include "collective/schedule/verifier.hpp"

namespace ff {
namespace {

const char* kind_name(StepKind kind) {
  switch (kind) {
    case StepKind::kCopy:
      return "copy";
    case StepKind::kReduce:
      return "reduce";
    case StepKind::kPut:
      return "put";
    case StepKind::kEnter:
      return "enter";
  }
  return "unknown kind";
}

}  // namespace

std::string Verifier::name(StepId id) const {
  const Step& step = schedule_.steps[id];
  return fmt::format("step {} ({} of rank {})", id, kind_name(step.kind),
                     step.executor.rank.value());
}

std::string Verifier::ring_name(RingId id) const {
  return fmt::format("ring {} (at rank {})", id, schedule_.rings[id].home.value());
}

std::string Verifier::region_name(Region region) {
  return fmt::format("block {} part {}", region.block, region.part);
}

Status Verifier::check_operand(StepId id, const Operand& operand, bool written) {
  if (operand.region.block >= schedule_.layout.blocks ||
      operand.region.part >= schedule_.layout.parts) {
    return broken("{} touches {}, but the layout has {} blocks of {} parts", name(id),
                  region_name(operand.region), schedule_.layout.blocks, schedule_.layout.parts);
  }
  switch (operand.place) {
    case Place::kRing:
      if (operand.ring < schedule_.rings.size()) return {};
      return broken("{} uses ring {} of {}", name(id), operand.ring, schedule_.rings.size());
    case Place::kSend:
      if (written) return broken("{} writes a send buffer", name(id));
      [[fallthrough]];
    case Place::kRecv:
      if (operand.rank.value() < schedule_.ranks) return {};
      return broken("{} uses a buffer of rank {} of {}", name(id), operand.rank.value(),
                    schedule_.ranks);
  }
  return broken("{} has an operand of unknown place", name(id));
}

Status Verifier::check_step_form(StepId id) {
  const Step& step = schedule_.steps[id];
  if (step.executor.rank.value() >= schedule_.ranks) {
    return broken("step {} belongs to rank {} of {}", id, step.executor.rank.value(),
                  schedule_.ranks);
  }
  for (const Wait& wait : step.waits) {
    if (wait.step >= schedule_.steps.size()) {
      return broken("{} waits for step {} of {}", name(id), wait.step, schedule_.steps.size());
    }
  }
  if (step.kind > StepKind::kEnter) {
    return broken("step {} is of unknown kind {}", id, static_cast<int>(step.kind));
  }
  if (step.kind == StepKind::kEnter) {
    if (!step.in.empty() || !step.out.empty()) return broken("{} has operands", name(id));
    if (!step.waits.empty()) return broken("{} waits, but only its caller fires it", name(id));
    StepId& enter = enters_[step.executor.rank.index()];
    if (enter != kNone) return broken("{} and {} are one rank's", name(enter), name(id));
    enter = id;
    return {};
  }
  const bool fits = step.kind == StepKind::kReduce ? !step.in.empty()
                    : step.lanes()                 ? step.in.size() == step.out.size()
                                                   : step.in.size() == 1;
  if (!fits || step.out.empty()) {
    return broken("{} has {} inputs and {} outputs", name(id), step.in.size(), step.out.size());
  }
  for (const Operand& operand : step.in) FF_RETURN_IF_ERROR(check_operand(id, operand, false));
  for (const Operand& operand : step.out) FF_RETURN_IF_ERROR(check_operand(id, operand, true));

  for (size_t i = 0; i < step.in.size(); i++) {
    const Region out = step.lanes() ? step.out[i].region : step.out[0].region;
    if (step.in[i].region != out) {
      return broken("{} carries {} to {}: values stay at their place in the vector", name(id),
                    region_name(step.in[i].region), region_name(out));
    }
  }
  // One firing writes a place once, and its lanes do not overwrite each other's inputs.
  std::vector<std::pair<size_t, size_t>> rings, results;  // place and index among the outputs
  for (size_t i = 0; i < step.out.size(); i++) {
    const Operand& out = step.out[i];
    if (!step.lanes() && out.region != step.out[0].region) {
      return broken("{} writes one value to {} and {}", name(id), region_name(step.out[0].region),
                    region_name(out.region));
    }
    if (out.place == Place::kRing) {
      rings.emplace_back(out.ring, i);
    } else {
      results.emplace_back(place_of(out.rank, out.region), i);
    }
  }
  for (auto* places : {&rings, &results}) {
    std::sort(places->begin(), places->end());
    for (size_t i = 1; i < places->size(); i++) {
      if ((*places)[i - 1].first == (*places)[i].first) {
        return broken("{} writes one place twice (outputs {} and {})", name(id),
                      (*places)[i - 1].second, (*places)[i].second);
      }
    }
  }
  for (size_t i = 0; step.lanes() && i < step.in.size(); i++) {
    if (step.in[i].place == Place::kRing) continue;
    const size_t place = place_of(step.in[i].rank, step.in[i].region);
    const auto found =
        std::lower_bound(results.begin(), results.end(), std::pair{place, size_t{0}});
    if (found != results.end() && found->first == place && found->second != i) {
      return broken("{}: lane {} overwrites what lane {} reads", name(id), found->second, i);
    }
  }
  return {};
}

Status Verifier::check_form() {
  if (schedule_.ranks == 0 || schedule_.ranks != placement_.ranks()) {
    return broken("the schedule has {} ranks, the placement {}", schedule_.ranks,
                  placement_.ranks());
  }
  if (regions() == 0) return broken("the layout is empty");
  enters_.assign(schedule_.ranks, kNone);
  for (StepId id = 0; id < schedule_.steps.size(); id++) FF_RETURN_IF_ERROR(check_step_form(id));
  FF_RETURN_IF_ERROR(check_rings());
  return check_exits();
}

// A ring has one writer and somebody who reads it, both of them those that it names; all pass the
// same region.
Status Verifier::check_rings() {
  const size_t count = schedule_.rings.size();
  std::vector<StepId> writer(count, kNone);
  std::vector<Region> region(count);
  std::vector<std::vector<StepId>> readers(count);
  for (StepId id = 0; id < schedule_.steps.size(); id++) {
    for (const Operand& out : schedule_.steps[id].out) {
      if (out.place != Place::kRing) continue;
      if (writer[out.ring] != kNone) {
        return broken("{} is written by {} and {}", ring_name(out.ring), name(writer[out.ring]),
                      name(id));
      }
      writer[out.ring] = id;
      region[out.ring] = out.region;
    }
  }
  for (StepId id = 0; id < schedule_.steps.size(); id++) {
    for (const Operand& in : schedule_.steps[id].in) {
      if (in.place != Place::kRing) continue;
      std::vector<StepId>& list = readers[in.ring];
      if (list.empty() || list.back() != id) list.push_back(id);
      if (writer[in.ring] != kNone && region[in.ring] != in.region) {
        return broken("{} reads {} from {}, where {} writes {}", name(id), region_name(in.region),
                      ring_name(in.ring), name(writer[in.ring]), region_name(region[in.ring]));
      }
    }
  }
  for (RingId id = 0; id < count; id++) {
    const Ring& ring = schedule_.rings[id];
    if (ring.home.value() >= schedule_.ranks || ring.slots == 0) {
      return broken("ring {} has {} slots at rank {} of {}", id, ring.slots, ring.home.value(),
                    schedule_.ranks);
    }
    if (writer[id] == kNone) return broken("nobody writes {}", ring_name(id));
    if (readers[id].empty()) {
      return broken("nobody reads {}, which {} writes", ring_name(id), name(writer[id]));
    }
    std::vector<StepId> named = ring.readers;
    std::sort(named.begin(), named.end());
    if (ring.writer != writer[id] || named != readers[id]) {
      return broken("{} does not name its writer and readers: derive() has not seen them",
                    ring_name(id));
    }
    for (const RingId other : {ring.partner, ring.result}) {
      if (other != kNone && (other >= count || other == id)) {
        return broken("{} shares slots with ring {}", ring_name(id), other);
      }
    }
  }
  return {};
}

Status Verifier::check_exits() {
  if (schedule_.exits.size() != schedule_.ranks) {
    return broken("exits are listed for {} ranks of {}", schedule_.exits.size(), schedule_.ranks);
  }
  std::vector<std::vector<StepId>> touching(schedule_.ranks);
  for (StepId id = 0; id < schedule_.steps.size(); id++) {
    const Step& step = schedule_.steps[id];
    for (const auto* operands : {&step.in, &step.out}) {
      for (const Operand& operand : *operands) {
        if (operand.place == Place::kRing || operand.rank == step.executor.rank) continue;
        std::vector<StepId>& list = touching[operand.rank.index()];
        if (list.empty() || list.back() != id) list.push_back(id);
      }
    }
  }
  for (uint32_t rank = 0; rank < schedule_.ranks; rank++) {
    std::vector<StepId> named = schedule_.exits[rank];
    std::sort(named.begin(), named.end());
    if (named != touching[rank]) {
      return broken("rank {} leaves after {} steps of others, but {} touch its buffers", rank,
                    named.size(), touching[rank].size());
    }
  }
  return {};
}

}  // namespace ff
