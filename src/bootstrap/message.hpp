// The messages of the bootstrap protocol (docs/design/bootstrap.md draws who sends which when).
//
// One message is one packet of a SOCK_SEQPACKET socket: the kernel keeps the boundaries, and
// descriptors travel with the packet they belong to. The eight bytes in front (magic, version,
// type) are the same in every version, so that two versions can tell each other that they differ.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "bootstrap/wire.hpp"

namespace ff::bootstrap {

inline constexpr uint32_t kMagic = 0x53424646;         // "FFBS"
inline constexpr uint16_t kProtocol = 1;               // grows with every change of a layout below
inline constexpr size_t kMaxMessageBytes = 64 * 1024;  // longer packets are refused
inline constexpr size_t kMaxBlobBytes = 32 * 1024;     // what a rank may hand to join()
inline constexpr size_t kMaxTextBytes = 4096;          // error texts are cut to this
inline constexpr size_t kMaxNameBytes = 255;           // group, host and node names

enum class MessageType : uint8_t {
  kHello = 1,
  kChallenge,
  kProof,
  kWelcome,
  kEnrol,
  kRoster,
  kVerdict,
  kGiveUp,
  kFailure
};

using Nonce = std::array<std::byte, 32>;
using Mac = std::array<std::byte, 32>;

// A process that wants to be a rank says who it is. Nothing in it is believed before the proof.
struct Hello {
  static constexpr MessageType kType = MessageType::kHello;
  Nonce nonce{};
  uint32_t rank = 0, ranks = 0;
  uint64_t ordinal = 0;
  int64_t pid = 0;
  bool has_secret = false;
  std::string group, host;
  template <class Self, class Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.nonce, self.rank, self.ranks, self.ordinal, self.pid, self.has_secret, self.group,
            self.host);
  }
};

// Rank 0's answer: its own fresh number, and who it is.
struct Challenge {
  static constexpr MessageType kType = MessageType::kChallenge;
  Nonce nonce{};
  int64_t pid = 0;
  bool has_secret = false;
  std::string host;
  template <class Self, class Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.nonce, self.pid, self.has_secret, self.host);
  }
};

// The visitor knows the secret.
struct Proof {
  static constexpr MessageType kType = MessageType::kProof;
  Mac mac{};
  template <class Self, class Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.mac);
  }
};

// So does rank 0, and the visitor has the seat it asked for.
struct Welcome {
  static constexpr MessageType kType = MessageType::kWelcome;
  Mac mac{};
  template <class Self, class Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.mac);
  }
};

// What the group needs to know of one rank.
struct Record {
  uint32_t rank = 0;
  int64_t pid = 0;             // as it calls itself
  int64_t pid_at_rank_0 = 0;   // as rank 0 sees it; 0 = not visible there
  uint64_t pid_namespace = 0;  // inode of its PID namespace; 0 = unknown
  uint64_t start_time = 0;     // clock ticks after boot; 0 = unknown
  bool has_life = false;       // a life descriptor travels with this record
  std::string host, node;
  std::vector<std::byte> cpus;  // bit mask of usable CPUs
  std::vector<std::byte> blob;
  template <class Self, class Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.rank, self.pid, self.pid_at_rank_0, self.pid_namespace, self.start_time,
            self.has_life, self.host, self.node, self.cpus, self.blob);
  }
};

// A seated rank hands in its record. Descriptors: arena, life.
struct Enrol {
  static constexpr MessageType kType = MessageType::kEnrol;
  Record record;
  template <class Self, class Archive>
  static void fields(Self& self, Archive& archive) {
    Record::fields(self.record, archive);
  }
};

// Some consecutive ranks' records; several messages make the whole. Descriptors: per record its
// arena, then its life if it has_life.
struct Roster {
  static constexpr MessageType kType = MessageType::kRoster;
  uint32_t first = 0;
  std::vector<Record> records;
  template <class Self, class Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.first, self.records);
  }
};

// To rank 0: how this rank's own preparations went. From rank 0: how everybody's went.
struct Verdict {
  static constexpr MessageType kType = MessageType::kVerdict;
  uint32_t code = 0;
  std::string text;
  template <class Self, class Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.code, self.text);
  }
};

// To rank 0: my deadline has passed; tell everybody whom we are waiting for.
struct GiveUp {
  static constexpr MessageType kType = MessageType::kGiveUp;
  template <class Self, class Archive>
  static void fields(Self&, Archive&) {}
};

// From rank 0, the last message: why there will be no group, or no seat for this visitor.
struct Failure {
  static constexpr MessageType kType = MessageType::kFailure;
  uint32_t code = 0;
  std::string text;
  template <class Self, class Archive>
  static void fields(Self& self, Archive& archive) {
    archive(self.code, self.text);
  }
};

struct Header {
  uint16_t version = 0;
  MessageType type = MessageType::kFailure;
};

// The first eight bytes. FF_ERROR_ARGUMENT with a reason for whatever is not ours; another version
// is not an error here.
Result<Header> read_header(std::span<const std::byte> packet);

template <class Message>
std::vector<std::byte> encode(const Message& message) {
  std::vector<std::byte> bytes;
  Writer writer(bytes);
  writer(kMagic, kProtocol, Message::kType, uint8_t{0});
  Message::fields(message, writer);
  return bytes;
}

Status malformed(MessageType type, size_t bytes);

// `packet` must be exactly one message of this type and version.
template <class Message>
Status decode(std::span<const std::byte> packet, Message& message) {
  FF_ASSIGN_OR_RETURN(const Header header, read_header(packet));
  if (header.version != kProtocol || header.type != Message::kType) {
    return malformed(header.type, packet.size());
  }
  Reader reader(packet.subspan(8));
  Message::fields(message, reader);
  if (!reader.ok() || !reader.at_end()) return malformed(header.type, packet.size());
  return {};
}

const char* message_name(MessageType type);  // "hello"; nullptr if unknown

// Status to message and back. A code that this version does not know becomes FF_ERROR_INTERNAL.
template <class Message>
Message report(const Status& status) {
  Message message;
  message.code = static_cast<uint32_t>(status.code());
  message.text = status.message().substr(0, kMaxTextBytes);
  return message;
}
Status reported(uint32_t code, const std::string& text);

}  // namespace ff::bootstrap
