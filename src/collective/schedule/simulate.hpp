// Predicts how long a schedule takes, by running it with time instead of data.
//
// The same graph as the engine's: a step starts when its waits have passed and its resource is
// free. Resources serve in order of arrival and queue, they never block each other: a core (which
// several ranks may share), a node's memory, a network link's sending and its receiving side. Times
// are integer picoseconds, so that all ranks, whatever their CPU, predict the same and choose
// alike. Nothing here knows an algorithm: what a step costs follows from its kind and operands.
//
// Pure and deterministic: no clock, no floating point. A Simulator may be used by one thread at a
// time; it refers to the schedule and placement it was made for, which must outlive it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "collective/schedule/layout.hpp"
#include "collective/schedule/schedule.hpp"
#include "topology/graph/placement.hpp"

namespace ff {

using Picoseconds = int64_t;
std::string format_time(Picoseconds time);  // "37.1 us"

// Ranks of one node. Rates are megabytes (10^6) a second, of what is read plus what is written.
struct SharedMemoryModel {
  uint64_t step_ns = 0;        // firing a step: looking, kernel call, publishing
  uint64_t read_slot_ns = 0;   // first touch of a slot that another core wrote
  uint64_t inline_bytes = 0;   // pieces so small ride in the counter's cache line: no first touch
  uint64_t hand_over_ns = 0;   // from publishing a counter until another core acts on it
  uint64_t switch_ns = 0;      // a core goes on with another of its ranks
  uint64_t core_mb_per_s = 0;  // a core in its caches: callers' memory, slots it writes anew
  uint64_t transfer_mb_per_s = 0;   // reading a slot that another core wrote
  uint64_t take_back_mb_per_s = 0;  // writing a slot that other cores have only read since
  uint64_t far_slot_mb_per_s = 0;   // any slot, where staging is larger than the cores' own caches
  uint64_t core_memory_mb_per_s = 0;  // a core, callers' memory beyond the shared cache
  uint64_t node_memory_mb_per_s = 0;  // the same, all cores of a node together
  uint64_t core_cache_bytes = 0;      // a core's own (L2)
  uint64_t shared_cache_bytes = 0;    // of a node, what a call can expect to find of it (L3)
};

// Between nodes: one port a node, which sends and receives at once.
struct NetworkModel {
  uint64_t message_ns = 0;     // a sending core's part of each message
  uint64_t latency_ns = 0;     // from the last byte sent to a step that acts on it; and a credit's
  uint64_t link_mb_per_s = 0;  // each direction
  uint64_t core_mb_per_s = 0;  // what one core can hand to the port; 0: the port fetches by itself
};

struct Machine {
  uint32_t cpus_per_node = 1;  // local rank r runs on core r mod cpus
  SharedMemoryModel memory;
  NetworkModel network;
};

// One call: how much, and how it is cut.
struct CallSize {
  uint64_t count = 0;
  uint64_t element_bytes = 4;
  uint64_t piece_bytes = kLineBytes;  // see Partition
};

enum class Bottleneck : uint8_t { kCore, kMemory, kSending, kReceiving, kLatency };
const char* bottleneck_name(Bottleneck bottleneck);

// How long the resources of a node are busy in the whole call.
struct NodeBusy {
  std::vector<Picoseconds> cores;
  Picoseconds memory = 0, sending = 0, receiving = 0;
};

struct Timing {
  Picoseconds total = 0;
  uint64_t chunks = 1;
  bool extrapolated = false;
  std::vector<NodeBusy> nodes;

  // The busiest resource; or kLatency where none is busy half of the time, and the chain of steps
  // that wait for each other decides.
  Bottleneck bottleneck = Bottleneck::kLatency;
  NodeId bottleneck_node;
  uint32_t bottleneck_core = 0;
  uint32_t busiest_permille = 0;  // of the busiest resource

  std::string describe() const;  // "core 1 of node 0, busy 97 % of the time"
};

class Simulator {
 public:
  Simulator(const Schedule& schedule, const Placement& placement, const Machine& machine);

  // Every chunk is run up to kRunChunks of them; more are extrapolated from runs of kRunChunks and
  // half as many, T(K) = T(16) + (K - 16) (T(16) - T(8)) / 8, unless `full`.
  Timing run(const CallSize& call, bool full = false);

  static constexpr uint64_t kRunChunks = 16;

 private:
  struct Successor {
    StepId step;
    uint32_t lag;
  };
  struct Cost {
    Picoseconds core = 0;    // on the step's server
    Picoseconds memory = 0;  // of the node's memory
  };
  // How large a region is: exact for every chunk of a short call; the mean piece where rounding to
  // cache lines is noise.
  struct Sizes {
    Partition partition;
    uint64_t element_bytes = 1;
    uint64_t mean_bytes = 0;
    bool uniform = false;

    uint64_t bytes(Region region, uint64_t chunk) const {
      return uniform ? mean_bytes : partition.range(region, chunk).count * element_bytes;
    }
  };
  struct Regime {              // what depends on the size of the call, not on the chunk
    uint64_t caller_miss = 0;  // permille of callers' bytes that come from memory
    uint64_t slot_far = 0;     // permille of slot bytes that are not in a core's own cache
  };
  class Run;  // simulate_run.cpp

  Cost cost(StepId id, uint64_t chunk, const Sizes& sizes, const Regime& regime) const;
  Timing play(uint64_t chunks, const Sizes& sizes, const Regime& regime) const;
  void name_bottleneck(Timing& timing) const;
  NodeId node_of(StepId id) const { return node_of_step_[id]; }
  NodeId home_of(const Operand& slot) const {
    return placement_.node_of(schedule_.rings[slot.ring].home);
  }

  const Schedule& schedule_;
  const Placement& placement_;
  Machine machine_;
  std::vector<uint32_t> cores_of_;  // per node
  std::vector<uint32_t> server_;    // per step: what it runs on; kNone for enter
  std::vector<NodeId> node_of_step_;
  std::vector<LocalRank> local_rank_of_step_;
  std::vector<uint32_t> server_node_;    // per server
  std::vector<uint32_t> server_core_;    // per server: core of the node, kNone: a queue of its own
  std::vector<size_t> first_successor_;  // successors of step s: [first[s], first[s + 1])
  std::vector<Successor> successors_;
  std::vector<bool> read_elsewhere_;  // per ring: by a step of another core of the node
  uint64_t node_slots_ = 0;           // of the node that has most
  uint32_t node_ranks_ = 0;           // ranks of the node that has most
};

}  // namespace ff
