#include "ff/run/spawn.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <vector>

extern char** environ;

namespace ff::tools::run {
namespace {

static_assert(sizeof(StartError) <= PIPE_BUF);

[[noreturn]] void give_up(int rank, StartStep step, int start_errors) {
  const StartError error{rank, step, errno};
  // If even this fails, the exit code of a process that printed nothing has to tell.
  [[maybe_unused]] const ssize_t written = write(start_errors, &error, sizeof error);
  _exit(127);
}

bool bind_to(int cpu) {
  const auto count = static_cast<size_t>(cpu) + 1;
  cpu_set_t* const mask = CPU_ALLOC(count);  // the program to come never sees this heap
  const size_t bytes = CPU_ALLOC_SIZE(count);
  CPU_ZERO_S(bytes, mask);
  CPU_SET_S(static_cast<size_t>(cpu), bytes, mask);
  return sched_setaffinity(0, bytes, mask) == 0;
}

// Everything but 0, 1, 2 and `kept` will be closed by exec; ours are already, those that the
// launcher was started with are not.
bool close_on_exec_except(int kept) {
  const auto fd = static_cast<unsigned>(kept);
  if (fcntl(kept, F_SETFD, 0) != 0) return false;
  if (close_range(3, fd - 1, CLOSE_RANGE_CLOEXEC) == 0 &&
      close_range(fd + 1, UINT_MAX, CLOSE_RANGE_CLOEXEC) == 0)
    return true;
  rlimit limit;  // before Linux 5.11
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  for (int other = 3; static_cast<rlim_t>(other) < limit.rlim_cur; ++other) {
    if (other != kept) fcntl(other, F_SETFD, FD_CLOEXEC);
  }
  return true;
}

bool connect_standard_streams(int rank, int output, int error) {
  if (rank != 0) {
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0) return false;
  }
  return dup2(output, STDOUT_FILENO) >= 0 && dup2(error, STDERR_FILENO) >= 0;
}

void restore(const Inherited& inherited) {
  sigaction(SIGPIPE, &inherited.pipe, nullptr);
  sigaction(SIGTTOU, &inherited.background_write, nullptr);
  sigaction(SIGCHLD, &inherited.child, nullptr);
  setrlimit(RLIMIT_NOFILE, &inherited.descriptors);
  sigprocmask(SIG_SETMASK, &inherited.mask, nullptr);
}

std::string describe_program(const StartError& error, const std::string& program) {
  const bool is_path = program.find('/') != std::string::npos;
  if (error.error == ENOENT && !is_path) {
    const char* const path = getenv("PATH");
    return fmt::format("program '{}' is not in PATH ({})", program, path ? path : "not set");
  }
  if (error.error == ENOENT && access(program.c_str(), F_OK) == 0)
    return fmt::format("program '{}' exists, but its interpreter (\"#!\" or ELF) does not",
                       program);
  if (error.error == ENOENT) return fmt::format("program '{}' does not exist", program);
  return fmt::format("program '{}' cannot be run: {}", program, strerror(error.error));
}

}  // namespace

Inherited save_inherited() {
  Inherited inherited = {};
  sigprocmask(SIG_SETMASK, nullptr, &inherited.mask);
  sigaction(SIGPIPE, nullptr, &inherited.pipe);
  sigaction(SIGTTOU, nullptr, &inherited.background_write);
  sigaction(SIGCHLD, nullptr, &inherited.child);
  if (getrlimit(RLIMIT_NOFILE, &inherited.descriptors) != 0)
    fail("cannot read the limit of descriptors", errno);
  return inherited;
}

std::string describe(const StartError& error, const Options& options) {
  switch (error.step) {
    case StartStep::kBind:
      return fmt::format("cannot bind it to a CPU: {}", strerror(error.error));
    case StartStep::kDirectory:
      return fmt::format("cannot change to --wdir {}: {}", options.directory,
                         strerror(error.error));
    case StartStep::kProgram: {
      std::string text = describe_program(error, options.program.front());
      if (!options.directory.empty()) text += fmt::format(" (in --wdir {})", options.directory);
      return text;
    }
    case StartStep::kProcess:
      break;
  }
  return fmt::format("cannot make its process: {}{}", strerror(error.error),
                     error.error == EAGAIN ? " (limit of processes: ulimit -u)" : "");
}

std::optional<StartError> spawn(int rank, const SpawnRequest& request, RankProcess& started) {
  const Options& options = request.options;
  Pipe output = make_pipe(0);
  Pipe error = make_pipe(0);
  std::vector<std::string> variables = environment_of(rank, options, request.identity);
  std::vector<char*> environment, arguments;
  for (std::string& variable : variables) environment.push_back(variable.data());
  for (const std::string& word : options.program)
    arguments.push_back(const_cast<char*>(word.c_str()));  // exec's type, not its behaviour
  environment.push_back(nullptr);
  arguments.push_back(nullptr);
  const int cpu = options.bind_cores ? allowed_cpus().at(static_cast<size_t>(rank)) : -1;

  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return StartError{rank, StartStep::kProcess, errno};
  if (pid == 0) {
    const int errors = request.start_errors;
    // The parent may have died before the request took effect; then nobody is left to tell.
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) give_up(rank, StartStep::kProcess, errors);
    if (getppid() != parent) _exit(127);
    const pid_t group = rank == 0 ? request.terminal_group : 0;
    if (setpgid(0, group) != 0) give_up(rank, StartStep::kProcess, errors);
    if (cpu >= 0 && !bind_to(cpu)) give_up(rank, StartStep::kBind, errors);
    if (!connect_standard_streams(rank, output.write.get(), error.write.get()) ||
        !close_on_exec_except(request.identity.secret.get()))
      give_up(rank, StartStep::kProcess, errors);
    if (!options.directory.empty() && chdir(options.directory.c_str()) != 0)
      give_up(rank, StartStep::kDirectory, errors);
    restore(request.inherited);
    environ = environment.data();  // so that PATH is searched as the rank will see it
    execvp(arguments.front(), arguments.data());
    give_up(rank, StartStep::kProgram, errors);
  }
  for (const int end : {output.read.get(), error.read.get()}) {
    if (fcntl(end, F_SETFL, O_NONBLOCK) != 0) fail("cannot set O_NONBLOCK", errno);
  }
  started = {pid, std::move(output.read), std::move(error.read)};
  return std::nullopt;
}

}  // namespace ff::tools::run
