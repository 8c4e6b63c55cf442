// What a process has once, however many communicators it is in: the doorbell, the helper thread,
// the pool of operations, and the shared memory of its own seats.
//
// Made by the first communicator, kept until the process ends. A forked child finds that it has
// none: nothing here survives fork().
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include "api/helper.hpp"
#include "api/operation_pool.hpp"
#include "base/status.hpp"
#include "collective/engine/arena.hpp"
#include "collective/engine/doorbell.hpp"

namespace ff {

class Process {
 public:
  // FF_ERROR_STATE in a forked child.
  static Result<Process*> get();

  // False in a forked child of the process that made it. One load.
  bool is_mine() const { return marker_->load(std::memory_order_relaxed) != 0; }

  Bell& bell() { return bell_; }
  Helper& helper() { return *helper_; }
  OperationPool& operations() { return operations_; }

  // Ranks of one process share a mapping instead of mapping each other's segments once more; it
  // lives until the last of them lets go. A segment is known by a random mark.
  using Mark = std::array<std::byte, 16>;
  Result<Mark> publish_segment(const std::shared_ptr<Mapping>& mapping);
  std::shared_ptr<Mapping> find_segment(const Mark& mark);  // nullptr: another process's

 private:
  explicit Process(Bell bell) : bell_(std::move(bell)) {}

  Bell bell_;
  std::unique_ptr<Helper> helper_;
  OperationPool operations_;
  // On a page that the kernel clears in a forked child.
  std::atomic<uint32_t>* marker_ = nullptr;
  std::mutex segments_mutex_;
  std::map<Mark, std::weak_ptr<Mapping>> segments_;
};

Status forked_child_error();

}  // namespace ff
