#include "bootstrap/channel.hpp"

#include <errno.h>
#include <fmt/core.h>
#include <sys/resource.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "base/check.hpp"
#include "bootstrap/authenticate.hpp"

namespace ff::bootstrap {
namespace {

using std::chrono::milliseconds;

constexpr int kBacklog = 4096;  // cut to net.core.somaxconn

struct Address {
  sockaddr_un un{};
  socklen_t bytes = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&un); }
};

Address abstract(const std::string& name) {
  Address address;
  address.un.sun_family = AF_UNIX;
  FF_CHECK(name.size() + 1 < sizeof address.un.sun_path, "a socket name fits into sun_path");
  std::memcpy(address.un.sun_path + 1, name.data(), name.size());
  address.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

Result<FileDescriptor> new_socket() {
  FileDescriptor fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return system_error("socket(AF_UNIX, SOCK_SEQPACKET)", errno);
  return fd;
}

Status out_of_descriptors() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return {FF_ERROR_RESOURCE,
          fmt::format("this process has no room for the descriptors of the other ranks' memory: "
                      "it may open {} (RLIMIT_NOFILE); raise it with ulimit -n",
                      limit.rlim_cur)};
}

}  // namespace

Result<ucred> Channel::peer() const {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  if (getsockopt(fd(), SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) {
    return system_error("getsockopt(SO_PEERCRED)", errno);
  }
  return peer;
}

void Channel::queue(std::vector<std::byte> bytes, std::vector<int> descriptors) {
  FF_CHECK(bytes.size() <= kMaxMessageBytes && descriptors.size() <= kMaxDescriptors,
           "a message is within its limits when it is sent");
  outgoing_.push_back({std::move(bytes), std::move(descriptors)});
}

Result<bool> Channel::flush() {
  retry_at_.reset();
  while (!outgoing_.empty()) {
    Outgoing& next = outgoing_.front();
    iovec bytes = {next.bytes.data(), next.bytes.size()};
    msghdr message{};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kMaxDescriptors)> control;
    if (const size_t payload = sizeof(int) * next.descriptors.size(); payload > 0) {
      control.fill(0);
      message.msg_control = control.data();
      message.msg_controllen = CMSG_SPACE(payload);
      cmsghdr* rights = CMSG_FIRSTHDR(&message);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(payload);
      std::memcpy(CMSG_DATA(rights), next.descriptors.data(), payload);
    }
    if (sendmsg(fd(), &message, MSG_NOSIGNAL) >= 0) {
      outgoing_.pop_front();
      continue;
    }
    switch (errno) {
      case EINTR:
        continue;
      case EAGAIN:
        return false;
      case ETOOMANYREFS:
      case ENOBUFS:
        retry_at_ = Clock::now() + milliseconds(1);
        return false;
      case EPIPE:
      case ECONNRESET:
        outgoing_.clear();
        return true;
      default:
        return system_error(fmt::format("sendmsg of {} bytes and {} descriptors", next.bytes.size(),
                                        next.descriptors.size()),
                            errno);
    }
  }
  return true;
}

Result<bool> Channel::receive(Accept accept, Packet& packet) {
  packet.descriptors.clear();
  packet.bytes.resize(kMaxMessageBytes);
  iovec bytes = {packet.bytes.data(), packet.bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kMaxDescriptors)> control;
  for (;;) {
    msghdr message{};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    if (accept == Accept::kDescriptors) {
      message.msg_control = control.data();
      message.msg_controllen = control.size();
    }
    const ssize_t got = recvmsg(fd(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got < 0) {
      // ECONNRESET comes once, before the packets that arrived earlier: look again.
      if (errno == EINTR || errno == ECONNRESET) continue;
      if (errno == EAGAIN) return false;
      return system_error("recvmsg", errno);
    }
    for (cmsghdr* rights = CMSG_FIRSTHDR(&message); rights != nullptr;
         rights = CMSG_NXTHDR(&message, rights)) {
      if (rights->cmsg_level != SOL_SOCKET || rights->cmsg_type != SCM_RIGHTS) continue;
      const size_t count = (rights->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (size_t i = 0; i < count; i++) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(rights) + i * sizeof(int), sizeof(int));
        packet.descriptors.emplace_back(fd);
      }
    }
    if (got == 0) {
      closed_ = true;
      return false;
    }
    if (accept == Accept::kDescriptors && (message.msg_flags & MSG_CTRUNC) != 0) {
      return out_of_descriptors();
    }
    // A longer packet than any of ours keeps a length that no decoder accepts.
    const bool cut = (message.msg_flags & MSG_TRUNC) != 0;
    packet.bytes.resize(cut ? 0 : static_cast<size_t>(got));
    return true;
  }
}

Result<bool> Channel::await(Accept accept, Time until, Packet& packet) {
  for (;;) {
    FF_ASSIGN_OR_RETURN(const bool sent, flush());
    FF_ASSIGN_OR_RETURN(const bool received, receive(accept, packet));
    if (received || closed_) return received;
    if (Clock::now() >= until) return false;
    const bool poll_out = !sent && !retry_at_.has_value();
    pollfd polled = {fd(), static_cast<short>(poll_out ? POLLIN | POLLOUT : POLLIN), 0};
    FF_RETURN_IF_ERROR(
        poll_until({&polled, 1}, std::min(until, retry_at_.value_or(until))).status());
  }
}

std::string socket_name(const std::string& text, uint64_t ordinal) {
  return fmt::format("fireflyer/{}/{}/{}", geteuid(), fingerprint(text, 32), ordinal);
}

Result<FileDescriptor> listen_at(const std::string& name) {
  FF_ASSIGN_OR_RETURN(FileDescriptor fd, new_socket());
  const Address address = abstract(name);
  if (bind(fd.get(), address.get(), address.bytes) != 0) {
    if (errno == EADDRINUSE) {
      return Status(FF_ERROR_STATE, fmt::format("another process listens at @{}", name));
    }
    return system_error(fmt::format("bind to the abstract socket @{}", name), errno);
  }
  if (listen(fd.get(), kBacklog) != 0) {
    return system_error(fmt::format("listen at the abstract socket @{}", name), errno);
  }
  return fd;
}

Result<std::optional<Channel>> connect_to(const std::string& name) {
  FF_ASSIGN_OR_RETURN(FileDescriptor fd, new_socket());
  const Address address = abstract(name);
  for (;;) {
    if (connect(fd.get(), address.get(), address.bytes) == 0) {
      return std::optional<Channel>(Channel(std::move(fd)));
    }
    switch (errno) {
      case EINTR:
        continue;
      case ECONNREFUSED:  // nobody there
      case EAGAIN:        // its queue is full
      case EPROTOTYPE:    // somebody, but of another kind; may go away
        return std::optional<Channel>();
      default:
        return system_error(fmt::format("connect to the abstract socket @{}", name), errno);
    }
  }
}

Result<std::optional<Channel>> accept_from(int listener) {
  for (;;) {
    FileDescriptor fd(accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd.valid()) return std::optional<Channel>(Channel(std::move(fd)));
    switch (errno) {
      case EINTR:
      case ECONNABORTED:
        continue;
      case EAGAIN:
        return std::optional<Channel>();
      case EMFILE:
      case ENFILE:
        return out_of_descriptors();
      default:
        return system_error("accept4", errno);
    }
  }
}

}  // namespace ff::bootstrap
