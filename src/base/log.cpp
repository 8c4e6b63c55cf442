#include "base/log.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <mutex>

namespace ff {
namespace {

std::atomic<LogLevel> highest{LogLevel::kWarning};
std::mutex sink_mutex;
LogSink current_sink = nullptr;
void* current_context = nullptr;

}  // namespace

void set_log_sink(LogSink sink, void* context) {
  const std::lock_guard lock(sink_mutex);
  current_sink = sink;
  current_context = context;
}

void set_log_level(LogLevel highest_shown) {
  highest.store(highest_shown, std::memory_order_relaxed);
}

bool log_enabled(LogLevel level) { return level <= highest.load(std::memory_order_relaxed); }

void log_line(LogLevel level, const std::string& line) {
  const std::lock_guard lock(sink_mutex);
  if (current_sink != nullptr) {
    current_sink(current_context, static_cast<int>(level), line.c_str());
    return;
  }
  static constexpr const char* kNames[] = {"error", "warning", "info", "debug"};
  // One write, so that lines of several processes do not mix.
  const std::string text =
      fmt::format("fireflyer[{}] {}: {}\n", getpid(), kNames[static_cast<int>(level)], line);
  fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace ff
