// One connection of the bootstrap: whole packets with descriptors, never blocking.
//
// Linux abstract Unix sockets of type SOCK_SEQPACKET: they have no file, so nothing can be left
// behind, they end at the network namespace, the kernel says which process and user is at the other
// end, and a packet arrives whole or not at all.
//
// Not thread-safe; one owner. Descriptors that are queued for sending are borrowed and must live
// until flush() has said that nothing is left.
#pragma once
#include <sys/socket.h>

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/file_descriptor.hpp"
#include "base/status.hpp"
#include "bootstrap/deadline.hpp"
#include "bootstrap/fork_guard.hpp"
#include "bootstrap/message.hpp"

namespace ff::bootstrap {

struct Packet {
  std::vector<std::byte> bytes;
  std::vector<FileDescriptor> descriptors;
};

// Strangers may attach descriptors to anything: until somebody is known, the kernel drops them.
enum class Accept { kBytesOnly, kDescriptors };

class Channel {
 public:
  // Most descriptors of one packet (the kernel's SCM_MAX_FD is 253).
  static constexpr size_t kMaxDescriptors = 250;

  Channel() = default;
  explicit Channel(FileDescriptor socket) : socket_(std::move(socket)) {}

  bool valid() const { return socket_.valid(); }
  int fd() const { return socket_.get(); }
  void close() { socket_.reset(); }

  // Process and user at the other end when it connected (or listened), as seen from here.
  Result<ucred> peer() const;

  void queue(std::vector<std::byte> bytes, std::vector<int> descriptors = {});
  template <class Message>
  void queue(const Message& message, std::vector<int> descriptors = {}) {
    queue(encode(message), std::move(descriptors));
  }

  void forget_queue() { outgoing_.clear(); }

  // Sends what the socket takes now. True when nothing is left, or the other end is gone: what it
  // said last is then still to be received.
  Result<bool> flush();
  // When `retry_at` is set, polling for POLLOUT is no use: too many descriptors of this user are in
  // flight, and nothing tells when there are fewer.
  std::optional<Time> retry_at() const { return retry_at_; }
  bool wants_to_send() const { return !outgoing_.empty(); }

  // True with the next packet, if there is one now. Sets closed() when the other end is gone.
  Result<bool> receive(Accept accept, Packet& packet);
  bool closed() const { return closed_; }

  // For an end that has one connection and nothing else to do: waits for a packet, and sends what
  // is queued meanwhile. False when `until` has passed or the other end is gone.
  Result<bool> await(Accept accept, Time until, Packet& packet);

 private:
  struct Outgoing {
    std::vector<std::byte> bytes;
    std::vector<int> descriptors;
  };

  GuardedDescriptor socket_;
  std::deque<Outgoing> outgoing_;
  std::optional<Time> retry_at_;
  bool closed_ = false;
};

// The abstract address of a text; distinct users never share one by accident.
std::string socket_name(const std::string& text, uint64_t ordinal);

// A listening socket; FF_ERROR_STATE when somebody else has this name now.
Result<FileDescriptor> listen_at(const std::string& name);
// A connection; nothing when nobody listens there now (or its queue is full).
Result<std::optional<Channel>> connect_to(const std::string& name);
// The next visitor, if there is one.
Result<std::optional<Channel>> accept_from(int listener);

}  // namespace ff::bootstrap
