// Byte counts as people write them: "64K", "1.5M", "2G" (1024-based, either case).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace ff {

Result<uint64_t> parse_bytes(std::string_view text);
std::string format_bytes(uint64_t bytes);  // "64 KiB", "1.5 MiB", "17 B"

}  // namespace ff
