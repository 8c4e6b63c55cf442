#include "job.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utmp.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>
#include <stdexcept>

namespace ff::test {
namespace {

constexpr std::chrono::seconds kDeadline{40};  // of one job; the longest takes about 2 s

std::string launcher_program() {
  const char* const other = getenv("LAUNCHER_TEST_FF");  // to try the tests on a broken build
  return other != nullptr ? other : FF_PROGRAM;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<pid_t> all_pids() {
  std::vector<pid_t> pids;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") == std::string::npos) pids.push_back(std::stoi(name));
  }
  return pids;
}

// Fields of /proc/PID/stat after the name: state, parent, ...
std::string stat_of(pid_t pid) {
  const std::string text = read_file("/proc/" + std::to_string(pid) + "/stat");
  const size_t name_end = text.rfind(')');
  return name_end == std::string::npos ? "" : text.substr(name_end + 2);
}

struct Ends {
  int read = -1, write = -1;
};

Ends make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
  return {ends[0], ends[1]};
}

}  // namespace

std::string rank_program() { return FF_RANK_PROGRAM; }

int count(std::string_view text, std::string_view what) {
  int found = 0;
  for (size_t at = text.find(what); at != std::string_view::npos;
       at = text.find(what, at + what.size()))
    ++found;
  return found;
}

Job::Job(const std::vector<std::string>& arguments, const JobOptions& options)
    : token_("LAUNCHER_TEST_JOB=" + std::to_string(std::random_device{}()) + "." +
             std::to_string(getpid())),
      deadline_(std::chrono::steady_clock::now() + kDeadline) {
  std::vector<std::string> words = {launcher_program(), "run"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  Ends input, output, error;
  int terminal = -1;
  if (options.terminal) {
    if (openpty(&output_fd_, &terminal, nullptr, nullptr, nullptr) != 0)
      throw std::runtime_error("openpty");
    fcntl(output_fd_, F_SETFD, FD_CLOEXEC);
  } else {
    input = make_pipe();
    output = make_pipe();
    error = make_pipe();
  }
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // of a test that is killed: the warden cleans up
    if (options.terminal) {
      login_tty(terminal);
    } else {
      dup2(input.read, STDIN_FILENO);
      dup2(output.write, STDOUT_FILENO);
      dup2(options.merge_streams ? output.write : error.write, STDERR_FILENO);
    }
    std::string token = token_;
    putenv(token.data());
    if (options.before_start) options.before_start();
    execv(argv.front(), argv.data());
    _exit(126);
  }
  if (options.terminal) {
    close(terminal);
    return;
  }
  output_fd_ = output.read;
  error_fd_ = error.read;
  for (const int fd : {input.read, output.write, error.write}) close(fd);
  if (write(input.write, options.input.data(), options.input.size()) < 0) give_up("no input");
  close(input.write);
}

Job::~Job() {
  for (const pid_t pid : alive()) kill(pid, SIGKILL);  // of a launcher that failed its test
  if (!collected_) waitpid(pid_, nullptr, 0);
  for (const int fd : {output_fd_, error_fd_}) {
    if (fd >= 0) close(fd);
  }
}

void Job::send_signal(int signal) const { kill(pid_, signal); }

void Job::type(std::string_view text) const {
  ASSERT_EQ(write(output_fd_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

int Job::milliseconds_left() const {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline_ - std::chrono::steady_clock::now());
  return left.count() > 0 ? static_cast<int>(left.count()) : 0;
}

void Job::give_up(const std::string& what) {
  for (const pid_t pid : alive()) kill(pid, SIGKILL);
  throw std::runtime_error(what + "\n--- output:\n" + output_.substr(0, 4000) + "\n--- error:\n" +
                           error_.substr(0, 4000));
}

bool Job::read_some(int& fd, std::string& text) {
  std::vector<char> buffer(1 << 16);
  const ssize_t got = read(fd, buffer.data(), buffer.size());
  if (got > 0) {
    text.append(buffer.data(), static_cast<size_t>(got));
    return true;
  }
  close(fd);  // the end; a terminal says EIO
  fd = -1;
  return false;
}

void Job::read_until(const std::function<bool()>& satisfied, bool output_too) {
  while (!satisfied()) {
    pollfd streams[] = {{output_too ? output_fd_ : -1, POLLIN, 0}, {error_fd_, POLLIN, 0}};
    if (streams[0].fd < 0 && streams[1].fd < 0) give_up("the job ended its output too early");
    if (poll(streams, 2, milliseconds_left()) == 0) give_up("deadline passed");
    if (streams[0].revents != 0) read_some(output_fd_, output_);
    if (streams[1].revents != 0) read_some(error_fd_, error_);
  }
}

void Job::wait_for_output(std::string_view text, int times) {
  read_until([&] { return count(output_, text) >= times; }, true);
}

void Job::wait_for_error(std::string_view text, int times) {
  read_until([&] { return count(error_, text) >= times; }, true);
}

void Job::read_error_only_until(std::string_view text) {
  read_until([&] { return count(error_, text) >= 1; }, false);
}

void Job::read_error_only_to_end() {
  read_until([this] { return error_fd_ < 0; }, false);
}

void Job::close_output() {
  close(output_fd_);
  output_fd_ = -1;
}

void Job::wait_for_state(pid_t pid, std::string_view state, bool leave) {
  while ((stat_of(pid).substr(0, 1) == state) == leave) {
    if (milliseconds_left() == 0) give_up("a process does not change its state");
    sched_yield();
  }
}

JobEnd Job::collect() {
  const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  pollfd ended = {pidfd, POLLIN, 0};
  if (poll(&ended, 1, milliseconds_left()) == 0) give_up("the launcher does not end");
  close(pidfd);
  int status = 0;
  waitpid(pid_, &status, 0);
  collected_ = true;
  if (WIFSIGNALED(status)) return {.code = -1, .signal = WTERMSIG(status)};
  return {.code = WEXITSTATUS(status), .signal = 0};
}

JobEnd Job::wait() {
  read_until([this] { return output_fd_ < 0 && error_fd_ < 0; }, true);
  return collect();
}

JobEnd Job::wait_unread() { return collect(); }

std::vector<std::string> Job::output_lines() const {
  std::vector<std::string> lines;
  std::istringstream text(output_);
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

std::vector<pid_t> Job::alive() const {
  std::vector<pid_t> found;
  for (const pid_t pid : all_pids()) {
    const std::string environment = read_file("/proc/" + std::to_string(pid) + "/environ");
    if (environment.find(token_) != std::string::npos) found.push_back(pid);
  }
  return found;
}

pid_t Job::warden() const {
  for (const pid_t pid : all_pids()) {
    std::istringstream fields(stat_of(pid));
    std::string state;
    pid_t parent = -1;
    if (fields >> state >> parent && parent == pid_) return pid;
  }
  throw std::runtime_error("the launcher has no child");
}

Directory::Directory() {
  std::string pattern = std::filesystem::temp_directory_path() / "ff-launcher-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
  path_ = pattern;
}

Directory::~Directory() { std::filesystem::remove_all(path_); }

void Directory::make_fifo(const std::string& name) const {
  if (mkfifo((path_ + "/" + name).c_str(), 0600) != 0) throw std::runtime_error("mkfifo");
}

std::vector<std::string> Directory::files() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path_))
    names.push_back(entry.path().filename());
  return names;
}

}  // namespace ff::test
