// What the kernel tells about a process, under a root directory that is passed in ("/" in earnest).
#pragma once
#include <cstdint>
#include <string>

#include "base/status.hpp"

namespace ff {

struct ProcessFacts {
  int64_t pid = 0;
  int64_t parent = 0;
  uint64_t start_time = 0;  // clock ticks after boot: with the pid, a name that is never reused
  std::string command;      // at most 15 bytes
};

// FF_ERROR_UNREACHABLE when there is no such process (or /proc hides it).
Result<ProcessFacts> read_process(const std::string& root, int64_t pid);

// This process's number in the PID namespace that this /proc shows; 0 when it shows none.
int64_t own_pid(const std::string& root);

// Two processes of one PID namespace give the same number; 0 = unknown.
uint64_t pid_namespace(const std::string& root);

}  // namespace ff
