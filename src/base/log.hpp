// One logger for the whole library: a line goes to the sink of ff_set_log, or to standard error.
//
// Thread-safe. Never called between a call's submission and its completion in the normal path.
#pragma once
#include <fmt/core.h>

#include <string>
#include <utility>

namespace ff {

enum class LogLevel { kError = 0, kWarning = 1, kInfo = 2, kDebug = 3 };

using LogSink = void (*)(void* context, int level, const char* line);

void set_log_sink(LogSink sink, void* context);  // nullptr: standard error
void set_log_level(LogLevel highest_shown);
bool log_enabled(LogLevel level);
void log_line(LogLevel level, const std::string& line);

template <class... Arguments>
void log(LogLevel level, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  if (log_enabled(level))
    log_line(level, fmt::format(format, std::forward<Arguments>(arguments)...));
}

}  // namespace ff
