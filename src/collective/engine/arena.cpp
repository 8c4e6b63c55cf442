#include "collective/engine/arena.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/bytes.hpp"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14
#endif

namespace ff {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

Status no_memory(const char* doing, size_t bytes, int error) {
  return {FF_ERROR_RESOURCE,
          fmt::format("shared memory: {} {} failed: {} (errno {}). Free memory, raise the memory "
                      "limit of the process or its control group, or lower staging_bytes",
                      doing, format_bytes(bytes), strerror(error), error)};
}

// A file beyond RLIMIT_FSIZE would raise SIGXFSZ, which ends the process: look first.
Status check_file_size_limit(size_t bytes) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0) return system_error("getrlimit(RLIMIT_FSIZE)", errno);
  if (limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur) return {};
  return {FF_ERROR_RESOURCE,
          fmt::format("shared memory: a segment of {} bytes is needed, but the file size limit "
                      "allows {}. Raise it (ulimit -f) or lower staging_bytes",
                      bytes, limit.rlim_cur)};
}

Result<Mapping> map(int fd, size_t bytes) {
  void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (address == MAP_FAILED) return no_memory("mapping", bytes, errno);
  Mapping mapping(static_cast<std::byte*>(address), bytes);
  if (madvise(address, bytes, MADV_DONTFORK) != 0) return system_error("madvise(DONTFORK)", errno);
  return mapping;
}

}  // namespace

Mapping::Mapping(Mapping&& other) noexcept
    : address_(std::exchange(other.address_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Mapping::~Mapping() {
  if (address_ != nullptr) munmap(address_, bytes_);
}

Result<Segment> create_segment(size_t bytes, size_t touched_bytes) {
  FF_RETURN_IF_ERROR(check_file_size_limit(bytes));
  Segment segment;
  segment.fd.reset(memfd_create("fireflyer", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!segment.fd.valid()) return system_error("memfd_create", errno);
  if (ftruncate(segment.fd.get(), static_cast<off_t>(bytes)) != 0) {
    return no_memory("sizing a segment of", bytes, errno);
  }
  if (fcntl(segment.fd.get(), F_ADD_SEALS, kSeals) != 0) {
    return system_error("sealing shared memory", errno);
  }
  FF_ASSIGN_OR_RETURN(segment.mapping, map(segment.fd.get(), bytes));
  FF_RETURN_IF_ERROR(touch({segment.mapping.address(), touched_bytes}));
  return segment;
}

Result<Mapping> map_segment(int fd, size_t bytes, size_t touched_bytes) {
  struct stat status {};
  if (fstat(fd, &status) != 0) return system_error("fstat of a peer's segment", errno);
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals || static_cast<size_t>(status.st_size) != bytes) {
    return Status(
        FF_ERROR_SYSTEM,
        fmt::format("a peer's segment has {} bytes and seals {:#x}; expected {} and {:#x}",
                    status.st_size, seals, bytes, kSeals));
  }
  FF_ASSIGN_OR_RETURN(Mapping mapping, map(fd, bytes));
  FF_RETURN_IF_ERROR(touch({mapping.address(), touched_bytes}));
  return mapping;
}

Status touch(std::span<std::byte> range) {
  if (range.empty()) return {};
  // Fails with an error where a plain access would raise SIGBUS.
  while (madvise(range.data(), range.size(), MADV_POPULATE_WRITE) != 0) {
    if (errno == EINTR || errno == EAGAIN) continue;
    if (errno == EINVAL) {
      return Status(FF_ERROR_UNSUPPORTED,
                    "shared memory: this kernel lacks MADV_POPULATE_WRITE (Linux 5.14 or newer)");
    }
    return no_memory("bringing into memory", range.size(), errno);
  }
  return {};
}

}  // namespace ff
