// One destination of the job's output (standard output or error), into which many ranks write
// lines that never mix.
//
// Memory is bounded by back-pressure: while full() the ranks' pipes are not read, so they block as
// they would on the destination itself. No call of this class blocks.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "ff/run/system.hpp"

namespace ff::tools::run {

class Sink {
 public:
  // Writes to what `fd` names. `fd` must outlive the sink and stays open.
  explicit Sink(int fd);

  // Appends `bytes`, which come from `source` (any number that names it, not negative) and end
  // either with a newline or in the middle of a line. An unfinished line is continued by the next
  // bytes of its source; if another source comes first, a newline is put in between. `tag` goes in
  // front of each line that begins here.
  void append(int source, std::string_view tag, std::string_view bytes);

  // Writes what the destination takes at once. An error (errno) is final: everything is dropped
  // from then on. 0: none so far.
  int flush();
  int error() const { return error_; }

  bool empty() const { return pending_bytes() == 0; }
  bool full() const { return pending_bytes() >= kFullBytes; }
  int poll_fd() const { return fd_; }  // becomes writable; a regular file always is
  bool same_destination(const Sink& other) const;

 private:
  static constexpr size_t kFullBytes = size_t{1} << 20;
  static constexpr int kNobody = -1;

  size_t pending_bytes() const { return pending_.size() - written_; }
  ssize_t write_some(const char* bytes, size_t count) const;

  int fd_;
  Descriptor own_;  // non-blocking twin of fd_, where one could be had
  enum class Kind { kAlwaysReady, kNonBlocking, kSocket, kBlocking } kind_ = Kind::kBlocking;
  std::string pending_;
  size_t written_ = 0;
  int unfinished_ = kNobody;  // the source whose line has begun and not ended
  int error_ = 0;
};

}  // namespace ff::tools::run
