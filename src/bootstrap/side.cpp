#include "bootstrap/side.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>

namespace ff::bootstrap {

std::string who(uint32_t rank, int64_t pid, const std::string& host) {
  return fmt::format("rank {} (pid {} on {})", rank, pid, host);
}

std::string who(const Record& record) {
  return who(record.rank, record.pid_at_rank_0 > 0 ? record.pid_at_rank_0 : record.pid,
             record.host);
}

std::string list_ranks(const std::vector<uint32_t>& ascending) {
  std::string text;
  for (size_t i = 0; i < ascending.size();) {
    size_t last = i;
    while (last + 1 < ascending.size() && ascending[last + 1] == ascending[last] + 1) last++;
    text += text.empty() ? "" : ", ";
    text += last == i
                ? fmt::format("{}", ascending[i])
                : fmt::format("{}{}{}", ascending[i], last == i + 1 ? ", " : "-", ascending[last]);
    i = last + 1;
  }
  return text;
}

bool neighbours(uint32_t r, uint32_t s, uint32_t ranks) {
  return r != s && ((r + 1) % ranks == s || (s + 1) % ranks == r);
}

Member member_from(Record record, const Record& self, const Record& rank_0, FileDescriptor arena,
                   FileDescriptor life) {
  Member member;
  member.rank = Rank(record.rank);
  // A number means the same to all who share a PID namespace.
  const bool share_with_it =
      record.pid_namespace != 0 && record.pid_namespace == self.pid_namespace;
  const bool share_with_rank_0 = record.pid_at_rank_0 > 0 && self.pid_namespace != 0 &&
                                 rank_0.pid_namespace == self.pid_namespace;
  member.pid = share_with_it || !share_with_rank_0 ? record.pid : record.pid_at_rank_0;
  member.pid_visible = share_with_it || share_with_rank_0;
  member.start_time = record.start_time;
  member.host = std::move(record.host);
  member.node = std::move(record.node);
  member.cpus = cpu_list(record.cpus);
  member.blob = std::move(record.blob);
  member.arena = std::move(arena);
  member.life = std::move(life);
  return member;
}

std::vector<std::byte> cpu_mask(const std::vector<uint32_t>& cpus) {
  std::vector<std::byte> mask;
  for (const uint32_t cpu : cpus) {
    if (mask.size() <= cpu / 8) mask.resize(cpu / 8 + 1);
    mask[cpu / 8] |= std::byte{1} << (cpu % 8);
  }
  return mask;
}

std::vector<uint32_t> cpu_list(const std::vector<std::byte>& mask) {
  std::vector<uint32_t> cpus;
  for (uint32_t cpu = 0; cpu < 8 * mask.size(); cpu++) {
    if ((mask[cpu / 8] >> (cpu % 8) & std::byte{1}) != std::byte{0}) cpus.push_back(cpu);
  }
  return cpus;
}

Result<FileDescriptor> duplicate(int fd) {
  FileDescriptor copy(fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!copy.valid()) return system_error(fmt::format("duplicating descriptor {}", fd), errno);
  return copy;
}

}  // namespace ff::bootstrap
