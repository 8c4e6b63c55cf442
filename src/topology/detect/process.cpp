#include "topology/detect/process.hpp"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "topology/detect/read_file.hpp"

namespace ff {

Result<ProcessFacts> read_process(const std::string& root, int64_t pid) {
  const std::string path = fmt::format("{}/proc/{}/stat", root, pid);
  const std::optional<std::string> text = read_text(path);
  if (!text.has_value()) {
    return Status(FF_ERROR_UNREACHABLE,
                  fmt::format("no process {} ({} cannot be read)", pid, path));
  }
  // "pid (command) state ppid ...": the command may hold blanks and parentheses of its own.
  const size_t open = text->find('('), close = text->rfind(')');
  ProcessFacts facts;
  facts.pid = pid;
  if (open == std::string::npos || close == std::string::npos || close < open) {
    return Status(FF_ERROR_SYSTEM, fmt::format("{} holds no process line", path));
  }
  facts.command = text->substr(open + 1, close - open - 1);
  std::istringstream fields(text->substr(close + 1));
  std::string state, skipped;
  fields >> state >> facts.parent;
  for (int field = 5; field < 22; field++) fields >> skipped;
  fields >> facts.start_time;
  if (!fields) return Status(FF_ERROR_SYSTEM, fmt::format("{} is cut short", path));
  return facts;
}

int64_t own_pid(const std::string& root) {
  char target[32] = {};
  const ssize_t bytes = readlink((root + "/proc/self").c_str(), target, sizeof target - 1);
  return bytes > 0 ? std::strtoll(target, nullptr, 10) : 0;
}

uint64_t pid_namespace(const std::string& root) {
  struct stat found {};
  return stat((root + "/proc/self/ns/pid").c_str(), &found) == 0 ? found.st_ino : 0;
}

}  // namespace ff
