// One rank's seat in a group: what ff_comm is.
//
// Joins the group, maps everyone's shared memory, keeps the plans, and hands calls to the engine.
// Any thread may call; destruction must not overlap other calls.
#pragma once
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/process.hpp"
#include "api/settings.hpp"
#include "collective/engine/arena.hpp"
#include "collective/engine/engine.hpp"
#include "planner/plan.hpp"

namespace ff {

class Communicator {
 public:
  static Result<std::unique_ptr<Communicator>> create(const ff_config& config);
  ~Communicator();

  int32_t rank() const { return static_cast<int32_t>(settings_.join.rank.value()); }
  int32_t ranks() const { return static_cast<int32_t>(settings_.join.ranks); }
  Engine& engine() { return *engine_; }
  Process& process() { return *process_; }
  const Settings& settings() const { return settings_; }

  // Checks, plans and submits; blocks until done if `operation` is nullptr. `op` is FF_ERROR_... as
  // in the public header.
  Status all_reduce(const void* send, void* recv, size_t count, ff_type type, ff_reduce_op op,
                    const ff_call* call, PooledOperation** operation);

  void fill(const Failure& failure, ff_failure& out) const;

  // "explain all_reduce bytes=64M", "config", "members".
  Result<std::string> query(std::string_view what);

 private:
  struct Planned {
    uint64_t key = 0;
    Plan plan;
    std::shared_ptr<const Program> program;
  };

  explicit Communicator(Settings settings) : settings_(std::move(settings)) {}
  Status join();
  Status map_members(std::vector<Member>& members);
  Status start_engine(std::vector<Member>& members);
  Result<const Program*> program_for(uint64_t bytes, ff_type type, ff_reduce_op op);
  Result<Planned> make_plan(uint64_t key, uint64_t largest_bytes, ff_type type, ff_reduce_op op);
  Status touch_bulk();
  void tell_owner(const Failure& failure) const;

  Settings settings_;
  Process* process_ = nullptr;
  SeatLayout seat_layout_;
  std::vector<std::shared_ptr<Mapping>> mappings_;  // of all seats
  std::vector<SeatMemory> seats_;
  std::vector<Person> people_;
  std::vector<std::string> bells_;
  std::vector<FileDescriptor> lives_;  // of the neighbours
  bootstrap::GuardedDescriptor life_line_;
  std::unique_ptr<Engine> engine_;
  uint64_t agreed_hash_ = 0;
  uint32_t cpus_ = 1;

  std::mutex plan_mutex_;
  std::unique_ptr<Planner> planner_;
  std::map<uint64_t, Planned> planned_;                   // by type, operation and size class
  std::array<std::atomic<const Planned*>, 64> recent_{};  // some of them, found without a lock
  bool bulk_touched_ = false;
};

}  // namespace ff
