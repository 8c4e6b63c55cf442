#include "bootstrap_ranks.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace ff::testing_tools {
namespace {

using Clock = std::chrono::steady_clock;

std::string arena_of(uint32_t rank) { return fmt::format("arena of rank {}", rank); }
std::string blob_of(uint32_t rank) { return fmt::format("blob of rank {}", rank); }

std::string problem_with(const std::vector<Member>& members, const JoinOptions& options) {
  const uint32_t me = options.rank.value(), n = options.ranks;
  if (members.size() != n) return fmt::format("{} members", members.size());
  for (uint32_t r = 0; r < n; r++) {
    const Member& member = members[r];
    char arena[64] = {};
    if (pread(member.arena.get(), arena, sizeof arena - 1, 0) < 0 || arena_of(r) != arena) {
      return fmt::format("rank {}'s arena holds '{}'", r, arena);
    }
    const std::string blob = blob_of(r);
    if (!std::ranges::equal(member.blob, std::as_bytes(std::span(blob)))) {
      return fmt::format("rank {}'s blob differs", r);
    }
    const bool next_to = me != r && ((me + 1) % n == r || (r + 1) % n == me);
    if (member.life.valid() != next_to) return fmt::format("watches rank {}: {}", r, !next_to);
    pollfd polled = {member.life.get(), POLLIN, 0};
    if (next_to && poll(&polled, 1, 0) != 0) return fmt::format("rank {} counts as dead", r);
  }
  return "";
}

}  // namespace

std::string fresh_rendezvous() {
  static int count = 0;
  return fmt::format("name:bootstrap_test.{}.{}", getpid(), count++);
}

JoinOptions options_of(uint32_t rank, uint32_t ranks, const std::string& rendezvous,
                       std::chrono::nanoseconds timeout) {
  JoinOptions options;
  options.rank = Rank(rank);
  options.ranks = ranks;
  options.rendezvous = rendezvous;
  options.timeout = timeout;
  return options;
}

std::string join_and_report(const JoinOptions& options,
                            const std::function<std::string(std::vector<Member>&)>& then,
                            const std::function<void()>& between) {
  const auto start = Clock::now();
  const auto report = [&](const Status& status) {
    const std::chrono::duration<double> passed = Clock::now() - start;
    return fmt::format("{} {} {}", static_cast<int>(status.code()), passed.count(),
                       status.message());
  };
  const std::string arena_text = arena_of(options.rank.value());
  const FileDescriptor arena(memfd_create("arena", MFD_CLOEXEC));
  if (write(arena.get(), arena_text.data(), arena_text.size()) < 0) {
    return report(system_error("write", errno));
  }
  const std::string blob = blob_of(options.rank.value());
  auto gathering = Gathering::join(options, std::as_bytes(std::span(blob)), arena.get());
  if (!gathering.ok()) return report(gathering.status());
  std::vector<Member> members = std::move((*gathering)->members());
  // Kept to the end, as a communicator does.
  const bootstrap::GuardedDescriptor life_line = (*gathering)->take_life_line();
  if (between) between();
  const std::string problem = problem_with(members, options);
  // What this rank found is told after the agreement: a neighbour that has failed and gone is no
  // finding, it is what the others are about to hear.
  if (const Status status = (*gathering)->conclude(Status()); !status.ok()) return report(status);
  if (!problem.empty()) return report(Status(FF_ERROR_INTERNAL, problem));
  gathering->reset();
  const std::string text = then ? then(members) : "";
  return report(text.empty() ? Status() : Status(FF_ERROR_INTERNAL, text));
}

Report report_of(Child& child) {
  child.wait();
  Report report;
  std::istringstream stream(child.output());
  stream >> report.code >> report.seconds >> std::ws;
  std::getline(stream, report.text, '\0');
  return report;
}

testing::AssertionResult says(const Report& report, ff_status code,
                              std::initializer_list<std::string> parts) {
  if (report.code != static_cast<int>(code)) {
    return testing::AssertionFailure() << "code " << report.code << ": " << report.text;
  }
  for (const std::string& part : parts) {
    if (report.text.find(part) == std::string::npos) {
      return testing::AssertionFailure() << "no '" << part << "' in: " << report.text;
    }
  }
  return testing::AssertionSuccess();
}

int open_rendezvous() {
  std::ifstream table("/proc/net/unix");
  int count = 0;
  for (std::string line; std::getline(table, line);) {
    if (line.find("@fireflyer/") != std::string::npos) count++;
  }
  return count;
}

}  // namespace ff::testing_tools
