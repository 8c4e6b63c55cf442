#include "collective/engine/doorbell.hpp"

#include <fmt/core.h>
#include <linux/futex.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

namespace ff {
namespace {

struct AbstractAddress {
  sockaddr_un address{};
  socklen_t bytes = 0;
  explicit AbstractAddress(const std::string& name) {
    address.sun_family = AF_UNIX;
    const size_t length = std::min(name.size(), sizeof address.sun_path - 1);
    std::memcpy(address.sun_path + 1, name.data(), length);  // path[0] stays 0: abstract
    bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

}  // namespace

Result<Bell> Bell::create() {
  Bell bell;
  uint64_t random[2];
  if (getrandom(random, sizeof random, 0) != sizeof random) {
    return system_error("getrandom", errno);
  }
  bell.name_ = fmt::format("fireflyer/bell/{:016x}{:016x}", random[0], random[1]);
  bell.socket_.reset(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!bell.socket_.valid()) return system_error("socket of the doorbell", errno);
  const AbstractAddress address(bell.name_);
  if (bind(bell.socket_.get(), address.get(), address.bytes) != 0) {
    return system_error("binding the doorbell", errno);
  }
  return bell;
}

void Bell::silence() {
  char ignored[16];
  while (recv(socket_.get(), ignored, sizeof ignored, 0) > 0) {
  }
}

void Bell::ring(const std::string& name) const {
  const AbstractAddress address(name);
  // EAGAIN: it is full of rings already. ECONNREFUSED: that process is gone, its death is seen
  // elsewhere. Neither is this publisher's business.
  while (sendto(socket_.get(), "", 1, MSG_DONTWAIT | MSG_NOSIGNAL, address.get(), address.bytes) <
             0 &&
         errno == EINTR) {
  }
}

Doorbell::Doorbell(std::span<const Neighbour> node, size_t self, const Bell* bell)
    : node_(node), seat_(node[self].seat), board_(&node[0].seat->board), bell_(bell) {}

void Doorbell::wake_all() {
  for (const Neighbour& neighbour : node_) {
    std::atomic<uint32_t>& asleep = neighbour.seat->asleep;
    if (neighbour.seat == seat_ || asleep.load(std::memory_order_relaxed) == 0) continue;
    const uint32_t who = asleep.exchange(0, std::memory_order_acq_rel);
    if ((who & kDriverAsleep) != 0) futex_wake(asleep, true);
    if ((who & kHelperAsleep) != 0) bell_->ring(neighbour.bell);
  }
}

void Doorbell::wake_own_driver() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if ((seat_->asleep.load(std::memory_order_relaxed) & kDriverAsleep) == 0) return;
  seat_->asleep.fetch_and(~kDriverAsleep, std::memory_order_relaxed);
  futex_wake(seat_->asleep, true);
}

void Doorbell::wake_helpers() {
  for (const Neighbour& neighbour : node_) bell_->ring(neighbour.bell);
}

uint32_t Doorbell::prepare(uint32_t bit) {
  board_->sleepers.fetch_add(1, std::memory_order_relaxed);
  const uint32_t value = seat_->asleep.fetch_or(bit, std::memory_order_relaxed) | bit;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return value;
}

void Doorbell::sleep(uint32_t expected, std::chrono::nanoseconds limit) {
  futex_wait(seat_->asleep, expected, true, limit);
}

void Doorbell::cancel(uint32_t bit) {
  seat_->asleep.fetch_and(~bit, std::memory_order_relaxed);
  board_->sleepers.fetch_sub(1, std::memory_order_relaxed);
}

void futex_wait(const std::atomic<uint32_t>& word, uint32_t expected, bool shared,
                std::chrono::nanoseconds limit) {
  timespec time{};
  time.tv_sec = static_cast<time_t>(limit.count() / 1'000'000'000);
  time.tv_nsec = static_cast<long>(limit.count() % 1'000'000'000);
  syscall(SYS_futex, &word, FUTEX_WAIT | (shared ? 0 : FUTEX_PRIVATE_FLAG), expected,
          limit.count() < 0 ? nullptr : &time, nullptr, 0);
}

void futex_wake(const std::atomic<uint32_t>& word, bool shared) {
  syscall(SYS_futex, &word, FUTEX_WAKE | (shared ? 0 : FUTEX_PRIVATE_FLAG), INT_MAX, nullptr,
          nullptr, 0);
}

}  // namespace ff
