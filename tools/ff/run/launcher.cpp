// Two processes guard each other, because the death of either must end the job:
//
//   launcher --- pipe ---> warden ---> rank 0, rank 1, ... ---> whatever they start
//
// Both are subreapers. If the launcher dies, the pipe ends, and the warden kills all that is below
// it. If the warden dies, its children get SIGKILL from the kernel and what they had started
// becomes the launcher's; it kills that. Neither leaves anything behind that a signal can reach.
#include "ff/run/launcher.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <set>
#include <vector>

#include "ff/run/outcome.hpp"
#include "ff/run/process_tree.hpp"
#include "ff/run/spawn.hpp"
#include "ff/run/system.hpp"
#include "ff/run/warden.hpp"

namespace ff::tools::run {
namespace {

constexpr std::chrono::seconds kSweepTime{10};
constexpr int kPatience = 3;  // signals to end after which a warden that does nothing is killed

void say(const std::string& text) { fmt::print(stderr, "ff run: {}\n", text); }

// A daemon may have closed 0, 1 or 2; the next descriptor we open must not take their place.
void open_standard_descriptors() {
  int fd = -1;
  do {
    fd = open("/dev/null", O_RDWR);  // takes the lowest free number
    if (fd < 0) fail("cannot open /dev/null", errno);
  } while (fd <= STDERR_FILENO);
  close(fd);
}

// Children that an earlier program of this very process left to us ("sleep 9 & exec ff run ...").
std::set<pid_t> children_of_others() {
  std::set<pid_t> children;
  for (const Process& process : descendants().value_or(std::vector<Process>())) {
    if (process.parent == getpid()) children.insert(process.pid);
  }
  return children;
}

[[noreturn]] void be_warden(const Options& options, const Inherited& inherited, Pipe pipe,
                            pid_t terminal_group) {
  pipe.write.reset();
  prctl(PR_SET_NAME, "ff-warden");
  // Out of reach of what hits the launcher's group: Ctrl-C comes through the pipe instead, and
  // kill -9 to the group must find someone to clean up.
  setpgid(0, 0);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGTTOU, SIG_IGN);  // the ranks' output may go to the terminal of another group
  rlimit descriptors = inherited.descriptors;
  descriptors.rlim_cur = descriptors.rlim_max;  // three for each rank
  setrlimit(RLIMIT_NOFILE, &descriptors);
  Warden warden({options, inherited, pipe.read.get(), terminal_group});
  _exit(warden.run());
}

// Kills whatever is below this process, until nothing is. The signals of launcher_signals() are
// blocked.
void sweep(const std::set<pid_t>& spared) {
  const auto deadline = std::chrono::steady_clock::now() + kSweepTime;
  sigset_t child_ended;
  sigemptyset(&child_ended);
  sigaddset(&child_ended, SIGCHLD);
  for (;;) {
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    const std::vector<Process> left = descendants(spared).value_or(std::vector<Process>());
    if (left.empty()) return;
    for (const Process& process : left) send_signal(process, SIGKILL);
    const auto rest = std::chrono::duration_cast<std::chrono::nanoseconds>(
        deadline - std::chrono::steady_clock::now());
    if (rest.count() <= 0) {
      say("cannot end " + list_processes(left) + "; kill -9 had no effect in time");
      return;
    }
    const timespec limit = {rest.count() / 1'000'000'000, rest.count() % 1'000'000'000};
    sigtimedwait(&child_ended, nullptr, &limit);
  }
}

// The launcher's side of a running job.
class Watch {
 public:
  Watch(pid_t warden, Descriptor pipe) : warden_(warden), pipe_(std::move(pipe)) {
    const sigset_t set = launcher_signals();
    signals_ = Descriptor(signalfd(-1, &set, SFD_CLOEXEC));
    if (!signals_.valid()) fail("cannot make a signalfd", errno);
  }

  // Until the warden has ended; returns the exit code.
  int wait() {
    for (;;) {
      signalfd_siginfo info = {};
      if (read(signals_.get(), &info, sizeof info) != sizeof info) {
        if (errno == EINTR) continue;
        fail("cannot wait for signals", errno);
      }
      const int signal = static_cast<int>(info.ssi_signo);
      if (signal != SIGCHLD) {
        pass_on(signal);
        continue;
      }
      siginfo_t child = {};
      if (waitid(P_PID, static_cast<id_t>(warden_), &child, WEXITED | WNOHANG) == 0 &&
          child.si_pid == warden_)
        return judge(outcome_of(child));
    }
  }

  // The signal that ended the job, if one that is worth dying of did.
  int last_ending_signal() const { return ending_signal_; }

 private:
  void pass_on(int signal) {
    tell(signal);
    if (signal == SIGTSTP) {
      stop_self();
      tell(SIGCONT);
    } else if (signal != SIGUSR1 && signal != SIGUSR2) {
      ending_signal_ = signal;
      if (++endings_ >= kPatience) kill(warden_, SIGKILL);
    }
  }

  void tell(int signal) {
    const auto byte = static_cast<unsigned char>(signal);
    [[maybe_unused]] const ssize_t written = write(pipe_.get(), &byte, 1);  // fails: it has ended
  }

  // As if SIGTSTP had not been taken; returns when continued, or at once where nobody could.
  void stop_self() {
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    raise(SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &stop, nullptr);
    sigprocmask(SIG_BLOCK, &stop, nullptr);
  }

  int judge(const Outcome& warden) const {
    if (warden.by_signal)
      say(fmt::format("the warden (pid {}), which watches over the ranks, {}; ending the job",
                      warden_, describe(warden)));
    return warden.exit_code();
  }

  pid_t warden_;
  Descriptor pipe_, signals_;
  int endings_ = 0;
  int ending_signal_ = 0;
};

// A shell stops its script after Ctrl-C only if it sees that we died of it.
void die_of(int signal_number) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal_number);
  signal(signal_number, SIG_DFL);
  raise(signal_number);
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace

int launch(const Options& options) {
  open_standard_descriptors();
  const Inherited inherited = save_inherited();
  const std::set<pid_t> spared = children_of_others();
  signal(SIGCHLD, SIG_DFL);  // ignored, it would take the exit codes with it
  const sigset_t set = launcher_signals();
  sigprocmask(SIG_BLOCK, &set, nullptr);
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) fail("cannot become a subreaper", errno);
  const pid_t terminal_group = isatty(STDIN_FILENO) ? getpgrp() : 0;

  Pipe pipe = make_pipe(0);
  const pid_t warden = fork();
  if (warden < 0) fail("cannot make a process", errno);
  if (warden == 0) be_warden(options, inherited, std::move(pipe), terminal_group);
  pipe.read.reset();
  signal(SIGPIPE, SIG_IGN);
  Watch watch(warden, std::move(pipe.write));
  const int code = watch.wait();
  sweep(spared);
  const int ending = watch.last_ending_signal();
  if (ending != 0 && ending != SIGQUIT && code == 128 + ending) die_of(ending);
  return code;
}

}  // namespace ff::tools::run
