// A discrete-event run of the graph. An event is a message that reaches the receiver's port, a step
// whose messages leave its core, a step that became ready, or a server that became free; ties in
// time go by kind and number, so a run has one outcome.
//
// Servers are cores (shared by the ranks bound to them) and, for units that are no core, one queue
// each. A core goes on with the rank it runs as long as that has something ready, like a process
// that yields only when it must wait; ranks take turns, and each change costs switch_ns.
#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#include "base/check.hpp"
#include "collective/schedule/picoseconds.hpp"
#include "collective/schedule/simulate.hpp"

namespace ff {

class Simulator::Run {
 public:
  Run(const Simulator& simulator, uint64_t chunks, const Sizes& sizes, const Regime& regime)
      : sim_(simulator), chunks_(chunks), sizes_(sizes), regime_(regime) {}
  Timing play();

 private:
  enum class Kind : uint8_t {
    kArrival,
    kMessages,
    kReady,
    kFree
  };  // a rank goes on before another starts
  struct Event {
    Picoseconds time;
    Kind kind;
    uint32_t which;  // a server for kFree, else a step
    uint32_t chunk = 0;
    uint32_t operand = 0;  // of the step's outputs, for kArrival
    auto key() const { return std::tie(time, kind, which, chunk, operand); }
    bool operator<(const Event& other) const { return other.key() < key(); }  // earliest on top
  };
  struct Ready {
    StepId step;
    uint32_t chunk;
  };
  struct Server {
    bool busy = false;
    uint32_t local_rank = kNone;  // whom it ran last
    std::vector<Ready> ready;
  };
  struct Port {
    Picoseconds memory_free = 0, sending_free = 0, receiving_free = 0;
  };

  void push(Event event);
  void start();
  bool sends(StepId id) const;
  void ready(StepId id, uint32_t chunk, Picoseconds now);
  void dispatch(uint32_t index, Picoseconds now);
  Ready take_next(Server& server, NodeId node);
  void send(StepId id, uint32_t chunk, Picoseconds now);
  void arrive(const Event& event);
  void fire(StepId id, uint32_t chunk, Picoseconds time);
  void satisfy(StepId id, uint64_t chunk, Picoseconds time);
  bool leaves(const Operand& operand, NodeId node) const {
    return operand.place == Place::kRing && sim_.home_of(operand) != node;
  }
  Picoseconds wire_time(const Operand& operand, uint32_t chunk) const {
    return transfer_time(sizes_.bytes(operand.region, chunk), sim_.machine_.network.link_mb_per_s);
  }
  std::span<const Successor> successors(StepId id) const {
    return std::span(sim_.successors_)
        .subspan(sim_.first_successor_[id],
                 sim_.first_successor_[id + 1] - sim_.first_successor_[id]);
  }
  uint32_t local_rank(StepId id) const { return sim_.local_rank_of_step_[id].value(); }

  const Simulator& sim_;
  const uint64_t chunks_;
  const Sizes& sizes_;
  const Regime& regime_;

  Timing timing_;
  std::vector<Event> events_;  // a heap
  std::vector<Server> servers_;
  std::vector<Port> ports_;            // by node
  std::vector<Cost> costs_;            // by step, where all chunks cost the same
  std::vector<bool> sending_;          // by step
  std::vector<uint32_t> pending_;      // by step and chunk: waits that have not passed
  std::vector<Picoseconds> ready_at_;  // by step and chunk: when the last of them passed
  uint64_t fired_ = 0;
};

void Simulator::Run::push(Event event) {
  events_.push_back(event);
  std::push_heap(events_.begin(), events_.end());
}

bool Simulator::Run::sends(StepId id) const {
  const std::vector<Operand>& out = sim_.schedule_.steps[id].out;
  return std::any_of(out.begin(), out.end(),
                     [&](const Operand& operand) { return leaves(operand, sim_.node_of(id)); });
}

void Simulator::Run::start() {
  const size_t steps = sim_.schedule_.steps.size();
  const uint32_t nodes = sim_.placement_.nodes();
  timing_.chunks = chunks_;
  timing_.nodes.resize(nodes);
  for (uint32_t n = 0; n < nodes; n++) timing_.nodes[n].cores.assign(sim_.cores_of_[n], 0);
  ports_.resize(nodes);
  servers_.resize(sim_.server_node_.size());
  sending_.resize(steps);
  pending_.resize(steps * chunks_);
  ready_at_.assign(steps * chunks_, 0);
  if (sizes_.uniform) costs_.resize(steps);
  for (StepId id = 0; id < steps; id++) {
    sending_[id] = sends(id);
    if (sizes_.uniform && sim_.server_[id] != kNone) {
      costs_[id] = sim_.cost(id, 0, sizes_, regime_);
    }
    for (uint64_t chunk = 0; chunk < chunks_; chunk++) {
      uint32_t waits = chunk > 0 ? 1 : 0;  // for its own chunk before
      for (const Wait& wait : sim_.schedule_.steps[id].waits) waits += wait.lag <= chunk ? 1 : 0;
      pending_[id * chunks_ + chunk] = waits;
      if (waits == 0) push({0, Kind::kReady, id, static_cast<uint32_t>(chunk)});
    }
  }
}

Timing Simulator::Run::play() {
  start();
  while (!events_.empty()) {
    std::pop_heap(events_.begin(), events_.end());
    const Event event = events_.back();
    events_.pop_back();
    switch (event.kind) {
      case Kind::kFree:
        servers_[event.which].busy = false;
        dispatch(event.which, event.time);
        break;
      case Kind::kArrival:
        arrive(event);
        break;
      case Kind::kMessages:
        send(event.which, event.chunk, event.time);
        break;
      case Kind::kReady:
        ready(event.which, event.chunk, event.time);
        break;
    }
  }
  FF_CHECK(fired_ == sim_.schedule_.steps.size() * chunks_,
           "the schedule has no deadlock (verify() names the cycle)");
  return std::move(timing_);
}

void Simulator::Run::ready(StepId id, uint32_t chunk, Picoseconds now) {
  const uint32_t server = sim_.server_[id];
  if (server != kNone) {
    servers_[server].ready.push_back({id, chunk});
    dispatch(server, now);
    return;
  }
  // The entry of a rank: all ranks call at time 0.
  if (chunk + 1u < chunks_) satisfy(id, chunk + 1u, now);
  fire(id, chunk, now);
}

// The rank that runs goes first, then the next in turn; of a rank, the step first in graph order.
Simulator::Run::Ready Simulator::Run::take_next(Server& server, NodeId node) {
  const auto ranks = static_cast<uint32_t>(sim_.placement_.ranks_of(node).size());
  const uint32_t current = server.local_rank == kNone ? 0 : server.local_rank;
  const auto turn = [&](const Ready& ready) {
    return std::pair((local_rank(ready.step) + ranks - current) % ranks, ready.step);
  };
  auto best = server.ready.begin();
  for (auto it = best + 1; it != server.ready.end(); ++it) {
    if (turn(*it) < turn(*best)) best = it;
  }
  const Ready taken = *best;
  *best = server.ready.back();
  server.ready.pop_back();
  return taken;
}

void Simulator::Run::dispatch(uint32_t index, Picoseconds now) {
  Server& server = servers_[index];
  if (server.busy || server.ready.empty()) return;
  const uint32_t node = sim_.server_node_[index];
  const Ready next = take_next(server, NodeId(node));
  const Cost cost =
      sizes_.uniform ? costs_[next.step] : sim_.cost(next.step, next.chunk, sizes_, regime_);

  const uint32_t rank = local_rank(next.step);
  const bool change = server.local_rank != kNone && server.local_rank != rank;
  const Picoseconds begin = now + (change ? nanoseconds(sim_.machine_.memory.switch_ns) : 0);
  Picoseconds end = begin + cost.core;
  NodeBusy& busy = timing_.nodes[node];
  if (sim_.server_core_[index] != kNone) busy.cores[sim_.server_core_[index]] += end - now;
  if (cost.memory > 0) {
    Picoseconds& free = ports_[node].memory_free;
    free = std::max(free, begin) + cost.memory;
    end = std::max(end, free);
    busy.memory += cost.memory;
  }
  server.local_rank = rank;
  server.busy = true;
  push({end, Kind::kFree, index, 0});
  if (next.chunk + 1u < chunks_) satisfy(next.step, next.chunk + 1u, end);
  if (sending_[next.step]) {
    push({end, Kind::kMessages, next.step, next.chunk});
  } else {
    fire(next.step, next.chunk, end);
  }
}

// Ports queue: a message waits for the sender's side, then, from its first byte on, for the
// receiver's, and neither keeps the other from serving somebody else meanwhile.
void Simulator::Run::send(StepId id, uint32_t chunk, Picoseconds now) {
  const NodeId node = sim_.node_of(id);
  Picoseconds left = now;
  const std::vector<Operand>& out = sim_.schedule_.steps[id].out;
  for (uint32_t operand = 0; operand < out.size(); operand++) {
    if (!leaves(out[operand], node)) continue;
    const Picoseconds wire = wire_time(out[operand], chunk);
    const Picoseconds begin = std::max(now, ports_[node.index()].sending_free);
    left = ports_[node.index()].sending_free = begin + wire;
    timing_.nodes[node.index()].sending += wire;
    push({begin, Kind::kArrival, id, chunk, operand});
  }
  fire(id, chunk, left);
}

void Simulator::Run::arrive(const Event& event) {
  const std::vector<Operand>& out = sim_.schedule_.steps[event.which].out;
  const NodeId to = sim_.home_of(out[event.operand]);
  const Picoseconds wire = wire_time(out[event.operand], event.chunk);
  Picoseconds& free = ports_[to.index()].receiving_free;
  free = std::max(event.time, free) + wire;
  timing_.nodes[to.index()].receiving += wire;
  const Picoseconds seen = free + nanoseconds(sim_.machine_.network.latency_ns);
  timing_.total = std::max(timing_.total, seen);
  // Messages on one path stay in order: what waits for this step there waits for the last one.
  for (size_t later = event.operand + 1; later < out.size(); later++) {
    if (leaves(out[later], sim_.node_of(event.which)) && sim_.home_of(out[later]) == to) return;
  }
  for (const Successor& successor : successors(event.which)) {
    if (successor.lag != 0 || sim_.node_of(successor.step) != to) continue;
    satisfy(successor.step, event.chunk, seen);
  }
}

void Simulator::Run::fire(StepId id, uint32_t chunk, Picoseconds time) {
  fired_++;
  timing_.total = std::max(timing_.total, time);
  const NodeId node = sim_.node_of(id);
  for (const Successor& successor : successors(id)) {
    if (chunk + uint64_t{successor.lag} >= chunks_) continue;
    Picoseconds seen = time;
    if (sim_.node_of(successor.step) != node) {
      if (successor.lag == 0 && sending_[id]) continue;       // it waits for the message
      seen += nanoseconds(sim_.machine_.network.latency_ns);  // a credit: a frame without data
    } else if (sim_.server_[id] != sim_.server_[successor.step]) {
      seen += nanoseconds(sim_.machine_.memory.hand_over_ns);
    }
    satisfy(successor.step, chunk + successor.lag, seen);
  }
}

void Simulator::Run::satisfy(StepId id, uint64_t chunk, Picoseconds time) {
  const size_t at = id * chunks_ + chunk;
  ready_at_[at] = std::max(ready_at_[at], time);
  if (--pending_[at] == 0) push({ready_at_[at], Kind::kReady, id, static_cast<uint32_t>(chunk)});
}

Timing Simulator::play(uint64_t chunks, const Sizes& sizes, const Regime& regime) const {
  return Run(*this, chunks, sizes, regime).play();
}

}  // namespace ff
