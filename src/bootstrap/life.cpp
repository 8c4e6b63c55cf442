#include "bootstrap/life.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ff::bootstrap {

Result<Life> make_life(bool try_pidfd) {
  Life life;
#ifdef SYS_pidfd_open
  if (try_pidfd) {
    life.watched.reset(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
    if (life.watched.valid()) return life;
    const bool absent = errno == ENOSYS || errno == EPERM || errno == EACCES;
    if (!absent) return system_error("pidfd_open", errno);
  }
#endif
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return system_error("pipe2", errno);
  life.watched.reset(ends[0]);
  life.held = GuardedDescriptor(FileDescriptor(ends[1]));
  return life;
}

}  // namespace ff::bootstrap
