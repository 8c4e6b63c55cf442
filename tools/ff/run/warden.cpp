// One epoll loop. Its order of work matters twice:
//  - Ranks are reaped when their pidfd says so, in the order in which epoll reports: that is the
//    order in which they died, so the first failure is named and not one of its consequences.
//    SIGCHLD only tells about adopted processes (and about ranks where pidfds do not work).
//  - What a rank wrote is taken in when it has ended, before its end is judged: its last lines are
//    part of the report.
#include "ff/run/warden.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "ff/run/process_tree.hpp"

namespace ff::tools::run {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Survivors of a failed rank need about 100 ms to agree on whom to blame and to say so.
constexpr milliseconds kSettleTime{1000};
constexpr seconds kKillTime{10};
constexpr size_t kReportedLines = 10;
constexpr size_t kNamedRanks = 32;

constexpr uint64_t kLauncherKey = 0, kSignalKey = 1, kSinkKey = 2;
constexpr uint64_t kRankKey = uint64_t{1} << 32, kStreamKey = uint64_t{2} << 32;

bool ends_the_job(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

}  // namespace

sigset_t launcher_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCHLD})
    sigaddset(&set, signal);
  struct sigaction hangup = {};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaddset(&set, SIGHUP);
  return set;
}

Warden::Warden(const Setup& setup)
    : options_(setup.options),
      inherited_(setup.inherited),
      launcher_(setup.launcher),
      terminal_group_(setup.terminal_group),
      identity_(make_identity()),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      start_errors_(make_pipe(O_NONBLOCK)),
      output_(epoll_.get(), kStreamKey, kSinkKey, setup.options) {
  if (!epoll_.valid()) fail("cannot make an epoll descriptor", errno);
  const sigset_t set = launcher_signals();
  signals_ = Descriptor(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_.valid()) fail("cannot make a signalfd", errno);
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) fail("cannot become a subreaper", errno);
  watch(launcher_, kLauncherKey);
  watch(signals_.get(), kSignalKey);
}

void Warden::watch(int fd, uint64_t key) {
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.u64 = key;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0)
    fail("cannot watch a descriptor", errno);
}

int Warden::run() {
  start_ranks();
  std::array<epoll_event, 64> events;
  while (!finished()) {
    output_.pump();
    if (output_.write_error() != 0 && cause_ == Cause::kNone) {
      cause_ = Cause::kOutputLost;
      enter(Phase::kTerminating);
    }
    const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                 milliseconds_to_deadline());
    if (count < 0 && errno != EINTR) fail("cannot wait for events", errno);
    for (int i = 0; i < count; ++i) handle(events[static_cast<size_t>(i)].data.u64);
    if (running_ == 0 && phase_ == Phase::kRunning && have_children_) enter(Phase::kSettling);
    advance_on_deadline();
  }
  if (cause_ != Cause::kLauncherDied) {
    output_.finish();
    report();
    write_out();
  }
  return exit_code();
}

void Warden::start_ranks() {
  const auto count = static_cast<size_t>(options_.ranks);
  ranks_.resize(count);
  outcomes_.resize(count);
  const SpawnRequest request = {options_, identity_, inherited_, terminal_group_,
                                start_errors_.write.get()};
  for (size_t rank = 0; rank < count; ++rank) {
    RankProcess started;
    if (const auto error = spawn(static_cast<int>(rank), request, started)) {
      cause_ = Cause::kCannotStart;
      culprit_ = rank;
      start_error_ = error;
      enter(Phase::kTerminating);
      return;
    }
    ranks_[rank].pid = started.pid;
    ++running_;
    have_children_ = true;
    output_.add_rank(std::move(started.output), std::move(started.error));
    watch_end(rank);
  }
  if (options_.timeout) deadline_ = Clock::now() + *options_.timeout;
}

void Warden::watch_end(size_t rank) {
  Descriptor pidfd(static_cast<int>(syscall(SYS_pidfd_open, ranks_[rank].pid, 0)));
  if (!pidfd.valid()) {
    if (errno == EMFILE || errno == ENFILE) fail("cannot open a pidfd", errno);
    return;  // an old kernel or a strict container: SIGCHLD has to do
  }
  fcntl(pidfd.get(), F_SETFD, FD_CLOEXEC);
  watch(pidfd.get(), kRankKey + rank);
  ranks_[rank].pidfd = std::move(pidfd);
}

void Warden::handle(uint64_t key) {
  if (key >= kStreamKey) {
    output_.on_readable(key - kStreamKey);
  } else if (key >= kRankKey) {
    const size_t rank = key - kRankKey;
    siginfo_t child = {};
    if (waitid(P_PID, static_cast<id_t>(ranks_[rank].pid), &child, WEXITED | WNOHANG) != 0 ||
        child.si_pid == 0)
      return;
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, ranks_[rank].pidfd.get(), nullptr);
    ranks_[rank].pidfd.reset();
    rank_ended(rank, outcome_of(child));
    reap();  // may have stopped at this rank
  } else if (key == kLauncherKey) {
    handle_launcher();
  } else if (key == kSignalKey) {
    signalfd_siginfo info = {};
    while (read(signals_.get(), &info, sizeof info) == sizeof info) {
      const int signal = static_cast<int>(info.ssi_signo);
      signal == SIGCHLD ? reap() : handle_signal(signal);
    }
  }  // a sink's key: pump() does the work
}

void Warden::handle_launcher() {
  std::array<unsigned char, 16> signals;
  const ssize_t count = read(launcher_, signals.data(), signals.size());
  if (count < 0) return;
  if (count == 0) {
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, launcher_, nullptr);
    cause_ = Cause::kLauncherDied;
    ++requests_to_end_;
    enter(Phase::kKilling);
  }
  for (ssize_t i = 0; i < count; ++i) handle_signal(signals[static_cast<size_t>(i)]);
}

void Warden::handle_signal(int signal) {
  if (ends_the_job(signal)) {
    ++requests_to_end_;
    if (cause_ == Cause::kNone) {
      cause_ = Cause::kSignal;
      signal_ = signal;
      output_.say(fmt::format("got {}; ending {}", signal_name(signal), list_running()));
    }
    enter(phase_ < Phase::kTerminating ? Phase::kTerminating : Phase::kKilling);
  } else if (signal == SIGTSTP) {
    suspend();
  } else if (signal == SIGCONT) {
    resume();
  } else {
    for (size_t rank = 0; rank < ranks_.size(); ++rank) {
      // Not yet waited for, so the number cannot have passed to another process.
      if (ranks_[rank].pid > 0 && !outcomes_[rank].ended) kill(ranks_[rank].pid, signal);
    }
  }
}

void Warden::reap() {
  for (;;) {
    siginfo_t child = {};
    if (waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) != 0) {
      have_children_ = errno != ECHILD;
      return;
    }
    if (child.si_pid == 0) break;
    const auto found = std::find_if(ranks_.begin(), ranks_.end(), [&child](const Rank& rank) {
      return rank.pid == child.si_pid;
    });
    if (found != ranks_.end() && found->pidfd.valid()) return;  // its own event comes, in order
    waitid(P_PID, static_cast<id_t>(child.si_pid), &child, WEXITED | WNOHANG);
    if (found != ranks_.end())
      rank_ended(static_cast<size_t>(found - ranks_.begin()), outcome_of(child));
  }
  if (phase_ == Phase::kKilling) signal_all(SIGKILL);  // children of the dead may be new to us
}

void Warden::rank_ended(size_t rank, const Outcome& outcome) {
  output_.rank_ended(static_cast<int>(rank));
  const pid_t pid = std::exchange(ranks_[rank].pid, -1);
  outcomes_[rank] = outcome;
  --running_;
  if (cause_ != Cause::kNone || !outcome.failed()) return;
  culprit_ = rank;
  read_start_errors();
  rank_failed(rank, pid);
}

void Warden::read_start_errors() {
  StartError error;
  while (read(start_errors_.read.get(), &error, sizeof error) == sizeof error) {
    if (!start_error_ || static_cast<size_t>(error.rank) == culprit_) start_error_ = error;
  }
}

void Warden::rank_failed(size_t rank, pid_t pid) {
  if (start_error_) {
    cause_ = Cause::kCannotStart;
    culprit_ = static_cast<size_t>(start_error_->rank);
    enter(Phase::kTerminating);
    return;
  }
  cause_ = Cause::kRankFailed;
  output_.say(
      fmt::format("rank {} (pid {}) {}; the job ends", rank, pid, describe(outcomes_[rank])));
  if (phase_ == Phase::kRunning) enter(Phase::kSettling);
}

void Warden::enter(Phase phase) {
  if (phase <= phase_) return;
  phase_ = phase;
  if (phase >= Phase::kTerminating) suspended_at_.reset();  // ends continue what was stopped
  const Clock::time_point now = Clock::now();
  switch (phase) {
    case Phase::kSettling:
      deadline_ = now + kSettleTime;
      break;
    case Phase::kTerminating:
      if (cause_ == Cause::kNone) {
        if (const auto left = descendants(); left && !left->empty())
          output_.say("ending what ranks left behind: " + list_processes(*left));
      } else if (cause_ == Cause::kRankFailed) {
        output_.say("ending " + list_running());
      }
      signal_all(SIGTERM);
      signal_all(SIGCONT);  // one that is stopped would not see it
      deadline_ = now + options_.grace;
      break;
    case Phase::kKilling:
      signal_all(SIGKILL);
      deadline_ = now + kKillTime;
      break;
    case Phase::kRunning:
    case Phase::kAbandoned:
      break;
  }
}

void Warden::advance_on_deadline() {
  if (suspended_at_ || Clock::now() < deadline_) return;
  switch (phase_) {
    case Phase::kRunning:
      cause_ = Cause::kTimeout;
      output_.say(fmt::format("--timeout of {} s has passed; ending {}",
                              std::chrono::duration<double>(*options_.timeout).count(),
                              list_running()));
      enter(Phase::kTerminating);
      break;
    case Phase::kSettling:
      enter(Phase::kTerminating);
      break;
    case Phase::kTerminating:
      enter(Phase::kKilling);
      break;
    case Phase::kKilling:
      enter(Phase::kAbandoned);  // the launcher tries once more and names them
      break;
    case Phase::kAbandoned:
      break;
  }
}

int Warden::milliseconds_to_deadline() const {
  if (suspended_at_ || deadline_ == Clock::time_point::max()) return -1;
  const auto left = std::chrono::ceil<milliseconds>(deadline_ - Clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 1'000'000'000));
}

void Warden::signal_all(int signal) {
  if (const auto all = descendants()) {
    for (const Process& process : *all) {
      if (process.state != 'Z') send_signal(process, signal);
    }
    return;
  }
  for (const Rank& rank : ranks_) {  // no /proc: at least those that we know
    if (rank.pid > 0) kill(rank.pid, signal);
  }
}

// Ctrl-Z reaches the launcher's process group only, and ranks have their own.
void Warden::suspend() {
  if (suspended_at_) return;
  suspended_at_ = Clock::now();
  signal_all(SIGSTOP);
}

void Warden::resume() {
  if (!suspended_at_) return;
  if (deadline_ != Clock::time_point::max()) deadline_ += Clock::now() - *suspended_at_;
  suspended_at_.reset();
  signal_all(SIGCONT);
}

bool Warden::finished() const {
  return (running_ == 0 && !have_children_) || phase_ == Phase::kAbandoned;
}

void Warden::report() {
  if (cause_ == Cause::kCannotStart) {
    output_.say(
        fmt::format("cannot start rank {}: {}", culprit_, describe(*start_error_, options_)));
  } else if (cause_ == Cause::kRankFailed) {
    const auto lines = output_.last_error_lines(static_cast<int>(culprit_), kReportedLines);
    if (!lines.empty())
      output_.say(fmt::format("the last lines of rank {} on standard error:", culprit_));
    for (const std::string& line : lines) output_.say("  | " + line);
    if (ranks_.size() > 1)
      output_.say("the others: " + summarize(outcomes_, static_cast<int>(culprit_)));
  }
}

// The reader may be slow. A signal to end that comes now, or the second of the
// job, or the launcher's death, leaves the rest unwritten.
void Warden::write_out() {
  const size_t requests_before = requests_to_end_;
  for (output_.pump();
       !output_.flushed() && requests_to_end_ == requests_before && requests_to_end_ < 2;
       output_.pump()) {
    std::array<epoll_event, 8> events;
    const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), -1);
    if (count < 0 && errno != EINTR) fail("cannot wait for events", errno);
    for (int i = 0; i < count; ++i) handle(events[static_cast<size_t>(i)].data.u64);
  }
}

int Warden::exit_code() const {
  switch (cause_) {
    case Cause::kRankFailed:
      return outcomes_[culprit_].exit_code();
    case Cause::kCannotStart:
      if (start_error_->step != StartStep::kProgram) return 1;
      return start_error_->error == ENOENT ? 127 : 126;  // as shells count
    case Cause::kSignal:
      return 128 + signal_;
    case Cause::kTimeout:
      return 124;  // as timeout(1) says it
    case Cause::kOutputLost:
    case Cause::kLauncherDied:
      return 1;
    case Cause::kNone:
      break;
  }
  return output_.write_error() != 0 ? 1 : 0;
}

std::string Warden::list_running() const {
  std::string text;
  size_t named = 0;
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (ranks_[rank].pid <= 0) continue;
    if (named++ == kNamedRanks) return text + fmt::format(" and {} more", running_ - kNamedRanks);
    text += fmt::format("{}rank {} (pid {})", text.empty() ? "" : ", ", rank, ranks_[rank].pid);
  }
  return text.empty() ? "what they left behind" : text;
}

}  // namespace ff::tools::run
