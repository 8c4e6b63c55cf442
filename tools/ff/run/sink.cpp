// Not blocking on a descriptor that others use too: O_NONBLOCK belongs to the open file, so setting
// it would change the shell's terminal as well. Pipes and terminals are therefore opened once more
// through /proc/self/fd; sockets have a flag per call; where opening is refused (a terminal of
// another user), at most PIPE_BUF bytes are written, and only after poll() promised room for them.
#include "ff/run/sink.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

namespace ff::tools::run {

Sink::Sink(int fd) : fd_(fd) {
  struct stat status = {};
  if (fstat(fd, &status) != 0) fail(fmt::format("cannot use descriptor {} for output", fd), errno);
  if (S_ISREG(status.st_mode) || S_ISBLK(status.st_mode)) {
    kind_ = Kind::kAlwaysReady;
  } else if (S_ISSOCK(status.st_mode)) {
    kind_ = Kind::kSocket;
  } else {
    own_ = Descriptor(open(fmt::format("/proc/self/fd/{}", fd).c_str(),
                           O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (own_.valid()) {
      kind_ = Kind::kNonBlocking;
      fd_ = own_.get();
    }
  }
}

void Sink::append(int source, std::string_view tag, std::string_view bytes) {
  if (bytes.empty() || error_ != 0) return;
  if (unfinished_ != kNobody && unfinished_ != source) {
    pending_ += '\n';
    unfinished_ = kNobody;
  }
  while (!bytes.empty()) {
    if (unfinished_ != source) pending_ += tag;
    const size_t newline = tag.empty() ? bytes.rfind('\n') : bytes.find('\n');
    const size_t count = newline == std::string_view::npos ? bytes.size() : newline + 1;
    pending_ += bytes.substr(0, count);
    unfinished_ = newline == std::string_view::npos ? source : kNobody;
    bytes.remove_prefix(count);
  }
}

ssize_t Sink::write_some(const char* bytes, size_t count) const {
  if (kind_ == Kind::kSocket) return send(fd_, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (kind_ == Kind::kBlocking) {
    pollfd writable = {fd_, POLLOUT, 0};
    if (poll(&writable, 1, 0) == 0) {
      errno = EAGAIN;
      return -1;
    }
    count = std::min<size_t>(count, PIPE_BUF);
  }
  return write(fd_, bytes, count);
}

int Sink::flush() {
  while (error_ == 0 && !empty()) {
    const ssize_t count = write_some(pending_.data() + written_, pending_bytes());
    if (count >= 0) {
      written_ += static_cast<size_t>(count);
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR) {
      error_ = errno;
    }
  }
  if (error_ != 0) {
    pending_.clear();
    written_ = 0;
  } else if (empty() || written_ >= kFullBytes) {
    pending_.erase(0, written_);
    written_ = 0;
  }
  return error_;
}

bool Sink::same_destination(const Sink& other) const {
  struct stat mine = {}, theirs = {};
  if (fstat(fd_, &mine) != 0 || fstat(other.fd_, &theirs) != 0) return false;
  return mine.st_dev == theirs.st_dev && mine.st_ino == theirs.st_ino;
}

}  // namespace ff::tools::run
