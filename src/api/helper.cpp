#include "api/helper.hpp"

#include <fmt/core.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <utility>

#include "base/log.hpp"

namespace ff {
namespace {

// Epoll's data: who an event is about.
constexpr uint64_t kWakeEvent = 0, kBellEvent = 1;
constexpr uint64_t life_event(uint64_t id, uint32_t rank) { return id << 32 | rank | 1u << 31; }

// Between a sleep and a hand-over lie some 50 us, so a short wait is worth a few yields; more would
// cost compute threads their CPU.
constexpr uint32_t kYields = 100;

}  // namespace

Result<std::unique_ptr<Helper>> Helper::create(Bell* bell) {
  std::unique_ptr<Helper> helper(new Helper(bell));
  helper->epoll_.reset(epoll_create1(EPOLL_CLOEXEC));
  if (!helper->epoll_.valid()) return system_error("epoll_create1", errno);
  helper->wake_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!helper->wake_.valid()) return system_error("eventfd", errno);
  for (const auto& [fd, data] :
       {std::pair(helper->wake_.get(), kWakeEvent), std::pair(bell->fd(), kBellEvent)}) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = data;
    if (epoll_ctl(helper->epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
      return system_error("epoll_ctl", errno);
    }
  }
  // The thread inherits the mask that its maker has for the moment.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  helper->thread_ = std::thread(&Helper::run, helper.get());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_setname_np(helper->thread_.native_handle(), "fireflyer");
  return helper;
}

Helper::~Helper() {
  stopping_.store(true, std::memory_order_relaxed);
  notify();
  thread_.join();
}

Status Helper::add(Watch watch) {
  const std::lock_guard lock(mutex_);
  const uint64_t id = next_id_++;
  for (const Neighbour& neighbour : watch.neighbours) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = life_event(id, neighbour.rank);
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, neighbour.life, &event) != 0) {
      return system_error(fmt::format("watching the process of rank {}", neighbour.rank), errno);
    }
  }
  watched_.push_back({std::move(watch), id});
  return {};
}

void Helper::remove(Engine* engine) {
  std::unique_lock lock(mutex_);
  // From inside its own callback there is nothing to wait for.
  if (std::this_thread::get_id() != thread_.get_id()) {
    told_.wait(lock, [&] { return telling_ != engine; });
  }
  std::erase_if(watched_, [&](const Watched& watched) {
    if (watched.watch.engine != engine) return false;
    for (const Neighbour& neighbour : watched.watch.neighbours) {
      epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, neighbour.life, nullptr);
    }
    if (watched.waiting) engine->finish_helper_sleep();
    return true;
  });
}

void Helper::notify() {
  // Release: whoever takes the notice sees what it is about.
  notified_.store(true, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!asleep_.load(std::memory_order_relaxed)) return;
  const uint64_t one = 1;
  // Fails only when the count is at its limit: then it has been notified.
  [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof one);
}

void Helper::run() {
  while (!stopping_.load(std::memory_order_relaxed)) {
    Clock::time_point next;
    if (round(next)) continue;
    sleep_until(next);
  }
}

bool Helper::round(Clock::time_point& next) {
  bool busy = false, waiting = false;
  {
    const std::lock_guard lock(mutex_);
    for (Watched& watched : watched_) {
      if (!watched.watch.may_drive) continue;
      const auto state = watched.watch.engine->drive_as_helper();
      busy |= state == Engine::HelperState::kBusy;
      watched.waiting = state == Engine::HelperState::kWaiting;
      waiting |= watched.waiting;
    }
    if (busy) {
      yields_ = 0;
    } else if (!waiting || yields_ >= kYields) {
      next = Clock::time_point::max();
      const auto now = Clock::now();
      for (Watched& watched : watched_) next = std::min(next, watched.watch.engine->watch(now));
    } else {
      yields_++;
      busy = true;
    }
  }
  tell_failures();
  if (busy) sched_yield();  // also when steps were fired: whoever waits for them runs sooner
  return busy;
}

void Helper::tell_failures() {
  std::unique_lock lock(mutex_);
  const auto due = [&] {
    return std::find_if(watched_.begin(), watched_.end(), [](const Watched& watched) {
      return !watched.told && watched.watch.engine->failure();
    });
  };
  for (auto found = due(); found != watched_.end(); found = due()) {
    found->told = true;
    const Watch watch = found->watch;
    const Failure failure = *watch.engine->failure();
    telling_ = watch.engine;  // remove() waits for it
    lock.unlock();
    log(LogLevel::kError, "{}", failure.text);
    if (watch.on_failure != nullptr) watch.on_failure(watch.on_failure_context, failure);
    lock.lock();
    telling_ = nullptr;
    told_.notify_all();
  }
}

// The sleeper's side of the doorbell: say so, look once more, then sleep.
bool Helper::anything_after_announcing() {
  const std::lock_guard lock(mutex_);
  bool any = false;
  for (Watched& watched : watched_) {
    if (!watched.waiting) continue;
    watched.watch.engine->prepare_helper_sleep();
    any |= watched.watch.engine->drive_as_helper() == Engine::HelperState::kBusy;
  }
  return any;
}

void Helper::sleep_until(Clock::time_point next) {
  asleep_.store(true, std::memory_order_relaxed);
  const bool work = anything_after_announcing();
  std::atomic_thread_fence(std::memory_order_seq_cst);
  epoll_event events[16];
  int count = 0;
  if (!work && !notified_.exchange(false, std::memory_order_acquire)) {
    int timeout = -1;
    if (next != Clock::time_point::max()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
      timeout = static_cast<int>(std::clamp<int64_t>(left.count(), 0, 3'600'000));
    }
    count = epoll_wait(epoll_.get(), events, static_cast<int>(std::size(events)), timeout);
  }
  asleep_.store(false, std::memory_order_relaxed);
  notified_.exchange(false, std::memory_order_acq_rel);  // the next round looks at everything
  yields_ = 0;
  take_events(count, events);
}

void Helper::take_events(int count, const epoll_event* events) {
  const std::lock_guard lock(mutex_);
  for (Watched& watched : watched_) {
    if (watched.waiting) watched.watch.engine->finish_helper_sleep();
    watched.waiting = false;
  }
  for (int i = 0; i < count; i++) {
    const uint64_t about = events[i].data.u64;
    if (about == kWakeEvent) {
      uint64_t ignored;
      [[maybe_unused]] const ssize_t bytes = read(wake_.get(), &ignored, sizeof ignored);
    } else if (about == kBellEvent) {
      bell_->silence();
    } else {
      const uint32_t rank = static_cast<uint32_t>(about) & ~(1u << 31);
      for (Watched& watched : watched_) {
        if (watched.id != about >> 32) continue;
        watched.watch.engine->report_death(rank);
        // Said once: the descriptor stays readable for ever.
        std::erase_if(watched.watch.neighbours, [&](const Neighbour& neighbour) {
          if (neighbour.rank != rank) return false;
          epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, neighbour.life, nullptr);
          return true;
        });
      }
    }
  }
}

}  // namespace ff
