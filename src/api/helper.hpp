// The process's one helper thread: drives calls that no caller drives, and watches deadlines and
// deaths.
//
// It never spins. While calls wait for other ranks it yields a little, then sleeps in epoll until
// the doorbell rings, a neighbour dies, a caller hands work over, or a deadline is due. All signals
// are blocked in it: the user's handlers run on the user's threads.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/file_descriptor.hpp"
#include "base/status.hpp"
#include "collective/engine/engine.hpp"

struct epoll_event;

namespace ff {

class Helper {
 public:
  static Result<std::unique_ptr<Helper>> create(Bell* bell);
  ~Helper();

  struct Neighbour {
    uint32_t rank = 0;
    int life = -1;  // readable once its process has ended; borrowed
  };
  struct Watch {
    Engine* engine = nullptr;
    bool may_drive = true;
    std::vector<Neighbour> neighbours;
    void (*on_failure)(void* context, const Failure&) = nullptr;  // once, without any lock held
    void* on_failure_context = nullptr;
  };
  Status add(Watch watch);
  // Afterwards the helper touches neither the engine nor its descriptors, and on_failure neither
  // runs nor will.
  void remove(Engine* engine);

  // There may be something to do for it. Costs a fence, and a system call if it is asleep.
  void notify();

 private:
  struct Watched {
    Watch watch;
    uint64_t id = 0;
    bool told = false;     // on_failure was called
    bool waiting = false;  // wants the bell while the helper sleeps
  };

  explicit Helper(Bell* bell) : bell_(bell) {}
  void run();
  bool round(Clock::time_point& next);  // true: drive again at once
  bool anything_after_announcing();
  void sleep_until(Clock::time_point next);
  void take_events(int count, const epoll_event* events);
  void tell_failures();

  Bell* bell_;
  FileDescriptor epoll_, wake_;
  std::atomic<bool> asleep_{false}, notified_{false}, stopping_{false};

  std::mutex mutex_;  // engines are driven under it, so that remove() can wait for that
  std::vector<Watched> watched_;
  uint64_t next_id_ = 1;
  const Engine* telling_ = nullptr;  // whose on_failure runs now
  std::condition_variable told_;

  uint32_t yields_ = 0;
  std::thread thread_;
};

}  // namespace ff
