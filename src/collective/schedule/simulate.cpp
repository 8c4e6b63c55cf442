// What a step costs, and how a short run becomes the time of a long call. simulate_run.cpp runs the
// graph.
#include "collective/schedule/simulate.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "base/check.hpp"
#include "collective/schedule/picoseconds.hpp"

namespace ff {
namespace {

// How far `size` is on the way from `half` of `capacity` to one and a half of it, in permille:
// 0 = all of it is found in the cache, 1000 = none. Caches do not end in a step.
uint64_t miss_permille(uint64_t size, uint64_t capacity) {
  if (capacity == 0) return 1000;
  if (size <= capacity / 2) return 0;
  if (size - capacity / 2 >= capacity) return 1000;
  return (size - capacity / 2) / (capacity / 1000 + 1);
}

uint64_t times(uint64_t a, uint64_t b) {
  return b != 0 && a > std::numeric_limits<uint64_t>::max() / b
             ? std::numeric_limits<uint64_t>::max()
             : a * b;
}

Picoseconds blend(Picoseconds hit, Picoseconds miss, uint64_t permille) {
  return hit + (miss - hit) / 1000 * static_cast<Picoseconds>(permille);
}

Picoseconds extrapolate(Picoseconds half, Picoseconds full, uint64_t chunks) {
  const uint64_t more = chunks - Simulator::kRunChunks;
  const __int128 total = static_cast<__int128>(full) +
                         static_cast<__int128>(full - half) * static_cast<__int128>(more) /
                             static_cast<__int128>(Simulator::kRunChunks / 2);
  return total > kForever ? kForever : static_cast<Picoseconds>(total);
}

}  // namespace

std::string format_time(Picoseconds time) {
  static constexpr const char* kUnits[] = {"ps", "ns", "us", "ms", "s"};
  auto value = static_cast<double>(time);
  size_t unit = 0;
  while (value >= 999.95 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    unit++;
  }
  return fmt::format("{:.4g} {}", value, kUnits[unit]);
}

const char* bottleneck_name(Bottleneck bottleneck) {
  switch (bottleneck) {
    case Bottleneck::kCore:
      return "core";
    case Bottleneck::kMemory:
      return "memory";
    case Bottleneck::kSending:
      return "sending link";
    case Bottleneck::kReceiving:
      return "receiving link";
    case Bottleneck::kLatency:
      break;
  }
  return "latency";
}

std::string Timing::describe() const {
  const std::string busy =
      fmt::format("busy {}.{} % of the time", busiest_permille / 10, busiest_permille % 10);
  switch (bottleneck) {
    case Bottleneck::kCore:
      return fmt::format("core {} of node {}, {}", bottleneck_core, bottleneck_node.value(), busy);
    case Bottleneck::kLatency:
      return fmt::format("latency: steps that wait for each other (the busiest resource is {})",
                         busy);
    default:
      return fmt::format("{} of node {}, {}", bottleneck_name(bottleneck), bottleneck_node.value(),
                         busy);
  }
}

Simulator::Simulator(const Schedule& schedule, const Placement& placement, const Machine& machine)
    : schedule_(schedule), placement_(placement), machine_(machine) {
  const SharedMemoryModel& memory = machine.memory;
  FF_CHECK(machine.cpus_per_node >= 1, "a node has a core");
  FF_CHECK(memory.core_mb_per_s > 0 && memory.transfer_mb_per_s > 0 &&
               memory.take_back_mb_per_s > 0 && memory.far_slot_mb_per_s > 0 &&
               memory.core_memory_mb_per_s > 0 && memory.node_memory_mb_per_s > 0,
           "every rate of the model is positive");
  FF_CHECK(placement.nodes() == 1 || machine.network.link_mb_per_s > 0,
           "the network's rate is positive");
  FF_CHECK(schedule.ranks == placement.ranks(), "the schedule is for this placement");

  std::vector<uint32_t> first_core;
  for (uint32_t node = 0; node < placement.nodes(); node++) {
    const auto ranks = static_cast<uint32_t>(placement.ranks_of(NodeId(node)).size());
    node_ranks_ = std::max(node_ranks_, ranks);
    first_core.push_back(static_cast<uint32_t>(server_node_.size()));
    cores_of_.push_back(std::min(ranks, machine.cpus_per_node));
    for (uint32_t core = 0; core < cores_of_.back(); core++) {
      server_node_.push_back(node);
      server_core_.push_back(core);
    }
  }

  // Units that are no core: a queue for each (rank, unit), made when first met.
  std::vector<std::pair<Executor, uint32_t>> queues;
  const size_t steps = schedule.steps.size();
  server_.reserve(steps);
  for (const Step& step : schedule.steps) {
    const Rank rank = step.executor.rank;
    const uint32_t node = placement.node_of(rank).value();
    node_of_step_.push_back(placement.node_of(rank));
    local_rank_of_step_.push_back(placement.local_rank(rank));
    if (step.kind == StepKind::kEnter) {
      server_.push_back(kNone);
    } else if (step.executor.unit == Unit::kCpu ||
               (step.executor.unit == Unit::kNic && machine.network.core_mb_per_s != 0)) {
      // A port that cannot fetch by itself is fed by the rank's core.
      server_.push_back(first_core[node] + placement.local_rank(rank).value() % cores_of_[node]);
    } else {
      // A rank's units are few and its steps lie close together: search from the end.
      auto found = std::find_if(queues.rbegin(), queues.rend(),
                                [&](const auto& queue) { return queue.first == step.executor; });
      if (found == queues.rend()) {
        queues.emplace_back(step.executor, static_cast<uint32_t>(server_node_.size()));
        server_node_.push_back(node);
        server_core_.push_back(kNone);
        found = queues.rbegin();
      }
      server_.push_back(found->second);
    }
  }

  first_successor_.assign(steps + 1, 0);
  for (const Step& step : schedule.steps) {
    for (const Wait& wait : step.waits) first_successor_[wait.step + 1]++;
  }
  for (size_t s = 0; s < steps; s++) first_successor_[s + 1] += first_successor_[s];
  successors_.resize(first_successor_[steps]);
  std::vector<size_t> at(first_successor_.begin(), first_successor_.end() - 1);
  for (StepId id = 0; id < steps; id++) {
    for (const Wait& wait : schedule.steps[id].waits) {
      successors_[at[wait.step]++] = {id, wait.lag};
    }
  }

  std::vector<uint64_t> slots_of(placement.nodes(), 0);
  for (const Ring& ring : schedule.rings) {
    bool elsewhere = false;
    for (const StepId reader : ring.readers) {
      elsewhere |= ring.writer != kNone && server_[reader] != server_[ring.writer];
    }
    read_elsewhere_.push_back(elsewhere);
    if (ring.sharing != Sharing::kResult) {  // those have no memory of their own
      slots_of[placement.node_of(ring.home).index()] += ring.slots;
    }
  }
  node_slots_ = *std::max_element(slots_of.begin(), slots_of.end());
}

Simulator::Cost Simulator::cost(StepId id, uint64_t chunk, const Sizes& sizes,
                                const Regime& regime) const {
  const Step& step = schedule_.steps[id];
  const uint32_t server = server_[id];
  const SharedMemoryModel& model = machine_.memory;
  const NetworkModel& network = machine_.network;
  uint64_t caller = 0, near_slot = 0, transfer = 0, take_back = 0;
  Cost cost;
  cost.core = nanoseconds(model.step_ns);
  if (step.kind == StepKind::kPut) {  // the port reads, the core at most hands over
    for (const Operand& operand : step.out) {
      cost.core += nanoseconds(network.message_ns);
      if (network.core_mb_per_s != 0) {
        cost.core += transfer_time(sizes.bytes(operand.region, chunk), network.core_mb_per_s);
      }
    }
    return cost;
  }
  for (const Operand& operand : step.in) {
    const uint64_t bytes = sizes.bytes(operand.region, chunk);
    if (operand.place != Place::kRing) {
      caller += bytes;
    } else if (const StepId writer = schedule_.rings[operand.ring].writer;
               writer != kNone && server_[writer] != server) {
      transfer += bytes;
      const bool alone = schedule_.rings[operand.ring].sharing == Sharing::kOwn &&
                         schedule_.rings[operand.ring].result == kNone;
      if (!alone || bytes > model.inline_bytes) cost.core += nanoseconds(model.read_slot_ns);
    } else {
      near_slot += bytes;
    }
  }
  for (const Operand& operand : step.out) {
    const uint64_t bytes = sizes.bytes(operand.region, chunk);
    if (operand.place != Place::kRing) {
      caller += bytes;
      continue;
    }
    const Ring& ring = schedule_.rings[operand.ring];
    if (ring.sharing == Sharing::kOwn && ring.result == kNone && read_elsewhere_[operand.ring] &&
        bytes > model.inline_bytes) {
      take_back += bytes;
    } else {
      near_slot += bytes;
    }
  }
  const auto slot_time = [&](uint64_t bytes, uint64_t rate) {
    return blend(transfer_time(bytes, rate),
                 transfer_time(bytes, std::min(rate, model.far_slot_mb_per_s)), regime.slot_far);
  };
  cost.core += blend(transfer_time(caller, model.core_mb_per_s),
                     transfer_time(caller, model.core_memory_mb_per_s), regime.caller_miss);
  cost.core += slot_time(near_slot, model.core_mb_per_s);
  cost.core += slot_time(transfer, model.transfer_mb_per_s);
  cost.core += slot_time(take_back, model.take_back_mb_per_s);
  cost.memory = blend(0, transfer_time(caller, model.node_memory_mb_per_s), regime.caller_miss);
  return cost;
}

Timing Simulator::run(const CallSize& call, bool full) {
  Sizes sizes;
  sizes.element_bytes = call.element_bytes;
  sizes.partition = Partition(schedule_.layout, call.count, call.element_bytes, call.piece_bytes);
  const uint64_t chunks = sizes.partition.chunks();
  FF_CHECK(chunks <= kMaxChunks, "pieces large enough for the chunk counter");
  const uint64_t pieces = uint64_t{schedule_.layout.blocks} * schedule_.layout.parts * chunks;
  const uint64_t bytes = call.count * call.element_bytes;
  sizes.mean_bytes = bytes / pieces + (bytes % pieces != 0 ? 1 : 0);
  sizes.uniform = chunks > kRunChunks || sizes.mean_bytes >= 64 * kLineBytes;

  Regime regime;
  const SharedMemoryModel& memory = machine_.memory;
  regime.caller_miss = miss_permille(times(bytes, node_ranks_), memory.shared_cache_bytes);
  const uint64_t cores = *std::max_element(cores_of_.begin(), cores_of_.end());
  regime.slot_far =
      miss_permille(times(sizes.mean_bytes, node_slots_), memory.core_cache_bytes * cores);

  Timing timing;
  if (chunks <= kRunChunks || full) {
    timing = play(chunks, sizes, regime);
  } else {
    const Timing half = play(kRunChunks / 2, sizes, regime);
    timing = play(kRunChunks, sizes, regime);
    timing.total = extrapolate(half.total, timing.total, chunks);
    for (size_t n = 0; n < timing.nodes.size(); n++) {
      NodeBusy& busy = timing.nodes[n];
      for (size_t core = 0; core < busy.cores.size(); core++) {
        busy.cores[core] = extrapolate(half.nodes[n].cores[core], busy.cores[core], chunks);
      }
      busy.memory = extrapolate(half.nodes[n].memory, busy.memory, chunks);
      busy.sending = extrapolate(half.nodes[n].sending, busy.sending, chunks);
      busy.receiving = extrapolate(half.nodes[n].receiving, busy.receiving, chunks);
    }
    timing.chunks = chunks;
    timing.extrapolated = true;
  }
  name_bottleneck(timing);
  return timing;
}

void Simulator::name_bottleneck(Timing& timing) const {
  Picoseconds most = -1;
  const auto consider = [&](Picoseconds busy, Bottleneck resource, size_t node, size_t core) {
    if (busy <= most) return;
    most = busy;
    timing.bottleneck = resource;
    timing.bottleneck_node = NodeId(node);
    timing.bottleneck_core = static_cast<uint32_t>(core);
  };
  for (size_t n = 0; n < timing.nodes.size(); n++) {
    const NodeBusy& busy = timing.nodes[n];
    consider(busy.sending, Bottleneck::kSending, n, 0);
    consider(busy.receiving, Bottleneck::kReceiving, n, 0);
    consider(busy.memory, Bottleneck::kMemory, n, 0);
    for (size_t core = 0; core < busy.cores.size(); core++) {
      consider(busy.cores[core], Bottleneck::kCore, n, core);
    }
  }
  if (timing.total <= 0) return;
  const auto permille = static_cast<__int128>(most) * 1000 / timing.total;
  timing.busiest_permille = static_cast<uint32_t>(std::min<__int128>(permille, 1000));
  if (timing.busiest_permille < 500) timing.bottleneck = Bottleneck::kLatency;
}

}  // namespace ff
