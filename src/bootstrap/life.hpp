// A descriptor that tells others that this process has died: it becomes readable then.
//
// A pidfd of the process itself, which can be passed on and polled from any PID namespace and
// outlives the process's number. Where the kernel or a sandbox has no pidfd_open, the read end of a
// pipe whose write end only this process holds (a forked child gives it up): the same to poll().
#pragma once
#include "base/file_descriptor.hpp"
#include "base/status.hpp"
#include "bootstrap/fork_guard.hpp"

namespace ff::bootstrap {

struct Life {
  FileDescriptor watched;  // to be passed on: POLLIN or POLLHUP once this process is gone
  GuardedDescriptor held;  // the pipe's write end; invalid with a pidfd. Keep while alive
};

// `try_pidfd` false goes straight to the pipe: tests run both ways everywhere.
Result<Life> make_life(bool try_pidfd);

}  // namespace ff::bootstrap
