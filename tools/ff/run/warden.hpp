// The process between the launcher and the ranks: starts them, relays their output, and ends the
// job, whatever the reason. docs/design/launcher.md tells why there are two processes.
//
// The warden is the subreaper of all ranks: whatever they start stays below it until it is gone.
// It is told what to do through a pipe whose other end only the launcher holds: a byte is the
// number of a signal that the launcher got, the end of the pipe is the launcher's death.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "ff/run/environment.hpp"
#include "ff/run/options.hpp"
#include "ff/run/outcome.hpp"
#include "ff/run/output.hpp"
#include "ff/run/spawn.hpp"
#include "ff/run/system.hpp"

namespace ff::tools::run {

class Warden {
 public:
  struct Setup {
    const Options& options;
    const Inherited& inherited;
    int launcher;          // read end of the launcher's pipe
    pid_t terminal_group;  // see SpawnRequest
  };
  explicit Warden(const Setup& setup);

  // Runs the job to its end; returns the exit code of `ff run`. Once, in a process of its own that
  // has no other children and blocks the signals of launcher_signals().
  int run();

 private:
  using Clock = std::chrono::steady_clock;
  // Each phase ends early when no process of the job is left.
  enum class Phase {
    kRunning,
    kSettling,     // one rank failed, or all ended: the rest may end by itself, for a moment
    kTerminating,  // SIGTERM was sent; --grace runs
    kKilling,      // SIGKILL was sent, and is again to whatever shows up
    kAbandoned     // not even that helped, within reason
  };
  // Why the job ends, first come: later events are consequences.
  enum class Cause {
    kNone,
    kRankFailed,
    kCannotStart,
    kSignal,
    kTimeout,
    kOutputLost,
    kLauncherDied
  };
  struct Rank {
    pid_t pid = -1;
    Descriptor pidfd;  // invalid before it started, after it ended, and where pidfds do not work
  };

  void start_ranks();
  void watch(int fd, uint64_t key);
  void watch_end(size_t rank);
  void handle(uint64_t key);
  void handle_launcher();
  void handle_signal(int signal);
  void reap();
  void rank_ended(size_t rank, const Outcome& outcome);
  void rank_failed(size_t rank, pid_t pid);
  void read_start_errors();

  void enter(Phase phase);
  void advance_on_deadline();
  void signal_all(int signal);
  void suspend();
  void resume();
  bool finished() const;
  int milliseconds_to_deadline() const;

  void report();
  void write_out();
  int exit_code() const;
  std::string list_running() const;

  const Options& options_;
  const Inherited& inherited_;
  int launcher_;
  pid_t terminal_group_;
  JobIdentity identity_;
  Descriptor epoll_, signals_;
  Pipe start_errors_;
  Output output_;

  std::vector<Rank> ranks_;
  std::vector<Outcome> outcomes_;
  size_t running_ = 0;          // ranks
  bool have_children_ = false;  // of any kind, adopted ones too

  Phase phase_ = Phase::kRunning;
  Clock::time_point deadline_ = Clock::time_point::max();  // of phase_
  std::optional<Clock::time_point> suspended_at_;
  Cause cause_ = Cause::kNone;
  size_t culprit_ = 0;                     // kRankFailed, kCannotStart
  std::optional<StartError> start_error_;  // kCannotStart
  int signal_ = 0;                         // kSignal
  size_t requests_to_end_ = 0;             // signals, and the launcher's death
};

// What both processes take through a signalfd; SIGHUP only if nohup has not silenced it.
sigset_t launcher_signals();

}  // namespace ff::tools::run
