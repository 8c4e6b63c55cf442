// How a sleeping rank is woken: the last rung of the waiting ladder.
//
// A rank sleeps in one of two ways: a thread that drives a communicator sleeps on the futex
// Seat::asleep; the process's helper thread sleeps in epoll, and is rung through a datagram socket
// (one a process, whatever the number of peers).
//
// No wake-up is lost, by the usual exchange of flags:
//   sleeper                         publisher
//   1 set its bit in `asleep`       1 publish (a counter, an entry, the board)
//     and count itself a sleeper    2 full fence
//   2 full fence                    3 if Board::sleepers is not 0: clear each seat's `asleep`
//   3 look once more for work         and wake whoever it named
//   4 sleep while the bit is set
// Whichever fence comes second sees the other's first line.
//
// The publisher's usual cost is the fence and one load from a line that nobody writes.
#pragma once
#include <chrono>
#include <cstdint>
#include <span>
#include <string>

#include "base/file_descriptor.hpp"
#include "base/status.hpp"
#include "collective/engine/seat.hpp"

namespace ff {

inline constexpr uint32_t kDriverAsleep = 1;
inline constexpr uint32_t kHelperAsleep = 2;

// The process's bell: a Unix datagram socket in the abstract namespace, which leaves no file.
class Bell {
 public:
  static Result<Bell> create();
  int fd() const { return socket_.get(); }              // readable when rung
  const std::string& address() const { return name_; }  // give it to peers
  void silence();                                       // takes all rings that have come
  void ring(const std::string& address) const;  // never blocks; a bell that is full has been rung

 private:
  FileDescriptor socket_;
  std::string name_;
};

// The seats of one node as one of its ranks sees them.
struct Neighbour {
  Seat* seat = nullptr;
  std::string bell;  // of its process
};

class Doorbell {
 public:
  Doorbell(std::span<const Neighbour> node, size_t self, const Bell* bell);

  // Publisher: call after a release store, before waiting for anything.
  void ring_sleepers() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (board_->sleepers.load(std::memory_order_relaxed) != 0) [[unlikely]]
      wake_all();
  }
  void wake_all();         // whoever sleeps, on any seat but one's own
  void wake_own_driver();  // there is more for it to drive
  void wake_helpers();     // every process's helper, asleep or not: a failure was raised

  // Sleeper, driving thread. prepare(); look for work; then sleep() or cancel().
  uint32_t prepare(uint32_t bit);
  void sleep(uint32_t expected, std::chrono::nanoseconds limit);  // may return early
  void cancel(uint32_t bit);

 private:
  std::span<const Neighbour> node_;
  Seat* seat_;
  Board* board_;
  const Bell* bell_;
};

// Thin futex calls; `shared` between processes.
void futex_wait(const std::atomic<uint32_t>& word, uint32_t expected, bool shared,
                std::chrono::nanoseconds limit);                  // limit < 0: none
void futex_wake(const std::atomic<uint32_t>& word, bool shared);  // everyone

}  // namespace ff
