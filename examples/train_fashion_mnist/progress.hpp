// The progress line: rewritten in place on a terminal, else one line an epoch.
#pragma once
#include <chrono>
#include <string>

#include "training.hpp"

namespace fashion {

class Progress {
 public:
  // `label` opens each line. A silent one prints nothing: every rank but 0.
  Progress(const Plan& plan, std::string label, bool silent);

  // Where the run is; `waiting` is the share of its time spent waiting for communication, or
  // negative where there is none.
  void show(size_t steps, double mean_loss, double waiting);

 private:
  using Clock = std::chrono::steady_clock;

  const Plan& plan_;
  std::string label_;
  bool silent_;
  bool terminal_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point shown_{};
};

}  // namespace fashion
