// A point in time that a wait must not pass, and poll() that respects it whatever signals arrive.
#pragma once
#include <errno.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <span>

#include "base/status.hpp"

namespace ff::bootstrap {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;

// A negative timeout is no limit. Saturates: a timeout of years is "never", not yesterday.
inline Time deadline_after(Time start, std::chrono::nanoseconds timeout) {
  const std::chrono::nanoseconds most = std::chrono::hours(24 * 365);
  return start + (timeout < std::chrono::nanoseconds(0) ? most : std::min(timeout, most));
}

inline double seconds_since(Time start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// How many of `polled` are ready; 0 when `until` has passed. A signal only makes it look again.
inline Result<int> poll_until(std::span<pollfd> polled, Time until) {
  using namespace std::chrono;
  for (;;) {
    const nanoseconds left = std::max<nanoseconds>(until - Clock::now(), nanoseconds(0));
    const auto whole = duration_cast<seconds>(left);
    const timespec limit = {whole.count(), static_cast<long>((left - whole).count())};
    const int ready = ppoll(polled.data(), polled.size(), &limit, nullptr);
    if (ready >= 0) return ready;
    if (errno != EINTR) return system_error("ppoll", errno);
  }
}

}  // namespace ff::bootstrap
