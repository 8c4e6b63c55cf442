#include "ff/perf/host.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <charconv>
#include <ctime>
#include <fstream>
#include <iterator>

namespace ff::tools::perf {
namespace {

std::string cpu_model() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != line.npos) return line.substr(colon + 2);
  }
  return "CPU";  // not every architecture names its model there
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

int to_int(const std::string& text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

std::vector<Member> gather_members(Peers& peers) {
  const auto lines = peers.gather(
      fmt::format("{}\n{}\n{}\n{}", getpid(), sched_getcpu(), host_name(), cpu_model()));
  std::vector<Member> members;
  for (const std::string& line : lines) {
    std::vector<std::string> fields;
    for (size_t from = 0; from <= line.size();) {
      const size_t to = std::min(line.find('\n', from), line.size());
      fields.push_back(line.substr(from, to - from));
      from = to + 1;
    }
    fields.resize(4);
    members.push_back({static_cast<int>(members.size()), to_int(fields[0]), fields[2],
                       to_int(fields[1]), fields[3]});
  }
  return members;
}

std::vector<std::string> command_line() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(in, word, '\0');) words.push_back(word);
  return words;
}

std::string local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

}  // namespace ff::tools::perf
