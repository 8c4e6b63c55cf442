#include "base/status.hpp"

#include <fmt/core.h>

#include <cstring>

namespace ff {

Status system_error(const std::string& what, int error) {
  return {FF_ERROR_SYSTEM, fmt::format("{}: {} (errno {})", what, strerror(error), error)};
}

}  // namespace ff
