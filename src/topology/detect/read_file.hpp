// Small files of /proc and /sys.
#pragma once
#include <optional>
#include <string>

namespace ff {

// The whole text without the newline at its end; nothing when it cannot be read. At most 1 MiB.
std::optional<std::string> read_text(const std::string& path);

}  // namespace ff
