// Getting in: the opening of a connection, from the side that knocks.
#include <fmt/format.h>
#include <unistd.h>

#include "bootstrap/authenticate.hpp"
#include "bootstrap/side.hpp"

namespace ff::bootstrap {
namespace {

Knock later(std::string trouble) {
  Knock knock;
  knock.trouble = std::move(trouble);
  return knock;
}

// The packet's message, or what rank 0 says instead of it.
template <class Message>
Status expect(std::span<const std::byte> packet, const std::string& peer, Message& message) {
  const Result<Header> header = read_header(packet);
  if (!header.ok()) {
    return header.status().with_context(fmt::format("{}, who holds the rendezvous,", peer));
  }
  if (header->version != kProtocol) {
    return {FF_ERROR_ARGUMENT,
            fmt::format("{} speaks version {} of the bootstrap protocol, this process version {}: "
                        "start all ranks with the same Fireflyer",
                        peer, header->version, kProtocol)};
  }
  if (header->type == MessageType::kFailure) {
    Failure failure;
    FF_RETURN_IF_ERROR(decode(packet, failure).with_context(peer));
    // A failure that claims success is none of ours.
    return failure.code == FF_OK ? malformed(header->type, packet.size()).with_context(peer)
                                 : reported(failure.code, failure.text);
  }
  return decode(packet, message).with_context(peer);
}

}  // namespace

Result<Knock> knock(Channel& channel, const Party& party, Time until) {
  FF_ASSIGN_OR_RETURN(const ucred peer, channel.peer());
  const std::string name = fmt::format("rank 0's process (pid {})", peer.pid);
  if (peer.uid != geteuid()) {
    return later(fmt::format("pid {} of another user (uid {}, this is {}) holds the rendezvous",
                             peer.pid, peer.uid, geteuid()));
  }

  Knock result;
  Hello opening;
  FF_ASSIGN_OR_RETURN(opening.nonce, fresh_nonce());
  opening.rank = party.rank;
  opening.ranks = party.ranks;
  opening.ordinal = party.ordinal;
  opening.pid = getpid();
  opening.has_secret = !party.secret.empty();
  opening.group = party.group;
  opening.host = party.record.host;
  const std::vector<std::byte> hello = encode(opening);
  channel.queue(hello);
  Packet challenge;
  FF_ASSIGN_OR_RETURN(const bool got_challenge,
                      channel.await(Accept::kBytesOnly, until, challenge));
  if (!got_challenge) {
    return later(channel.closed() ? name + " closed the connection before it answered"
                                  : name + " does not answer");
  }
  FF_RETURN_IF_ERROR(expect(challenge.bytes, name, result.challenge));

  Proof proof;
  FF_ASSIGN_OR_RETURN(proof.mac, prove(party.secret, Role::kVisitor, hello, challenge.bytes));
  channel.queue(proof);
  Packet answer;
  FF_ASSIGN_OR_RETURN(const bool got_answer, channel.await(Accept::kBytesOnly, until, answer));
  if (!got_answer) {
    return later(channel.closed() ? name + " closed the connection during the handshake"
                                  : name + " does not answer");
  }
  Welcome welcome;
  FF_RETURN_IF_ERROR(expect(answer.bytes, name, welcome));
  FF_ASSIGN_OR_RETURN(const Mac expected,
                      prove(party.secret, Role::kRankZero, hello, challenge.bytes));
  if (!same_mac(welcome.mac, expected)) {
    return Status(FF_ERROR_ARGUMENT,
                  fmt::format("{} let this process in without knowing its secret: it is no rank 0 "
                              "of this job",
                              name));
  }
  result.seated = true;
  return result;
}

}  // namespace ff::bootstrap
