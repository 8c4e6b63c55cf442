// Finds and signals every process that descends from one: also those that left their session,
// ignore SIGTERM, or lost their parent.
//
// The root must be the subreaper of its descendants (PR_SET_CHILD_SUBREAPER), so that an orphan
// becomes its child instead of init's. Then an empty answer of descendants() is proof: a reading
// of /proc is not atomic and may miss a process whose parent changes meanwhile, but whatever is
// left hangs from some child of the root, and only the root can make its own children vanish.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ff::tools::run {

struct Process {
  pid_t pid = -1, parent = -1;
  char state = '?';          // as in /proc/PID/stat: R, S, D, T, Z, ...
  uint64_t start_ticks = 0;  // with the pid, names a process for good
  std::string name;
};

// All descendants of the calling process, without the children in `spared` and what hangs from
// them. nullopt: /proc is missing or shows another PID namespace.
std::optional<std::vector<Process>> descendants(const std::set<pid_t>& spared = {});

// Sends a signal unless the process has ended; never hits another that was given its pid.
void send_signal(const Process& process, int signal);

// "python3 (pid 12), sh (pid 15)"
std::string list_processes(const std::vector<Process>& processes);

}  // namespace ff::tools::run
