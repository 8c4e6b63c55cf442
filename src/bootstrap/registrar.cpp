#include "bootstrap/registrar.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/log.hpp"

namespace ff::bootstrap {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto kPatience = seconds(2);  // for a stranger to prove the secret
constexpr size_t kMostStrangers = 64;   // at a time, beside the ranks themselves
constexpr size_t kLoggedStrangers = 16;
constexpr auto kFarewell = seconds(3);  // how long a failed gathering waits for latecomers
constexpr auto kLastWords = milliseconds(500);
constexpr auto kPause = milliseconds(5);    // while another process seems to hold the name
constexpr size_t kRosterBytes = 24 * 1024;  // a record more still fits into a message

}  // namespace

Registrar::Registrar(Party& party) : party_(party), seats_(party.ranks) {
  door_ = {party.secret, getpid(), party.record.host};
}

Registrar::~Registrar() {
  if (!listener_.valid()) return;
  fail({FF_ERROR_ABORTED,
        fmt::format("{} left before the group was complete", who(0, door_.pid, door_.host))});
  close_door();
  drain(Clock::now() + kLastWords, false);
}

void Registrar::close_door() {
  listener_.reset();
  party_.place->withdraw();
}

Result<std::vector<Member>> Registrar::gather() {
  const Time deadline = party_.deadline();
  FF_RETURN_IF_ERROR(open(deadline));
  if (Status trouble = fill_seats(deadline); !trouble.ok()) {
    fail(trouble.with_context(who(0, door_.pid, door_.host)));
  }
  if (failure_.has_value()) {
    const Time now = Clock::now();
    const bool early = now < deadline;
    drain(early ? std::min(deadline, now + kFarewell) : now + kLastWords, early);
    close_door();
    return *failure_;
  }

  const Record me = seats_[0].brought->record;
  std::vector<Member> members;
  for (uint32_t rank = 0; rank < party_.ranks; rank++) {
    Visitor::Brought& brought = *seats_[rank].brought;
    if (!neighbours(rank, 0, party_.ranks)) brought.life.reset();
    members.push_back(member_from(std::move(brought.record), me, me, std::move(brought.arena),
                                  std::move(brought.life)));
  }
  return members;
}

// Until all have come and have the list, or failure_ says why not. An error is this process's own.
Status Registrar::fill_seats(Time deadline) {
  Visitor::Brought mine;
  mine.record = party_.record;
  mine.record.pid_at_rank_0 = getpid();
  FF_ASSIGN_OR_RETURN(mine.arena, duplicate(party_.arena));
  FF_ASSIGN_OR_RETURN(mine.life, duplicate(party_.life.get()));
  seats_[0].brought = std::move(mine);

  while (!failure_.has_value() && seated() < party_.ranks) {
    if (Clock::now() >= deadline) fail(still_missing());
    FF_RETURN_IF_ERROR(turn(deadline));
  }
  if (!failure_.has_value()) hand_out_rosters();
  while (!failure_.has_value() && anything_to_send()) {
    if (Clock::now() >= deadline) {
      fail({FF_ERROR_UNREACHABLE, "not all ranks took the list of ranks in time"});
    }
    FF_RETURN_IF_ERROR(turn(deadline));
  }
  return {};
}

// Opens the door. If another process has it, that one says whether it is a rank 0 as well: then it
// fails the gathering for everybody, this process included.
Status Registrar::open(Time deadline) {
  for (std::string trouble = "another process listens there";;) {
    FF_ASSIGN_OR_RETURN(const std::string name, party_.place->name_to_open());
    Result<FileDescriptor> listener = listen_at(name);
    if (listener.ok()) {
      listener_ = GuardedDescriptor(std::move(*listener));
      FF_ASSIGN_OR_RETURN(const bool published, party_.place->publish());
      if (published) return {};
      listener_.reset();
      continue;
    }
    if (listener.status().code() != FF_ERROR_STATE) return listener.status();
    FF_ASSIGN_OR_RETURN(std::optional<Channel> channel, connect_to(name));
    if (channel.has_value()) {
      FF_ASSIGN_OR_RETURN(const Knock knocked, knock(*channel, party_, deadline));
      trouble = knocked.trouble;
    }
    const Time now = Clock::now();
    if (now >= deadline) {
      return {FF_ERROR_UNREACHABLE,
              fmt::format("this rendezvous is in use: {}; choose another one for this job, or end "
                          "the other",
                          trouble)};
    }
    FF_RETURN_IF_ERROR(poll_until({}, std::min<Time>(deadline, now + kPause)).status());
  }
}

// Waits for something to happen, at most until `until`, and handles it.
Status Registrar::turn(Time until) {
  std::vector<pollfd> polled = {{crowded_ ? -1 : listener_.get(), POLLIN, 0}};
  for (Visitor& visitor : visitors_) {
    Channel& channel = visitor.channel();
    short events = visitor.phase() == Visitor::Phase::kLeaving ? short{0} : short{POLLIN};
    if (channel.retry_at().has_value()) {
      until = std::min(until, *channel.retry_at());
    } else if (channel.wants_to_send()) {
      events = static_cast<short>(events | POLLOUT);
    }
    if (visitor.stranger()) until = std::min(until, visitor.patience_ends());
    polled.push_back({channel.fd(), events, 0});
  }
  FF_RETURN_IF_ERROR(poll_until(polled, until).status());

  size_t index = 1;
  for (auto visitor = visitors_.begin(); visitor != visitors_.end(); ++index) {
    if (polled[index].revents != 0 || visitor->channel().wants_to_send()) {
      FF_RETURN_IF_ERROR(serve(*visitor));
    }
    if (visitor->stranger() && visitor->patience_ends() <= Clock::now()) {
      turn_away(*visitor, "said nothing that proves the secret in time");
    }
    const bool finished =
        !visitor->channel().valid() ||
        (visitor->phase() == Visitor::Phase::kLeaving && !visitor->channel().wants_to_send());
    if (finished) crowded_ = false;
    visitor = finished ? visitors_.erase(visitor) : std::next(visitor);
  }
  return polled[0].revents != 0 ? accept_all() : Status();
}

Status Registrar::accept_all() {
  for (;;) {
    Result<std::optional<Channel>> accepted = accept_from(listener_.get());
    if (accepted.status().code() == FF_ERROR_RESOURCE) {
      fail(accepted.status().with_context(who(0, door_.pid, door_.host)));
      crowded_ = true;
      return {};
    }
    FF_ASSIGN_OR_RETURN(std::optional<Channel> channel, std::move(accepted));
    if (!channel.has_value()) return {};
    FF_ASSIGN_OR_RETURN(const ucred peer, channel->peer());
    visitors_.emplace_back(std::move(*channel), peer, Clock::now() + kPatience);
    if (peer.uid != geteuid()) {
      turn_away(visitors_.back(), fmt::format("belongs to another user (uid {})", peer.uid));
      visitors_.pop_back();
      continue;
    }
    if (static_cast<size_t>(std::ranges::count_if(visitors_, &Visitor::stranger)) >
        kMostStrangers + party_.ranks) {
      const auto oldest = std::ranges::find_if(visitors_, &Visitor::stranger);
      turn_away(*oldest, "waited in a crowd of others that proved nothing");
      visitors_.erase(oldest);
    }
  }
}

// Takes what a visitor has sent and sends what is queued for it.
Status Registrar::serve(Visitor& visitor) {
  while (visitor.channel().valid() && visitor.phase() != Visitor::Phase::kLeaving) {
    const Accept accept = visitor.known() ? Accept::kDescriptors : Accept::kBytesOnly;
    Packet packet;
    FF_ASSIGN_OR_RETURN(const bool received, visitor.channel().receive(accept, packet));
    if (!received) {
      if (visitor.channel().closed()) gone(visitor);
      break;
    }
    FF_ASSIGN_OR_RETURN(const Visitor::Event event, visitor.step(door_, std::move(packet)));
    handle(visitor, event);
  }
  return visitor.channel().valid() ? visitor.channel().flush().status() : Status();
}

void Registrar::handle(Visitor& visitor, Visitor::Event event) {
  const auto name = [&] { return who(visitor.rank(), visitor.pid(), visitor.hello().host); };
  switch (event) {
    case Visitor::Event::kNothing:
      break;
    case Visitor::Event::kStranger:
      turn_away(visitor, visitor.why().message());
      break;
    case Visitor::Event::kAsks:
      admit(visitor);
      break;
    case Visitor::Event::kBrings:
      seats_[visitor.rank()].brought = std::move(visitor.brought());
      break;
    case Visitor::Event::kReports:
      if (!visitor.why().ok()) fail(visitor.why().with_context(name()));
      seats_[visitor.rank()].verdict = visitor.why();
      break;
    case Visitor::Event::kGivesUp:
      fail(still_missing());
      break;
    case Visitor::Event::kBabbles:
      fail({FF_ERROR_INTERNAL, fmt::format("{} {}", name(), visitor.why().message())});
      break;
  }
}

// Somebody who knows the secret asks for a seat.
void Registrar::admit(Visitor& visitor) {
  const Hello& hello = visitor.hello();
  if (!failure_.has_value()) {
    const std::string claimant = who(hello.rank, visitor.pid(), hello.host);
    const std::string me = who(0, door_.pid, door_.host);
    const auto holder = std::ranges::find_if(visitors_, [&](const Visitor& other) {
      return &other != &visitor && other.known() && other.rank() == hello.rank;
    });
    if (hello.group != party_.group) {
      fail({FF_ERROR_ARGUMENT,
            fmt::format("{} joins group '{}', {} group '{}', over one rendezvous: give each group "
                        "its own",
                        claimant, hello.group, me, party_.group)});
    } else if (hello.ranks != party_.ranks) {
      fail({FF_ERROR_ARGUMENT,
            fmt::format("{} says that the group has {} ranks, {} says {}: give all ranks the same "
                        "number",
                        claimant, hello.ranks, me, party_.ranks)});
    } else if (hello.ordinal != party_.ordinal || hello.rank >= party_.ranks) {
      fail({FF_ERROR_ARGUMENT,
            fmt::format("{} asks for a seat that does not exist in group {} of {} ranks", claimant,
                        party_.ordinal, party_.ranks)});
    } else if (hello.rank == 0 || holder != visitors_.end()) {
      const int64_t first = hello.rank == 0 ? door_.pid : holder->pid();
      const std::string& host = hello.rank == 0 ? door_.host : holder->hello().host;
      fail({FF_ERROR_ARGUMENT,
            fmt::format("two processes claim rank {}: pid {} on {} and pid {} on {}; give each "
                        "process its own rank (FF_RANK, or the launcher's variable)",
                        hello.rank, first, host, visitor.pid(), hello.host)});
    }
  }
  if (failure_.has_value()) {
    tell(visitor);
  } else {
    visitor.seat();
  }
}

void Registrar::turn_away(Visitor& visitor, const std::string& reason) {
  stranger_count_++;
  last_stranger_ = fmt::format("pid {}: {}", visitor.peer().pid, reason);
  if (stranger_count_ <= kLoggedStrangers) {
    log(LogLevel::kWarning, "rendezvous {}: turned away pid {} (uid {}): {}{}",
        party_.place->words(), visitor.peer().pid, visitor.peer().uid, reason,
        stranger_count_ == kLoggedStrangers ? "; further ones are only counted" : "");
  }
  (void)visitor.channel().flush();  // the reason, if it is for the visitor to know and fits now
  visitor.channel().close();
}

void Registrar::gone(Visitor& visitor) {
  if (!visitor.known()) {
    turn_away(visitor, "closed the connection without proving the secret");
    return;
  }
  const std::string name = who(visitor.rank(), visitor.pid(), visitor.hello().host);
  visitor.channel().close();
  told_.insert(visitor.rank());  // no use waiting for it
  if (!failure_.has_value()) {
    fail({FF_ERROR_PEER_LOST,
          fmt::format("{} closed its connection before the group was complete: it died or was "
                      "stopped; look at its output, then start the job again",
                      name)});
  }
}

// The first reason counts; everybody who is here hears it now, the others when they come.
void Registrar::fail(Status why) {
  if (failure_.has_value()) return;
  failure_ = std::move(why);
  for (Visitor& visitor : visitors_) {
    if (visitor.known() && visitor.channel().valid()) tell(visitor);
  }
  // What they brought is of no use any more, and its descriptors may be what is short.
  for (Seat& seat : seats_) seat.brought.reset();
}

void Registrar::tell(Visitor& visitor) {
  told_.insert(visitor.rank());
  visitor.dismiss(*failure_);
}

void Registrar::hand_out_rosters() {
  for (Visitor& visitor : visitors_) {
    if (visitor.phase() != Visitor::Phase::kSeated) continue;
    Roster roster;
    std::vector<int> descriptors;
    size_t bytes = 0;
    const auto send = [&] {
      visitor.channel().queue(roster, std::move(descriptors));
      roster.first += static_cast<uint32_t>(roster.records.size());
      roster.records.clear();
      descriptors.clear();
      bytes = 0;
    };
    for (uint32_t rank = 0; rank < party_.ranks; rank++) {
      const Visitor::Brought& brought = *seats_[rank].brought;
      Record record = brought.record;
      record.has_life = neighbours(rank, visitor.rank(), party_.ranks);
      descriptors.push_back(brought.arena.get());
      if (record.has_life) descriptors.push_back(brought.life.get());
      bytes += record.blob.size() + record.cpus.size() + 1024;
      roster.records.push_back(std::move(record));
      if (bytes > kRosterBytes || descriptors.size() + 2 > Channel::kMaxDescriptors) send();
    }
    if (!roster.records.empty()) send();
  }
}

Status Registrar::conclude(const Status& mine, Time deadline) {
  if (!mine.ok()) fail(mine.with_context(who(0, door_.pid, door_.host)));
  seats_[0].verdict = mine;
  const auto waiting = [&] {
    return std::ranges::any_of(seats_, [](const Seat& seat) { return !seat.verdict.has_value(); });
  };
  while (!failure_.has_value() && waiting()) {
    if (Clock::now() >= deadline) fail(still_missing());
    if (Status trouble = turn(deadline); !trouble.ok()) {
      fail(trouble.with_context(who(0, door_.pid, door_.host)));
    }
  }
  close_door();  // before anybody leaves: whoever comes back for the next group finds no old door
  if (!failure_.has_value()) {
    for (Visitor& visitor : visitors_) {
      if (!visitor.known()) continue;
      visitor.channel().queue(report<Verdict>(Status()));
      visitor.leave();
    }
  }
  drain(Clock::now() + kLastWords, false);
  visitors_.clear();
  return failure_.value_or(Status());
}

// Lets last words reach those who are here and, if asked for, those who are still to come.
void Registrar::drain(Time until, bool wait_for_latecomers) {
  const auto unfinished = [&] {
    return anything_to_send() || (wait_for_latecomers && told_.size() + 1 < party_.ranks);
  };
  while (unfinished() && Clock::now() < until) {
    if (const Status trouble = turn(until); !trouble.ok()) {
      log(LogLevel::kWarning, "rendezvous {}: not all ranks could be told of the failure: {}",
          party_.place->words(), trouble.message());
      return;
    }
  }
}

bool Registrar::anything_to_send() const {
  return std::ranges::any_of(
      visitors_, [](const Visitor& visitor) { return visitor.channel().wants_to_send(); });
}

size_t Registrar::seated() const {
  return static_cast<size_t>(
      std::ranges::count_if(seats_, [](const Seat& seat) { return seat.brought.has_value(); }));
}

Status Registrar::still_missing() const {
  const bool gathered = seated() == party_.ranks;
  std::vector<uint32_t> missing;
  for (uint32_t rank = 0; rank < party_.ranks; rank++) {
    const Seat& seat = seats_[rank];
    if (gathered ? !seat.verdict.has_value() : !seat.brought.has_value()) missing.push_back(rank);
  }
  return {FF_ERROR_UNREACHABLE,
          fmt::format("{} {} of {} {} within {:.1f} s{}; {}",
                      missing.size() == 1 ? "rank" : "ranks", list_ranks(missing), party_.ranks,
                      gathered ? "arrived, but did not make ready" : "did not arrive",
                      seconds_since(party_.start), strangers(),
                      gathered ? "see whether they are frozen or overloaded"
                               : "see whether they were started and run, on this host, for this "
                                 "user and with the same rendezvous")};
}

std::string Registrar::strangers() const {
  if (stranger_count_ == 0) return "";
  return fmt::format("; {} {} turned away: last {}", stranger_count_,
                     stranger_count_ == 1 ? "stranger was" : "strangers were", last_stranger_);
}

}  // namespace ff::bootstrap
