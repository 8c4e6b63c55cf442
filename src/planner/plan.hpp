// Chooses how a collective is done: which algorithm, in pieces of which size, with how many slots.
//
// Every algorithm that can run here is simulated with several sizes of piece; the least predicted
// time wins. The choice is a pure function of what all ranks have agreed upon: kind, size class,
// type, operation, placement, CPUs a node, constants, staging, overrides. It never sees the local
// machine, alignment, or whether buffers are one; integers only, so that all ranks choose alike.
//
// A Planner belongs to one communicator and one thread at a time. It keeps the schedules it has
// built, as they do not depend on sizes; plans share them and may outlive it.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "collective/algorithm/algorithm.hpp"
#include "collective/schedule/schedule.hpp"
#include "collective/schedule/simulate.hpp"
#include "collective/schedule/verify.hpp"
#include "fireflyer/types.h"
#include "planner/constants.hpp"
#include "topology/graph/placement.hpp"

namespace ff {

// "algorithm=ring;chunk=64K;slots=2"; empty and 0 leave the choice to the planner.
struct Overrides {
  std::string algorithm;
  uint64_t chunk_bytes = 0;  // of a block of the vector: all its parts together
  uint32_t slots = 0;
};

struct PlannerSetting {
  Placement placement;
  uint32_t cpus_per_node = 1;  // the least of all nodes
  uint64_t staging_bytes = 0;  // what one rank may use for the slots of one call
  Constants constants;
  Overrides overrides;
  ff_numerics numerics = FF_NUMERICS_DEFAULT;
};

struct PlanRequest {
  uint64_t count = 0;
  ff_type type = FF_FLOAT32;
  ff_reduce_op op = FF_SUM;
};

// One algorithm at its best, or why it was not considered.
struct Candidate {
  const Algorithm* algorithm = nullptr;
  uint64_t piece_bytes = 0;
  uint16_t slots = 0;
  Timing timing;        // predicted
  std::string why_not;  // empty: a candidate
};

struct Plan {
  const Algorithm* algorithm = nullptr;
  std::shared_ptr<const Schedule> schedule;  // derived, not pruned
  uint64_t piece_bytes = 0;                  // what a slot holds: a multiple of kLineBytes
  uint16_t slots = 0;
  uint64_t staging_bytes = 0;         // of the rank that needs most
  Timing timing;                      // predicted, for the largest size of the class
  std::string reason;                 // one sentence
  std::vector<Candidate> candidates;  // in the registry's order
};

class Planner {
 public:
  explicit Planner(PlannerSetting setting);
  ~Planner();

  // With FF_NUMERICS_ANY_SIZE only algorithms with one and the same expression are candidates: that
  // of the fastest at kPinBytes. With FF_NUMERICS_ANY_LAYOUT only the balanced order over ranks.
  //
  // FF_ERROR_ARGUMENT: an override cannot be honoured, or the vector is too large to address.
  // FF_ERROR_UNSUPPORTED: no algorithm can give what was asked for. FF_ERROR_RESOURCE: not even the
  // smallest pieces fit the staging memory.
  Result<Plan> plan(const PlanRequest& request);

  // The proof of a plan's schedule. Kept; milliseconds for thousands of steps.
  const Proof& proof(const Plan& plan);

  const PlannerSetting& setting() const { return setting_; }

  static constexpr uint64_t kPinBytes = uint64_t{1} << 20;

 private:
  struct Built;  // a schedule and what is known of it

  std::vector<uint64_t> pieces(const Layout& layout, uint64_t bytes) const;
  Candidate evaluate(const Algorithm& algorithm, const CallSize& vector);
  std::string unfit(const Algorithm& algorithm, const PlanRequest& request);
  const Algorithm* pinned(ff_type type);
  Built& built(const Algorithm& algorithm, uint16_t slots);
  uint16_t slots_for(uint64_t chunks) const;

  PlannerSetting setting_;
  std::map<std::pair<std::string_view, uint16_t>, std::unique_ptr<Built>> built_;
  std::map<bool, const Algorithm*> pinned_;  // for narrow types and others
};

}  // namespace ff
