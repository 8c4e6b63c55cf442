#include "collective/schedule/schedule.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.hpp"

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
      add_wait(steps[id], enter_of(operand.rank), 0);
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

void Schedule::prune() {
  std::vector<StepId> todo;
  std::vector<uint64_t> seen(steps.size(), 0);  // by which search, numbered from 1
  uint64_t search = 0;
  for (StepId id = 0; id < steps.size(); id++) {
    std::vector<Wait>& waits = steps[id].waits;
    for (size_t i = 0; i < waits.size();) {
      if (waits[i].lag != 0) {
        i++;
        continue;
      }
      search++;
      todo.clear();
      for (size_t j = 0; j < waits.size(); j++) {
        if (j != i && waits[j].lag == 0) todo.push_back(waits[j].step);
      }
      bool implied = false;
      while (!todo.empty() && !implied) {
        const StepId at = todo.back();
        todo.pop_back();
        if (at == waits[i].step) implied = true;
        if (seen[at] == search) continue;
        seen[at] = search;
        for (const Wait& wait : steps[at].waits) {
          if (wait.lag == 0) todo.push_back(wait.step);
        }
      }
      if (implied) {
        waits.erase(waits.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        i++;
      }
    }
  }
}

bool Schedule::free_between_calls() const {
  std::vector<std::vector<StepId>> before(steps.size());
  std::vector<std::vector<StepId>> after(steps.size());
  for (StepId id = 0; id < steps.size(); id++) {
    for (const Wait& wait : steps[id].waits) {
      if (wait.lag != 0) continue;
      before[id].push_back(wait.step);
      after[wait.step].push_back(id);
    }
  }
  const auto ranks_reached = [&](StepId from, const std::vector<std::vector<StepId>>& next) {
    std::vector<bool> reached(ranks, false);
    std::vector<bool> seen(steps.size(), false);
    std::vector<StepId> todo = {from};
    seen[from] = true;
    while (!todo.empty()) {
      const StepId at = todo.back();
      todo.pop_back();
      reached[steps[at].executor.rank.index()] = true;
      for (const StepId to : next[at]) {
        if (!seen[to]) {
          seen[to] = true;
          todo.push_back(to);
        }
      }
    }
    return reached;
  };
  for (RingId id = 0; id < rings.size(); id++) {
    for (const StepId freed : freed_by(id)) {
      const std::vector<bool> ends_after = ranks_reached(freed, after);
      const std::vector<bool> begins_before = ranks_reached(rings[id].writer, before);
      bool between = false;
      for (uint32_t r = 0; r < ranks && !between; r++) between = ends_after[r] && begins_before[r];
      if (!between) return false;
    }
  }
  return true;
}

}  // namespace ff
