// Where a job's secret comes from. Never the text itself in an error.
#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <string_view>

#include "base/file_descriptor.hpp"
#include "base/log.hpp"
#include "bootstrap/launcher.hpp"

namespace ff {
namespace {

constexpr size_t kMostBytes = 4096;

// From offset 0 whatever others have read: ranks share one open file with the launcher.
Result<std::string> read_all(int fd, const std::string& name) {
  std::string text(kMostBytes + 1, '\0');
  size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t got =
        pread(fd, text.data() + filled, text.size() - filled, static_cast<off_t>(filled));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(fmt::format("reading the job's secret from {}", name), errno);
    if (got == 0) break;
    filled += static_cast<size_t>(got);
  }
  if (filled == 0 || filled > kMostBytes) {
    return Status(FF_ERROR_ARGUMENT,
                  fmt::format("{} is to hold the job's secret, of 1 to {} bytes, but {}", name,
                              kMostBytes, filled == 0 ? "is empty" : "is longer"));
  }
  text.resize(filled);
  return text;
}

Result<std::string> read_file(const std::string& path) {
  int opened = -1;
  do {
    opened = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  } while (opened < 0 && errno == EINTR);
  const FileDescriptor fd(opened);
  if (!fd.valid()) {
    return system_error(fmt::format("opening the file of the job's secret, {}", path), errno);
  }
  struct stat found {};
  if (fstat(fd.get(), &found) == 0 && (found.st_mode & 077) != 0) {
    log(LogLevel::kWarning,
        "the file of the job's secret, {}, is open to other users: chmod 600 {}", path, path);
  }
  return read_all(fd.get(), path);
}

}  // namespace

Result<std::string> read_secret(const std::string& words) {
  const std::string_view text = words;
  if (text.empty()) return std::string();
  if (text.starts_with("text:") && text.size() > 5) return std::string(text.substr(5));
  if (text.starts_with("file:/")) return read_file(words.substr(5));
  if (text.starts_with("fd:")) {
    int fd = -1;
    const auto [end, error] = std::from_chars(text.data() + 3, text.data() + text.size(), fd);
    if (error == std::errc() && end == text.data() + text.size() && fd >= 0) {
      return read_all(fd, fmt::format("descriptor {}", fd));
    }
  }
  return Status(FF_ERROR_ARGUMENT,
                "what is to name the job's secret (FF_SECRET) is neither fd:N, file:/path nor "
                "text:TEXT");
}

}  // namespace ff
