#include "ff/run/process_tree.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <string_view>

#include "ff/run/system.hpp"

namespace ff::tools::run {
namespace {

std::optional<Process> read_process(pid_t pid) {
  const Descriptor file(open(fmt::format("/proc/{}/stat", pid).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return std::nullopt;  // ended meanwhile
  std::array<char, 1024> buffer;           // the 22 fields that matter need less than half
  const ssize_t bytes = read(file.get(), buffer.data(), buffer.size() - 1);
  if (bytes <= 0) return std::nullopt;
  buffer[static_cast<size_t>(bytes)] = '\0';
  // pid (name) state parent ... ; the name may hold anything, parentheses too.
  char* const open_name = strchr(buffer.data(), '(');
  char* const close_name = strrchr(buffer.data(), ')');
  if (open_name == nullptr || close_name == nullptr) return std::nullopt;
  Process process;
  process.pid = pid;
  process.name.assign(open_name + 1, close_name);
  constexpr const char* kFields =  // state, parent, 17 others, then the start
      " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %lu";
  unsigned long start = 0;
  if (sscanf(close_name + 1, kFields, &process.state, &process.parent, &start) != 3)
    return std::nullopt;
  process.start_ticks = start;
  return process;
}

std::vector<Process> all_processes() {
  const auto close_directory = [](DIR* directory) { closedir(directory); };
  const std::unique_ptr<DIR, decltype(close_directory)> directory(opendir("/proc"),
                                                                  close_directory);
  std::vector<Process> processes;
  if (directory == nullptr) return processes;
  while (const dirent* const entry = readdir(directory.get())) {
    const std::string_view name = entry->d_name;
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.begin(), name.end(), pid);
    if (error != std::errc() || end != name.end()) continue;
    if (std::optional<Process> process = read_process(pid))
      processes.push_back(*std::move(process));
  }
  return processes;
}

}  // namespace

std::optional<std::vector<Process>> descendants(const std::set<pid_t>& spared) {
  const pid_t self = getpid();
  bool saw_self = false;
  std::multimap<pid_t, Process> by_parent;
  for (Process& process : all_processes()) {
    saw_self |= process.pid == self;
    by_parent.emplace(process.parent, std::move(process));
  }
  if (!saw_self) return std::nullopt;
  std::vector<Process> found;
  std::vector<pid_t> parents = {self};
  while (!parents.empty()) {
    const auto [begin, end] = by_parent.equal_range(parents.back());
    const bool are_children = parents.back() == self;
    parents.pop_back();
    for (auto child = begin; child != end; ++child) {
      if (are_children && spared.contains(child->second.pid)) continue;
      parents.push_back(child->second.pid);
      found.push_back(child->second);
    }
  }
  return found;
}

void send_signal(const Process& process, int signal) {
  // A descriptor pins whoever has the pid now; the start time tells whether that is still him.
  const Descriptor pinned(static_cast<int>(syscall(SYS_pidfd_open, process.pid, 0)));
  if (!pinned.valid() && errno == ESRCH) return;
  const std::optional<Process> now = read_process(process.pid);
  if (!now || now->start_ticks != process.start_ticks) return;
  if (pinned.valid()) {
    syscall(SYS_pidfd_send_signal, pinned.get(), signal, nullptr, 0);
  } else {  // before Linux 5.3, or forbidden by a container
    kill(process.pid, signal);
  }
}

std::string list_processes(const std::vector<Process>& processes) {
  std::string text;
  for (const Process& process : processes) {
    if (!text.empty()) text += ", ";
    text += fmt::format("{} (pid {})", process.name, process.pid);
  }
  return text;
}

}  // namespace ff::tools::run
