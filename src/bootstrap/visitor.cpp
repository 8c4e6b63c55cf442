#include "bootstrap/visitor.hpp"

#include <fmt/format.h>

#include "base/check.hpp"
#include "bootstrap/authenticate.hpp"

namespace ff::bootstrap {
namespace {

std::string has(bool secret) { return secret ? "has a secret" : "has none"; }

// Says what differs without giving anything away.
Status wrong_secret(const Hello& hello, const Door& door) {
  const bool ours = !door.secret.empty();
  const std::string difference =
      hello.has_secret == ours
          ? "both have a secret, but not the same"
          : fmt::format("this process {}, rank 0 {}", has(hello.has_secret), has(ours));
  return {FF_ERROR_ARGUMENT,
          fmt::format("rank 0 (pid {} on {}) turned this process away: {}. Give all ranks of the "
                      "job the same secret (FF_SECRET, or the communicator's configuration)",
                      door.pid, door.host, difference)};
}

}  // namespace

Visitor::Visitor(Channel channel, const ucred& peer, Time patience_ends)
    : channel_(std::move(channel)), peer_(peer), patience_ends_(patience_ends) {}

Result<Visitor::Event> Visitor::step(const Door& door, Packet packet) {
  switch (phase_) {
    case Phase::kHello:
      return on_hello(door, std::move(packet));
    case Phase::kProof:
      return on_proof(door, packet);
    case Phase::kEnrol:
      return on_record(std::move(packet));
    case Phase::kSeated:
      return on_word(packet);
    case Phase::kLeaving:
      break;
  }
  return Event::kNothing;
}

Result<Visitor::Event> Visitor::on_hello(const Door& door, Packet packet) {
  const Result<Header> header = read_header(packet.bytes);
  if (!header.ok()) return because(Event::kStranger, header.status());
  if (header->version != kProtocol) {
    // It understands the header of any answer of ours, and says the same on its side.
    const std::string difference =
        fmt::format("speaks version {} of the bootstrap protocol, this is version {}",
                    header->version, kProtocol);
    channel_.queue(report<Failure>(Status(FF_ERROR_ARGUMENT, "this process " + difference)));
    return because(Event::kStranger, Status(FF_ERROR_ARGUMENT, difference));
  }
  if (const Status read = decode(packet.bytes, hello_); !read.ok()) {
    return because(Event::kStranger, read);
  }
  if (hello_.group.size() > kMaxNameBytes || hello_.host.size() > kMaxNameBytes) {
    return because(Event::kStranger, malformed(MessageType::kHello, packet.bytes.size()));
  }
  Challenge challenge;
  FF_ASSIGN_OR_RETURN(challenge.nonce, fresh_nonce());
  challenge.pid = door.pid;
  challenge.has_secret = !door.secret.empty();
  challenge.host = door.host;
  hello_packet_ = std::move(packet.bytes);
  challenge_packet_ = encode(challenge);
  channel_.queue(challenge_packet_);
  phase_ = Phase::kProof;
  return Event::kNothing;
}

Result<Visitor::Event> Visitor::on_proof(const Door& door, const Packet& packet) {
  Proof proof;
  if (const Status read = decode(packet.bytes, proof); !read.ok()) {
    return because(Event::kStranger, read);
  }
  FF_ASSIGN_OR_RETURN(const Mac expected,
                      prove(door.secret, Role::kVisitor, hello_packet_, challenge_packet_));
  if (!same_mac(proof.mac, expected)) {
    channel_.queue(report<Failure>(wrong_secret(hello_, door)));
    return because(Event::kStranger,
                   Status(FF_ERROR_ARGUMENT,
                          fmt::format("asked for rank {} with the wrong secret", hello_.rank)));
  }
  FF_ASSIGN_OR_RETURN(welcome_,
                      prove(door.secret, Role::kRankZero, hello_packet_, challenge_packet_));
  return Event::kAsks;
}

Visitor::Event Visitor::on_record(Packet packet) {
  Enrol enrol;
  if (const Status read = decode(packet.bytes, enrol); !read.ok()) {
    return because(Event::kBabbles, read);
  }
  const Record& record = enrol.record;
  if (record.rank != hello_.rank || packet.descriptors.size() != 2 ||
      record.blob.size() > kMaxBlobBytes || record.host.size() > kMaxNameBytes ||
      record.node.size() > kMaxNameBytes || record.cpus.size() > kMaxNameBytes * 8) {
    return because(Event::kBabbles, malformed(MessageType::kEnrol, packet.bytes.size()));
  }
  phase_ = Phase::kSeated;
  enrol.record.pid_at_rank_0 = peer_.pid;
  brought_ = {std::move(enrol.record), std::move(packet.descriptors[0]),
              std::move(packet.descriptors[1])};
  return Event::kBrings;
}

Visitor::Event Visitor::on_word(const Packet& packet) {
  GiveUp give_up;
  if (decode(packet.bytes, give_up).ok()) return Event::kGivesUp;
  Verdict verdict;
  if (const Status read = decode(packet.bytes, verdict); !read.ok()) {
    return because(Event::kBabbles, read);
  }
  return because(Event::kReports, reported(verdict.code, verdict.text));
}

Visitor::Event Visitor::because(Event event, Status why) {
  why_ = std::move(why);
  return event;
}

void Visitor::seat() {
  FF_CHECK(phase_ == Phase::kProof, "a seat follows a proof");
  Welcome welcome;
  welcome.mac = welcome_;
  channel_.queue(welcome);
  phase_ = Phase::kEnrol;
}

void Visitor::dismiss(const Status& why) {
  channel_.forget_queue();  // a list that nobody needs any more
  channel_.queue(report<Failure>(why));
  leave();
}

}  // namespace ff::bootstrap
