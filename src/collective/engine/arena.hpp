// Shared memory of the node: each rank brings one sealed memfd a communicator, and maps everyone's.
//
// This is the shared-memory transport: rings of slots live here, written and read in place. A
// segment has no name, so nothing is left behind when a process is killed, and its pages live until
// the last rank has unmapped them, so a rank that is late never reads memory that was reused.
// The descriptor is closed as soon as everyone has mapped it.
#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "base/file_descriptor.hpp"
#include "base/status.hpp"

namespace ff {

// One mapping; unmapped on destruction. Not inherited by a forked child.
class Mapping {
 public:
  Mapping() = default;
  Mapping(std::byte* address, size_t bytes) : address_(address), bytes_(bytes) {}
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  std::byte* address() const { return address_; }
  size_t bytes() const { return bytes_; }

 private:
  std::byte* address_ = nullptr;
  size_t bytes_ = 0;
};

struct Segment {
  FileDescriptor fd;  // sealed: can neither shrink nor grow
  Mapping mapping;
};

// Makes a segment of `bytes`, with the first `touched_bytes` in memory. FF_ERROR_RESOURCE, with
// needed and allowed sizes and the remedy, where a limit forbids it; never a signal later.
Result<Segment> create_segment(size_t bytes, size_t touched_bytes);

// Maps a segment that another rank made, after checking that it is sealed and of that size.
Result<Mapping> map_segment(int fd, size_t bytes, size_t touched_bytes);

// Brings [first, first + bytes) into memory and into this process's page table, so that no later
// access faults or fails. `create` where it is ours: reserves the pages as well.
Status touch(std::span<std::byte> range);

}  // namespace ff
