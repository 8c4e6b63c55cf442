// FF_CHECK: stops the process where our own code broke a promise to itself.
//
// Never for what users, files or peers hand in: that gets a Status.
#pragma once

namespace ff {
[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const char* expected);
}  // namespace ff

#define FF_CHECK(condition, expected)                                 \
  do {                                                                \
    if (!(condition)) [[unlikely]] {                                  \
      ::ff::check_failed(__FILE__, __LINE__, #condition, (expected)); \
    }                                                                 \
  } while (false)
