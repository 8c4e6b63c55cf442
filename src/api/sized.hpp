// Structs that open with their size: callers built against an older header give less, and what they
// do not know is zero, which means default.
#pragma once
#include <fmt/core.h>

#include <cstring>

#include "base/status.hpp"

namespace ff {

template <class T>
Result<T> read_sized(const T* given, const char* name) {
  T full;
  std::memset(static_cast<void*>(&full), 0, sizeof full);
  full.size = sizeof full;
  if (given == nullptr) return full;
  if (given->size <= sizeof given->size || given->size > sizeof full) {
    return Status(FF_ERROR_ARGUMENT,
                  fmt::format("{}.size is {}; this library knows up to {}: start from {}_init()",
                              name, given->size, sizeof full, name));
  }
  std::memcpy(static_cast<void*>(&full), given, given->size);
  full.size = sizeof full;
  return full;
}

}  // namespace ff
