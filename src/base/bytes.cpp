#include "base/bytes.hpp"

#include <fmt/core.h>

#include <cctype>
#include <cmath>
#include <cstdlib>

namespace ff {

Result<uint64_t> parse_bytes(std::string_view text) {
  const std::string copy(text);
  const Status bad(
      FF_ERROR_ARGUMENT,
      fmt::format("'{}' is no size; write a number with an optional K, M, G or T", text));
  if (copy.empty() || (std::isdigit(static_cast<unsigned char>(copy[0])) == 0 && copy[0] != '.')) {
    return bad;
  }
  char* end = nullptr;
  const double number = std::strtod(copy.c_str(), &end);
  double factor = 1;
  switch (std::toupper(static_cast<unsigned char>(*end))) {
    case 'K':
      factor = 0x1p10;
      end++;
      break;
    case 'M':
      factor = 0x1p20;
      end++;
      break;
    case 'G':
      factor = 0x1p30;
      end++;
      break;
    case 'T':
      factor = 0x1p40;
      end++;
      break;
    default:
      break;
  }
  const double bytes = number * factor;
  if (*end != '\0' || !(bytes >= 0) || bytes >= 0x1p62) return bad;
  return static_cast<uint64_t>(std::llround(bytes));
}

std::string format_bytes(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    unit++;
  }
  return fmt::format("{:.4g} {}", value, kUnits[unit]);
}

}  // namespace ff
