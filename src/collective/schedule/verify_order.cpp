// Order: no deadlock, safe slots, ordered reads, no race on callers' memory, nodes.
//
// "Reachable" means by lag-0 waits: where a path leads from step a to step b, a has fired on chunk
// k whenever b may. Most pairs that the rules ask for are joined by one wait; only for the others
// the graph is searched, backwards from b and no further than a's place in a topological order.
#include <algorithm>

#include "collective/schedule/order.hpp"
#include "collective/schedule/verifier.hpp"

namespace ff {

// A marked graph is live exactly if each of its cycles holds a token, and only waits with lag hold
// any. So a schedule can deadlock, for some number of chunks, only if lag-0 waits form a cycle.
Status Verifier::check_liveness() {
  const size_t count = schedule_.steps.size();
  order_ = firing_order(schedule_);
  position_.assign(count, kNone);
  for (size_t i = 0; i < order_.size(); i++) position_[order_[i]] = static_cast<uint32_t>(i);
  seen_.assign(count, 0);
  if (order_.size() == count) return {};

  // Every step that has no position waits for another such: walk until one comes again.
  StepId at = 0;
  while (position_[at] != kNone) at++;
  const auto blocker = [&](StepId id) {
    for (const Wait& wait : schedule_.steps[id].waits) {
      if (wait.lag == 0 && position_[wait.step] == kNone) return wait.step;
    }
    return id;
  };
  for (size_t i = 0; i < count; i++) at = blocker(at);
  std::string cycle = name(at);
  StepId next = blocker(at);
  for (size_t shown = 0; next != at && shown < 8; shown++, next = blocker(next)) {
    cycle += ", that for " + name(next);
  }
  return broken("deadlock: {}, that for {}, with no chunk between them", cycle, name(next));
}

bool Verifier::search(StepId from, StepId to, bool arrival) {
  searches_++;
  todo_.assign(1, to);
  while (!todo_.empty()) {
    const StepId at = todo_.back();
    todo_.pop_back();
    for (const Wait& wait : schedule_.steps[at].waits) {
      if (wait.lag != 0) continue;
      if (wait.step == from) {
        if (!arrival || node_of(at) == node_of(to)) return true;
      } else if (position_[wait.step] > position_[from] && seen_[wait.step] != searches_) {
        seen_[wait.step] = searches_;
        todo_.push_back(wait.step);
      }
    }
  }
  return false;
}

bool Verifier::reaches(StepId from, StepId to) { return search(from, to, false); }

// What a put has sent is there once a step of the destination has seen it arrive. On its own node
// the same counter only says that the source may be overwritten.
bool Verifier::data_reaches(StepId writer, StepId reader) {
  return search(writer, reader, schedule_.steps[writer].kind == StepKind::kPut);
}

Status Verifier::check_sharing(RingId id) {
  const Ring& ring = schedule_.rings[id];
  if (ring.result != kNone) {
    const Ring& result = schedule_.rings[ring.result];
    if (result.sharing != Sharing::kResult || result.partner != id) {
      return broken("{} names {} as its result, which lies elsewhere", ring_name(id),
                    ring_name(ring.result));
    }
  }
  if (ring.sharing == Sharing::kOwn) return {};
  if (ring.partner == kNone) return broken("{} shares slots with nobody", ring_name(id));
  const Ring& partner = schedule_.rings[ring.partner];
  if (home_of(id) != home_of(ring.partner) || ring.slots != partner.slots) {
    return broken("{} and {} share slots, but they have {} and {}, on nodes {} and {}",
                  ring_name(id), ring_name(ring.partner), ring.slots, partner.slots,
                  home_of(id).value(), home_of(ring.partner).value());
  }
  if (ring.sharing == Sharing::kSwap) {
    if (partner.sharing == Sharing::kSwap && partner.partner == id) return {};
    return broken("{} swaps slots with {}, which does not swap with it", ring_name(id),
                  ring_name(ring.partner));
  }
  if (partner.sharing != Sharing::kOwn || partner.result != id) {
    return broken("{} lies over {}, which is not its contribution", ring_name(id),
                  ring_name(ring.partner));
  }
  // In place: whoever writes the result alone reads the contribution, element by element.
  const Step& writer = schedule_.steps[ring.writer];
  if (partner.readers.size() != 1 || partner.readers[0] != ring.writer) {
    return broken(
        "{} overwrites {}, which {} reads", name(ring.writer), ring_name(ring.partner),
        name(partner.readers[0] != ring.writer ? partner.readers[0] : partner.readers.back()));
  }
  if (writer.lanes() || writer.kind == StepKind::kPut) {
    return broken("{} cannot write {} over its own input {}", name(ring.writer), ring_name(id),
                  ring_name(ring.partner));
  }
  return {};
}

Status Verifier::check_slots() {
  for (RingId id = 0; id < schedule_.rings.size(); id++) FF_RETURN_IF_ERROR(check_sharing(id));

  std::vector<uint32_t> lag(schedule_.steps.size(),
                            0);  // the least above 0 with which a step waits
  for (StepId id = 0; id < schedule_.steps.size(); id++) {
    const Step& step = schedule_.steps[id];
    for (const Wait& wait : step.waits) {
      if (wait.lag > 0 && (lag[wait.step] == 0 || wait.lag < lag[wait.step])) {
        lag[wait.step] = wait.lag;
      }
    }
    for (const Operand& out : step.out) {
      if (out.place != Place::kRing) continue;
      const uint32_t slots = schedule_.rings[out.ring].slots;
      for (const StepId reader : schedule_.freed_by(out.ring)) {
        if (lag[reader] > 0 && lag[reader] <= slots) continue;
        if (lag[reader] == 0) {
          return broken("{} may overwrite a slot of {} that {} has not read: no wait with lag",
                        name(id), ring_name(out.ring), name(reader));
        }
        return broken("{} may overwrite a slot of {} that {} has not read: lag {}, slots {}",
                      name(id), ring_name(out.ring), name(reader), lag[reader], slots);
      }
    }
    for (const Wait& wait : step.waits) lag[wait.step] = 0;
  }
  return {};
}

Status Verifier::check_reads() {
  std::vector<StepId> waiter(schedule_.steps.size(), kNone);  // whom this step waits for directly
  for (StepId id = 0; id < schedule_.steps.size(); id++) {
    for (const Wait& wait : schedule_.steps[id].waits) {
      if (wait.lag == 0) waiter[wait.step] = id;
    }
    for (const Operand& in : schedule_.steps[id].in) {
      if (in.place != Place::kRing) continue;
      const StepId writer = schedule_.rings[in.ring].writer;
      if (waiter[writer] == id || data_reaches(writer, id)) continue;
      return broken("{} may read {} before {} has written it", name(id), ring_name(in.ring),
                    name(writer));
    }
  }
  return {};
}

// Send and recv may be the same buffer. So an input must be read before its place is overwritten, a
// result after; and where there are several writes, all agree on their order.
Status Verifier::check_memory() {
  enum class Use : uint8_t { kInput, kResult, kWrite };
  struct Access {
    size_t place;
    StepId step;
    Use use;
  };
  std::vector<Access> accesses;
  for (StepId id = 0; id < schedule_.steps.size(); id++) {
    const Step& step = schedule_.steps[id];
    const auto add = [&](const Operand& operand, bool written) -> Status {
      if (operand.place == Place::kRing) return {};
      accesses.push_back({place_of(operand.rank, operand.region), id,
                          written                         ? Use::kWrite
                          : operand.place == Place::kSend ? Use::kInput
                                                          : Use::kResult});
      if (operand.rank == step.executor.rank) return {};
      if (written) {
        return broken("{} writes rank {}'s buffer: only its owner may", name(id),
                      operand.rank.value());
      }
      if (placement_.node_of(operand.rank) != node_of(id)) {
        return broken("{} reads rank {}'s buffer on another node", name(id), operand.rank.value());
      }
      const StepId enter = enters_[operand.rank.index()];
      if (enter == kNone || !reaches(enter, id)) {
        return broken("{} may read rank {}'s buffer before that rank has called", name(id),
                      operand.rank.value());
      }
      return {};
    };
    for (const Operand& operand : step.in) FF_RETURN_IF_ERROR(add(operand, false));
    for (const Operand& operand : step.out) FF_RETURN_IF_ERROR(add(operand, true));
  }
  std::stable_sort(accesses.begin(), accesses.end(),
                   [](const Access& a, const Access& b) { return a.place < b.place; });

  for (size_t first = 0, last = 0; first < accesses.size(); first = last) {
    while (last < accesses.size() && accesses[last].place == accesses[first].place) last++;
    for (size_t w = first; w < last; w++) {
      const Access& write = accesses[w];
      if (write.use != Use::kWrite) continue;
      for (size_t o = first; o < last; o++) {
        const Access& other = accesses[o];
        if (other.step == write.step || (other.use == Use::kWrite && o < w)) continue;
        if (reaches(other.step, write.step)) continue;
        if (other.use != Use::kInput && reaches(write.step, other.step)) continue;
        const Operand& out = schedule_.steps[write.step].out[0];
        return broken(
            "{} and {} race on a buffer: the first may overwrite in place what the second {} "
            "(first output: rank {}, {})",
            name(write.step), name(other.step),
            other.use == Use::kWrite   ? "writes"
            : other.use == Use::kInput ? "reads as input"
                                       : "reads",
            out.rank.value(), region_name(out.region));
      }
    }
  }
  return {};
}

Status Verifier::check_place(StepId id) const {
  const Step& step = schedule_.steps[id];
  const bool put = step.kind == StepKind::kPut;
  for (const Operand& in : step.in) {
    if (in.place != Place::kRing || home_of(in.ring) == node_of(id)) continue;
    return broken("{} on node {} reads {} on node {}", name(id), node_of(id).value(),
                  ring_name(in.ring), home_of(in.ring).value());
  }
  for (const Operand& out : step.out) {
    if (out.place != Place::kRing) {
      if (put) return broken("{} writes a caller's buffer: a put fills rings", name(id));
    } else if (put == (home_of(out.ring) == node_of(id))) {
      return broken("{} on node {} writes {} on node {}: puts cross nodes, nothing else does",
                    name(id), node_of(id).value(), ring_name(out.ring), home_of(out.ring).value());
    }
  }
  return {};
}

Status Verifier::check_nodes() {
  const size_t count = schedule_.steps.size();
  for (StepId id = 0; id < count; id++) FF_RETURN_IF_ERROR(check_place(id));

  // For each step the last one to which a ring joins it: by its data, by the slots that it frees.
  std::vector<StepId> source(count, kNone), freed(count, kNone);
  for (StepId id = 0; id < count; id++) {
    const Step& step = schedule_.steps[id];
    for (const Operand& in : step.in) {
      if (in.place == Place::kRing) source[schedule_.rings[in.ring].writer] = id;
    }
    for (const Operand& out : step.out) {
      if (step.kind != StepKind::kPut) continue;
      for (const StepId reader : schedule_.freed_by(out.ring)) freed[reader] = id;
    }
    for (const Wait& wait : step.waits) {
      if (node_of(wait.step) == node_of(id)) continue;
      const bool backed = wait.lag == 0 ? source[wait.step] == id : freed[wait.step] == id;
      if (!backed) {
        return broken("{} on node {} waits for {} on node {}, and no ring between them tells it",
                      name(id), node_of(id).value(), name(wait.step), node_of(wait.step).value());
      }
    }
  }
  return {};
}

}  // namespace ff
