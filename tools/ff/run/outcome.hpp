// How ranks ended, in words and as an exit code.
#pragma once
#include <signal.h>

#include <string>
#include <vector>

namespace ff::tools::run {

struct Outcome {
  bool ended = false;
  bool by_signal = false;
  bool dumped_core = false;
  int value = 0;  // exit code, or signal

  bool failed() const { return ended && (by_signal || value != 0); }
  int exit_code() const { return by_signal ? 128 + value : value; }  // as shells count
};

Outcome outcome_of(const siginfo_t& child);  // as waitid() fills it

std::string signal_name(int signal);           // "SIGKILL"
std::string describe(const Outcome& outcome);  // "exited with code 3", "was killed by SIGSEGV ..."

// "exited with code 0: ranks 0, 2-5; was killed by SIGTERM: rank 1", without rank `except`.
std::string summarize(const std::vector<Outcome>& outcomes, int except);

}  // namespace ff::tools::run
