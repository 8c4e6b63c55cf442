// What rank 0 leaves in a file or store so that the others find its socket, and what an entry of an
// earlier run is recognised by: its run id, and an owner that cannot be mistaken for another.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace ff::bootstrap {

struct Entry {
  static constexpr size_t kMaxBytes = 1024;

  std::string run;     // random, fresh with every gathering
  std::string boot;    // boot id of the kernel that the owner runs on
  std::string host;    // for people
  int64_t pid = 0;     // of the owner
  uint64_t start = 0;  // its start, in clock ticks after boot
  std::string socket;  // abstract name
};

Result<Entry> own_entry(std::string socket);

std::string format_entry(const Entry& entry);  // a few lines of text
// Accepts exactly what format_entry writes.
Result<Entry> parse_entry(std::string_view text);

// "run 1f2e3d4c of pid 4711 on node7, whose process is gone"
std::string describe_entry(const Entry& entry);

}  // namespace ff::bootstrap
