// A real `ff run`, started by a test and watched from outside.
//
// Every wait has the job's deadline; passing it kills the job, fails the test, and throws, so that
// a hang is a failure with the output so far and not a stuck suite. All processes of the job carry
// a token in their environment, by which alive() finds those that outlived it, wherever they hide.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ff::test {

struct JobOptions {
  std::string input;                   // what the job's standard input delivers before its end
  bool terminal = false;               // 0, 1 and 2 are a terminal, its leader the job itself
  bool merge_streams = false;          // 2>&1
  std::function<void()> before_start;  // in the child, just before exec
};

struct JobEnd {
  int code = -1;   // exit code; -1 if a signal ended it
  int signal = 0;  // 0 if it exited
};

class Job {
 public:
  // Runs `ff run` with these arguments.
  explicit Job(const std::vector<std::string>& arguments, const JobOptions& options = {});
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job();  // kills what is left

  pid_t pid() const { return pid_; }
  void send_signal(int signal) const;
  void type(std::string_view text) const;  // on the terminal

  // Reads until `text` occurs `times` in what standard output (or error) has delivered.
  void wait_for_output(std::string_view text, int times = 1);
  void wait_for_error(std::string_view text, int times = 1);
  // These leave standard output unread.
  void read_error_only_until(std::string_view text);
  void read_error_only_to_end();
  void close_output();

  // Until /proc shows the process in this state ("T": stopped, "Z": dead, "": waited for) or, with
  // `leave`, in another. The kernel offers no event for it, so this looks again and again.
  void wait_for_state(pid_t pid, std::string_view state, bool leave = false);

  // Reads to the end of both streams (all processes that hold them are gone), then waits.
  JobEnd wait();
  // Waits for the launcher itself, reading nothing.
  JobEnd wait_unread();

  const std::string& output() const { return output_; }
  const std::string& error() const { return error_; }
  std::vector<std::string> output_lines() const;

  // Pids of the processes that belong to this job, the launcher included; zombies excluded.
  std::vector<pid_t> alive() const;
  // The warden's pid, found below the launcher.
  pid_t warden() const;

 private:
  void read_until(const std::function<bool()>& satisfied, bool output_too);
  bool read_some(int& fd, std::string& text);
  JobEnd collect();
  [[noreturn]] void give_up(const std::string& what);
  int milliseconds_left() const;

  std::string token_;
  std::chrono::steady_clock::time_point deadline_;
  pid_t pid_ = -1;
  bool collected_ = false;
  int output_fd_ = -1, error_fd_ = -1;  // the terminal's other side, if there is one
  std::string output_, error_;
};

// The program whose verbs ranks perform: rank.cpp.
std::string rank_program();

int count(std::string_view text, std::string_view what);

// A directory that is gone with all it holds at the end of the test.
class Directory {
 public:
  Directory();
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  ~Directory();
  const std::string& path() const { return path_; }
  void make_fifo(const std::string& name) const;
  std::vector<std::string> files() const;

 private:
  std::string path_;
};

}  // namespace ff::test
