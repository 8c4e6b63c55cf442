// The little that every part of `ff run` needs from the system: an owned descriptor, and the way
// out when a call that has no reason to fail does.
#pragma once
#include <unistd.h>

#include <string_view>
#include <utility>

namespace ff::tools::run {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~Descriptor() { reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  void reset() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

struct Pipe {
  Descriptor read, write;
};
Pipe make_pipe(int flags);  // O_CLOEXEC is added

// Prints "ff run: `what`: strerror(error)" and ends the process with code 1. Safe in either of the
// two processes at any time: whichever is left ends the job (docs/design/launcher.md).
[[noreturn]] void fail(std::string_view what, int error);

}  // namespace ff::tools::run
