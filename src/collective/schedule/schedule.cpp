#include "collective/schedule/schedule.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.hpp"
#include "collective/schedule/order.hpp"

namespace ff {
namespace {

// One place in a caller's memory. Send and recv may be one buffer, so they are one place here.
using CallerPlace = std::pair<Rank, Region>;
CallerPlace caller_place(const Operand& operand) { return {operand.rank, operand.region}; }

void add_wait(Step& step, StepId on, uint32_t lag) {
  const Wait wait = {on, lag};
  if (std::find(step.waits.begin(), step.waits.end(), wait) == step.waits.end()) {
    step.waits.push_back(wait);
  }
}

}  // namespace

RingId Schedule::add_ring(Rank home, uint32_t slots) {
  FF_CHECK(slots >= 1 && slots <= UINT16_MAX, "a ring has 1 to 65,535 slots");
  Ring& ring = rings.emplace_back();
  ring.home = home;
  ring.slots = static_cast<uint16_t>(slots);
  return static_cast<RingId>(rings.size() - 1);
}

RingId Schedule::add_result_over(RingId contribution, Rank home) {
  const RingId id = add_ring(home, rings[contribution].slots);
  rings[id].sharing = Sharing::kResult;
  rings[id].partner = contribution;
  rings[contribution].result = id;
  return id;
}

void Schedule::swap_slots(RingId a, RingId b) {
  rings[a].sharing = rings[b].sharing = Sharing::kSwap;
  rings[a].partner = b;
  rings[b].partner = a;
}

StepId Schedule::add_step(StepKind kind, Executor executor, std::vector<Operand> in,
                          std::vector<Operand> out) {
  steps.push_back({kind, executor, std::move(in), std::move(out), {}});
  return static_cast<StepId>(steps.size() - 1);
}

std::span<const StepId> Schedule::freed_by(RingId id) const {
  const Ring& ring = rings[id];
  switch (ring.sharing) {
    case Sharing::kResult:
      return {};  // its contribution's writer has waited already
    case Sharing::kSwap:
      return rings[ring.partner].readers;
    case Sharing::kOwn:
      break;
  }
  return ring.result != kNone ? rings[ring.result].readers : ring.readers;
}

void Schedule::derive() {
  std::map<CallerPlace, StepId> result_writer;
  std::map<CallerPlace, std::vector<StepId>> input_readers;
  std::map<Rank, StepId> enters;
  exits.assign(ranks, {});

  for (StepId id = 0; id < steps.size(); id++) {
    for (const Operand& operand : steps[id].in) {
      if (operand.place == Place::kRing) {
        std::vector<StepId>& readers = rings[operand.ring].readers;
        if (readers.empty() || readers.back() != id) readers.push_back(id);
      } else if (operand.place == Place::kSend) {
        input_readers[caller_place(operand)].push_back(id);
      }
    }
    for (const Operand& operand : steps[id].out) {
      if (operand.place == Place::kRing) {
        FF_CHECK(rings[operand.ring].writer == kNone, "one step writes a ring");
        rings[operand.ring].writer = id;
      } else {
        FF_CHECK(operand.place == Place::kRecv, "send buffers are never written");
        result_writer[caller_place(operand)] = id;
      }
    }
  }

  const auto enter_of = [&](Rank rank) {
    const auto found = enters.find(rank);
    if (found != enters.end()) return found->second;
    return enters[rank] = add_step(StepKind::kEnter, {rank}, {}, {});
  };
  const size_t authored = steps.size();
  for (StepId id = 0; id < authored; id++) {
    const auto touches = [&](const Operand& operand) {
      if (operand.place == Place::kRing || operand.rank == steps[id].executor.rank) return;
      const StepId enter = enter_of(operand.rank);  // first: it may move `steps`
      add_wait(steps[id], enter, 0);
      std::vector<StepId>& list = exits[operand.rank.index()];
      if (list.empty() || list.back() != id) list.push_back(id);
    };
    // By index: enter_of() may grow `steps`.
    for (size_t i = 0; i < steps[id].in.size(); i++) {
      const Operand operand = steps[id].in[i];
      touches(operand);
      if (operand.place == Place::kRing) {
        add_wait(steps[id], rings[operand.ring].writer, 0);
      } else if (operand.place == Place::kRecv) {
        const auto writer = result_writer.find(caller_place(operand));
        if (writer != result_writer.end() && writer->second != id) {
          add_wait(steps[id], writer->second, 0);
        }
      }
    }
    for (size_t i = 0; i < steps[id].out.size(); i++) {
      const Operand operand = steps[id].out[i];
      touches(operand);
      if (operand.place == Place::kRing) {
        for (const StepId reader : freed_by(operand.ring)) {
          add_wait(steps[id], reader, rings[operand.ring].slots);
        }
      } else {
        for (const StepId reader : input_readers[caller_place(operand)]) {
          if (reader != id) add_wait(steps[id], reader, 0);
        }
      }
    }
  }
}

// A wait is implied exactly if its step lies before another one waited for. One search a step finds
// them all, no further back than the earliest of them.
void Schedule::prune() {
  const std::vector<StepId> order = firing_order(*this);
  FF_CHECK(order.size() == steps.size(), "a schedule without deadlock");
  std::vector<size_t> position(steps.size());
  for (size_t i = 0; i < order.size(); i++) position[order[i]] = i;

  std::vector<StepId> todo;
  std::vector<StepId> seen(steps.size(), kNone);  // from which step
  for (StepId id = 0; id < steps.size(); id++) {
    std::vector<Wait>& waits = steps[id].waits;
    size_t earliest = steps.size(), candidates = 0;
    todo.clear();
    for (const Wait& wait : waits) {
      if (wait.lag != 0) continue;
      earliest = std::min(earliest, position[wait.step]);
      candidates++;
      todo.push_back(wait.step);
    }
    std::vector<StepId> wanted = todo;
    std::sort(wanted.begin(), wanted.end());
    while (!todo.empty() && candidates > 1) {  // the latest of them is implied by none
      const StepId at = todo.back();
      todo.pop_back();
      for (const Wait& wait : steps[at].waits) {
        if (wait.lag != 0 || position[wait.step] < earliest || seen[wait.step] == id) continue;
        seen[wait.step] = id;
        todo.push_back(wait.step);
        if (std::binary_search(wanted.begin(), wanted.end(), wait.step)) candidates--;
      }
    }
    std::erase_if(waits, [&](const Wait& wait) {
      return wait.lag == 0 && seen[wait.step] == id && steps[wait.step].kind != StepKind::kPut;
    });
  }
}

bool Schedule::free_between_calls() const {
  // For each step, as sets of bits: the ranks with a step that comes after it, or before it.
  const std::vector<StepId> order = firing_order(*this);
  FF_CHECK(order.size() == steps.size(), "a schedule without deadlock");
  const size_t words = (ranks + 63) / 64;
  std::vector<uint64_t> after(steps.size() * words, 0), before(steps.size() * words, 0);
  const auto merge = [&](std::vector<uint64_t>& sets, StepId into, StepId from) {
    for (size_t i = 0; i < words; i++) sets[into * words + i] |= sets[from * words + i];
  };
  for (StepId id = 0; id < steps.size(); id++) {
    const uint32_t rank = steps[id].executor.rank.value();
    after[id * words + rank / 64] |= uint64_t{1} << (rank % 64);
    before[id * words + rank / 64] |= uint64_t{1} << (rank % 64);
  }
  for (const StepId id : order) {
    for (const Wait& wait : steps[id].waits) {
      if (wait.lag == 0) merge(before, id, wait.step);
    }
  }
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    for (const Wait& wait : steps[*id].waits) {
      if (wait.lag == 0) merge(after, wait.step, *id);
    }
  }
  for (RingId id = 0; id < rings.size(); id++) {
    const uint64_t* begins_before = &before[rings[id].writer * words];
    for (const StepId freed : freed_by(id)) {
      const uint64_t* ends_after = &after[freed * words];
      bool between = false;
      for (size_t i = 0; i < words; i++)
        between = between || (ends_after[i] & begins_before[i]) != 0;
      if (!between) return false;
    }
  }
  return true;
}

}  // namespace ff
