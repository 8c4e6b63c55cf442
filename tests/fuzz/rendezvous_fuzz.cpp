// Whatever bytes come to rank 0's socket, or stand in a rendezvous file: nothing crashes, nothing
// is taken for granted, and what is accepted means the same when it is written again.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string_view>

#include "base/check.hpp"
#include "bootstrap/authenticate.hpp"
#include "bootstrap/entry.hpp"
#include "bootstrap/message.hpp"
#include "bootstrap/visitor.hpp"

namespace ff::bootstrap {
namespace {

using Bytes = std::span<const std::byte>;

template <class Message>
void decode_and_back(Bytes packet) {
  Message message, again;
  if (!decode(packet, message).ok()) return;
  const std::vector<std::byte> written = encode(message);
  FF_CHECK(decode(written, again).ok(), "what was accepted can be written and read");
  FF_CHECK(encode(again) == written, "reading and writing are inverses");
}

void decode_anything(Bytes packet) {
  decode_and_back<Hello>(packet);
  decode_and_back<Challenge>(packet);
  decode_and_back<Proof>(packet);
  decode_and_back<Welcome>(packet);
  decode_and_back<Enrol>(packet);
  decode_and_back<Roster>(packet);
  decode_and_back<Verdict>(packet);
  decode_and_back<GiveUp>(packet);
  decode_and_back<Failure>(packet);
}

void parse_anything(std::string_view text) {
  const Result<Entry> entry = parse_entry(text);
  if (!entry.ok()) return;
  const Result<Entry> again = parse_entry(format_entry(*entry));
  FF_CHECK(again.ok() && again->socket == entry->socket && again->pid == entry->pid,
           "an entry that was accepted can be written and read");
}

// The input as packets to one visitor: a length byte times 8, what to attach, the bytes. A length
// of 255 stands for the right proof, which no fuzzer would guess.
void visit(Bytes input) {
  int ends[2];
  FF_CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends) == 0, "there are sockets");
  Channel ours{FileDescriptor(ends[1])};
  const Door door = {"secret", 1, "host"};
  Visitor visitor(Channel{FileDescriptor(ends[0])}, ucred{1, 0, 0}, Time::max());
  std::vector<std::byte> first;
  bool proved = false;
  while (input.size() >= 2 && visitor.phase() != Visitor::Phase::kLeaving) {
    const auto length = std::to_integer<size_t>(input[0]);
    const auto attached = std::to_integer<size_t>(input[1]) % 4;
    input = input.subspan(2);
    Packet packet;
    if (length == 255) {
      Packet challenge;
      if (!visitor.channel().flush().ok() || !*ours.receive(Accept::kBytesOnly, challenge))
        continue;
      Proof proof;
      proof.mac = *prove(door.secret, Role::kVisitor, first, challenge.bytes);
      packet.bytes = encode(proof);
      proved = true;
    } else {
      const Bytes bytes = input.first(std::min(8 * length, input.size()));
      packet.bytes.assign(bytes.begin(), bytes.end());
      input = input.subspan(bytes.size());
      for (size_t i = 0; i < attached && visitor.known(); i++) {
        packet.descriptors.emplace_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
      }
    }
    if (visitor.phase() == Visitor::Phase::kHello) first = packet.bytes;
    const Result<Visitor::Event> event = visitor.step(door, std::move(packet));
    FF_CHECK(event.ok(), "only the system can make a step fail");
    switch (*event) {
      case Visitor::Event::kAsks:
        FF_CHECK(proved, "nobody asks without a proof");
        visitor.seat();
        break;
      case Visitor::Event::kBrings:
        FF_CHECK(visitor.brought().record.rank == visitor.rank() &&
                     visitor.brought().arena.valid() && visitor.brought().life.valid() &&
                     visitor.brought().record.blob.size() <= kMaxBlobBytes,
                 "a record is whole");
        break;
      case Visitor::Event::kStranger:
      case Visitor::Event::kBabbles:
        return;
      case Visitor::Event::kNothing:
      case Visitor::Event::kReports:
      case Visitor::Event::kGivesUp:
        break;
    }
  }
}

}  // namespace
}  // namespace ff::bootstrap

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  const auto input = std::as_bytes(std::span(data, bytes));
  ff::bootstrap::decode_anything(input);
  ff::bootstrap::parse_anything({reinterpret_cast<const char*>(data), bytes});
  ff::bootstrap::visit(input);
  return 0;
}
