// One connection at rank 0's door, from the first packet to the last: an explicit state machine.
//
//   kHello --hello/challenge--> kProof --proof/welcome--> kEnrol --record--> kSeated --> kLeaving
//
// step() takes one packet and says what it means; it does no I/O of its own except to queue
// answers, so tests and the fuzzer drive it with any packets in any order.
#pragma once
#include <sys/socket.h>

#include <optional>
#include <string>
#include <vector>

#include "bootstrap/channel.hpp"
#include "bootstrap/message.hpp"

namespace ff::bootstrap {

// What rank 0 must know to let somebody in.
struct Door {
  std::string secret;
  int64_t pid = 0;
  std::string host;
};

class Visitor {
 public:
  enum class Phase { kHello, kProof, kEnrol, kSeated, kLeaving };

  Visitor(Channel channel, const ucred& peer, Time patience_ends);

  // What a packet meant.
  enum class Event {
    kNothing,   // nothing to decide yet
    kStranger,  // not of this job, or not able to show it: drop it; why() is for the log
    kAsks,      // knows the secret, wants the seat of hello(): answer with seat() or dismiss()
    kBrings,    // brought() holds its record
    kReports,   // why() is how its preparations went
    kGivesUp,   // its deadline has passed
    kBabbles    // a seated rank that breaks the protocol, as why() says
  };

  Result<Event> step(const Door& door, Packet packet);

  void seat();                                // after Asks: welcome
  void dismiss(const Status& why);            // last word; the connection closes once it is sent
  void leave() { phase_ = Phase::kLeaving; }  // closes once what is queued is sent

  Phase phase() const { return phase_; }
  bool known() const { return phase_ == Phase::kEnrol || phase_ == Phase::kSeated; }
  bool stranger() const { return phase_ == Phase::kHello || phase_ == Phase::kProof; }
  const Hello& hello() const { return hello_; }
  uint32_t rank() const { return hello_.rank; }
  // As rank 0 sees it, else (other PID namespace) as it calls itself.
  int64_t pid() const { return peer_.pid > 0 ? peer_.pid : hello_.pid; }
  const ucred& peer() const { return peer_; }
  Time patience_ends() const { return patience_ends_; }
  const Status& why() const { return why_; }
  struct Brought {
    Record record;
    FileDescriptor arena, life;
  };
  Brought& brought() { return brought_; }  // may be moved from
  Channel& channel() { return channel_; }
  const Channel& channel() const { return channel_; }

 private:
  Result<Event> on_hello(const Door& door, Packet packet);
  Result<Event> on_proof(const Door& door, const Packet& packet);
  Event on_record(Packet packet);
  Event on_word(const Packet& packet);
  Event because(Event event, Status why);

  Channel channel_;
  ucred peer_;
  Time patience_ends_;
  Phase phase_ = Phase::kHello;
  std::vector<std::byte> hello_packet_, challenge_packet_;
  Hello hello_;
  Mac welcome_{};
  Status why_;
  Brought brought_;
};

}  // namespace ff::bootstrap
