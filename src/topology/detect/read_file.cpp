#include "topology/detect/read_file.hpp"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/file_descriptor.hpp"

namespace ff {

std::optional<std::string> read_text(const std::string& path) {
  constexpr size_t kMost = 1 << 20;
  int opened = -1;
  do {
    opened = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  } while (opened < 0 && errno == EINTR);
  const FileDescriptor fd(opened);
  if (!fd.valid()) return std::nullopt;
  std::string text;
  char part[4096];
  while (text.size() < kMost) {
    const ssize_t got = read(fd.get(), part, sizeof part);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    text.append(part, static_cast<size_t>(got));
  }
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace ff
