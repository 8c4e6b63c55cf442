// What a rank does in the launcher's tests: one verb, then its arguments. Knows nothing of the
// library; raw system calls, so that no buffering decides what the launcher sees.
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Arguments = std::vector<std::string>;

void put(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(fd, bytes.data(), bytes.size());
    if (count < 0) _exit(90);
    bytes.remove_prefix(static_cast<size_t>(count));
  }
}

int rank() { return atoi(getenv("FF_RANK")); }

[[noreturn]] void hold() {
  put(STDOUT_FILENO, "ready " + std::to_string(getpid()) + "\n");
  for (;;) pause();
}

int do_hold(const Arguments&) { hold(); }

int do_ignore_term(const Arguments&) {
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) signal(number, SIG_IGN);
  hold();
}

// Leaves a grandchild in a session of its own, without our output, deaf to all but SIGKILL.
void make_daemon() {
  std::array<int, 2> told;
  if (pipe(told.data()) != 0) _exit(91);
  if (fork() == 0) {
    setsid();
    if (fork() != 0) _exit(0);
    for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE}) signal(number, SIG_IGN);
    const int nothing = open("/dev/null", O_RDWR);
    for (int fd = 0; fd <= 2; ++fd) dup2(nothing, fd);
    put(told[1], "x");
    for (int fd = 3; fd < 256; ++fd) close(fd);
    for (;;) pause();
  }
  char byte;
  if (read(told[0], &byte, 1) != 1) _exit(92);
}

int do_daemon(const Arguments&) {
  make_daemon();
  hold();
}

int do_leave_daemon(const Arguments&) {
  make_daemon();
  return 0;
}

// A child that waits for its parent's end before it speaks.
int do_outlived_by_helper(const Arguments&) {
  const int self = static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0));
  if (fork() == 0) {
    pollfd ended = {self, POLLIN, 0};
    if (poll(&ended, 1, -1) != 1) _exit(89);
    put(STDOUT_FILENO, "the helper's last word\n");
    _exit(0);
  }
  return 0;
}

int do_exit(const Arguments& arguments) { return std::stoi(arguments.at(0)); }

// Rank `victim` prints and dies as told ("exit" or "signal", number); others hold.
int do_victim(const Arguments& arguments) {
  if (rank() != std::stoi(arguments.at(0))) hold();
  put(STDERR_FILENO, "first line\nabout to fail: \x1b[31m42\n");
  if (arguments.at(1) == "exit") return std::stoi(arguments.at(2));
  raise(std::stoi(arguments.at(2)));
  return 93;
}

// On SIGUSR1, more than one read takes, into a pipe that holds it all.
int do_last_words(const Arguments&) {
  sigset_t told;
  sigemptyset(&told);
  sigaddset(&told, SIGUSR1);
  sigprocmask(SIG_BLOCK, &told, nullptr);
  put(STDOUT_FILENO, "ready " + std::to_string(getpid()) + "\n");
  int number = 0;
  sigwait(&told, &number);
  std::string text;
  for (int line = 0; line < 5000; ++line) text += std::string(99, '.') + "\n";
  fcntl(STDERR_FILENO, F_SETPIPE_SZ, 1 << 20);
  put(STDERR_FILENO, text + "last word\n");
  return 3;
}

// The victim tells everyone its pid through a fifo each, then kills itself; the others see it die,
// say so, and exit at once: failures that follow the first within microseconds.
int do_watch_victim(const Arguments& arguments) {
  const int victim = std::stoi(arguments.at(0));
  if (rank() == victim) {
    const int ranks = atoi(getenv("FF_RANKS"));
    const pid_t self = getpid();
    for (int other = 0; other < ranks; ++other) {
      if (other == victim) continue;
      const int fifo = open(("fifo." + std::to_string(other)).c_str(), O_WRONLY);
      if (write(fifo, &self, sizeof self) != sizeof self) return 94;
    }
    raise(SIGKILL);
  }
  pid_t pid = -1;
  const int fifo = open(("fifo." + std::to_string(rank())).c_str(), O_RDONLY);
  if (read(fifo, &pid, sizeof pid) != sizeof pid) return 95;
  const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  pollfd ended = {pidfd, POLLIN, 0};
  if (pidfd >= 0) poll(&ended, 1, -1);
  put(STDERR_FILENO, "rank " + std::to_string(rank()) + " lost its peer\n");
  return 5;
}

// Lines of one letter, written in pieces of changing size.
int do_lines(const Arguments& arguments) {
  const int lines = std::stoi(arguments.at(0));
  const size_t length = std::stoul(arguments.at(1));
  const int fd = arguments.size() > 2 ? std::stoi(arguments[2]) : STDOUT_FILENO;
  std::string line(length, static_cast<char>('a' + rank()));
  line += '\n';
  size_t piece = 1;
  for (int i = 0; i < lines; ++i) {
    for (std::string_view rest = line; !rest.empty(); piece = piece * 7 % 65521 + 1) {
      const std::string_view now = rest.substr(0, piece);
      put(fd, now);
      rest.remove_prefix(now.size());
    }
  }
  return 0;
}

int do_text(const Arguments& arguments) {  // descriptor, text as it is
  put(std::stoi(arguments.at(0)), arguments.at(1));
  return 0;
}

// All byte values, no pattern that a text tool would keep.
int do_bytes(const Arguments& arguments) {
  std::string bytes(std::stoul(arguments.at(0)), '\0');
  uint32_t state = 1;
  for (char& byte : bytes) byte = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  put(STDOUT_FILENO, bytes);
  return 0;
}

// Writes until nobody has read for a while, says so on standard error, and holds.
int do_flood(const Arguments&) {
  constexpr size_t kLimit = size_t{64} << 20;
  const std::string line = std::string(999, 'x') + "\n";
  fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK);
  size_t written = 0;
  while (written < kLimit) {
    const ssize_t count = write(STDOUT_FILENO, line.data(), line.size());
    if (count > 0) written += static_cast<size_t>(count);
    pollfd room = {STDOUT_FILENO, POLLOUT, 0};
    if (count < 0 && poll(&room, 1, 500) == 0) break;
  }
  put(STDERR_FILENO, written < kLimit ? "held back\n" : "never held back\n");
  for (;;) pause();
}

int do_close_output(const Arguments&) {
  close(STDOUT_FILENO);
  put(STDERR_FILENO, "output is closed\n");
  return 0;
}

int do_write_until_broken(const Arguments&) {
  for (;;) put(STDOUT_FILENO, "more\n");
}

int do_descriptors(const Arguments&) {
  std::vector<int> open_ones;
  DIR* const directory = opendir("/proc/self/fd");
  while (const dirent* const entry = readdir(directory)) {
    if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(directory))
      open_ones.push_back(atoi(entry->d_name));
  }
  closedir(directory);
  std::sort(open_ones.begin(), open_ones.end());
  std::string text;
  for (const int fd : open_ones) text += std::to_string(fd) + " ";
  put(STDOUT_FILENO, text + "\n");
  return 0;
}

int do_secret(const Arguments&) {
  const std::string variable = getenv("FF_SECRET");
  if (!variable.starts_with("fd:")) return 96;
  const int fd = std::stoi(variable.substr(3));
  std::array<unsigned char, 64> first = {}, second = {};
  if (pread(fd, first.data(), first.size(), 0) != 32) return 97;
  if (pread(fd, second.data(), second.size(), 0) != 32 || first != second) return 98;
  if (write(fd, "x", 1) >= 0 || ftruncate(fd, 1) == 0) return 99;
  std::string text;
  for (size_t i = 0; i < 32; ++i) {
    std::array<char, 3> hex;
    snprintf(hex.data(), hex.size(), "%02x", first[i]);
    text += hex.data();
  }
  put(STDOUT_FILENO, text + "\n");
  return 0;
}

int do_variables(const Arguments& names) {
  std::string text;
  for (const std::string& name : names) {
    const char* const value = getenv(name.c_str());
    text += (value != nullptr ? value : "unset") + std::string(" ");
  }
  put(STDOUT_FILENO, text + "\n");
  return 0;
}

int do_cpus(const Arguments&) {
  cpu_set_t mask;
  sched_getaffinity(0, sizeof mask, &mask);
  std::string text = std::to_string(rank()) + ":";
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &mask)) text += " " + std::to_string(cpu);
  }
  put(STDOUT_FILENO, text + "\n");
  return 0;
}

int do_directory(const Arguments&) {
  std::array<char, 4096> path;
  if (getcwd(path.data(), path.size()) == nullptr) return 1;
  put(STDOUT_FILENO, std::string(path.data()) + "\n");
  return 0;
}

int do_echo_input(const Arguments&) {
  std::array<char, 4096> bytes;
  for (ssize_t got; (got = read(STDIN_FILENO, bytes.data(), bytes.size())) > 0;)
    put(STDOUT_FILENO, std::string_view(bytes.data(), static_cast<size_t>(got)));
  put(STDOUT_FILENO, "end of input " + std::to_string(rank()) + "\n");
  return 0;
}

volatile sig_atomic_t got_signal = 0;

int do_catch(const Arguments& arguments) {
  const int number = std::stoi(arguments.at(0));
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, number);
  sigprocmask(SIG_BLOCK, &blocked, &before);
  signal(number, [](int) { got_signal = 1; });
  put(STDOUT_FILENO, "ready\n");
  while (got_signal == 0) sigsuspend(&before);
  put(STDOUT_FILENO, "caught\n");
  return 0;
}

int do_kill_group(const Arguments&) {  // what a script's trap 'kill 0' does
  if (rank() != 0) return 0;
  signal(SIGTERM, SIG_IGN);
  kill(0, SIGTERM);
  return 0;
}

// Signals and limits as the launcher was given them.
int do_inherited(const Arguments&) {
  rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  sigset_t blocked;
  sigprocmask(SIG_SETMASK, nullptr, &blocked);
  std::string text = std::to_string(limit.rlim_cur) + " blocked:";
  for (int number = 1; number < 32; ++number) {
    if (sigismember(&blocked, number) == 1) text += " " + std::to_string(number);
  }
  text += " ignored:";
  for (int number = 1; number < 32; ++number) {
    struct sigaction action = {};
    if (sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN)
      text += " " + std::to_string(number);
  }
  put(STDOUT_FILENO, text + "\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string_view, std::function<int(const Arguments&)>> verbs = {
      {"bytes", do_bytes},
      {"catch", do_catch},
      {"close_output", do_close_output},
      {"cpus", do_cpus},
      {"daemon", do_daemon},
      {"descriptors", do_descriptors},
      {"directory", do_directory},
      {"echo_input", do_echo_input},
      {"exit", do_exit},
      {"flood", do_flood},
      {"hold", do_hold},
      {"ignore_term", do_ignore_term},
      {"inherited", do_inherited},
      {"kill_group", do_kill_group},
      {"last_words", do_last_words},
      {"leave_daemon", do_leave_daemon},
      {"lines", do_lines},
      {"outlived_by_helper", do_outlived_by_helper},
      {"secret", do_secret},
      {"text", do_text},
      {"variables", do_variables},
      {"victim", do_victim},
      {"watch_victim", do_watch_victim},
      {"write_until_broken", do_write_until_broken},
  };
  if (argc < 2) return 100;
  const auto verb = verbs.find(argv[1]);
  return verb == verbs.end() ? 101 : verb->second(Arguments(argv + 2, argv + argc));
}
