// Starts the process of one rank.
#pragma once
#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <optional>
#include <string>

#include "ff/run/environment.hpp"
#include "ff/run/options.hpp"
#include "ff/run/system.hpp"

namespace ff::tools::run {

// What the launcher changed for itself and a rank must not inherit. save_inherited() before the
// first change.
struct Inherited {
  sigset_t mask;
  struct sigaction pipe, background_write, child;  // SIGPIPE, SIGTTOU, SIGCHLD
  rlimit descriptors;
};
Inherited save_inherited();

struct RankProcess {
  pid_t pid = -1;
  Descriptor output, error;  // our ends of its standard output and error; non-blocking
};

// Why a rank's program could not be run. Each rank that cannot writes one to the job's pipe and
// exits; as long as PIPE_BUF, so that they do not mix.
enum class StartStep : int { kProcess, kBind, kDirectory, kProgram };
struct StartError {
  int rank;
  StartStep step;
  int error;  // errno
};
std::string describe(const StartError& error, const Options& options);

// Forks and returns at once; the child executes the program with
//  - standard input: the launcher's for rank 0, else /dev/null; output and error: fresh pipes;
//  - no other descriptor but the secret's;
//  - a process group of its own, so that a script's `kill 0` stays within the rank. Except rank 0
//    if standard input is a terminal: only the terminal's foreground group may read from it;
//  - SIGKILL when the calling thread's process dies.
// `start_errors` is the write end of the pipe for StartError. When even fork fails: StartError.
struct SpawnRequest {
  const Options& options;
  const JobIdentity& identity;
  const Inherited& inherited;
  pid_t terminal_group;  // of the launcher; 0 unless standard input is a terminal
  int start_errors;
};
std::optional<StartError> spawn(int rank, const SpawnRequest& request, RankProcess& started);

}  // namespace ff::tools::run
