#include "progress.hpp"

#include <unistd.h>

#include <cstdio>
#include <utility>

namespace fashion {

constexpr std::chrono::milliseconds kRedraw{100};

Progress::Progress(const Plan& plan, std::string label, bool silent)
    : plan_(plan),
      label_(std::move(label)),
      silent_(silent),
      terminal_(isatty(STDOUT_FILENO) == 1) {}

void Progress::show(size_t steps, double mean_loss, double waiting) {
  const bool epoch_done = steps % plan_.steps_per_epoch() == 0;
  const auto now = Clock::now();
  if (silent_ || (!epoch_done && (!terminal_ || now - shown_ < kRedraw))) {
    return;
  }
  shown_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const size_t epoch = (steps - 1) / plan_.steps_per_epoch() + 1;
  std::printf("%s%s epoch %zu/%zu  loss %.4f  %7.0f images/s", terminal_ ? "\r\033[K" : "",
              label_.c_str(), epoch, plan_.epochs, mean_loss,
              static_cast<double>(steps * plan_.batch) / seconds);
  if (waiting >= 0) {
    std::printf("  waiting for communication %4.1f %%", 100 * waiting);
  }
  std::printf("%s", !terminal_ || steps == plan_.steps() ? "\n" : "");
  std::fflush(stdout);
}

}  // namespace fashion
