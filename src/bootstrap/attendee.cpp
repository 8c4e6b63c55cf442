#include "bootstrap/attendee.hpp"

#include <fmt/format.h>

namespace ff::bootstrap {
namespace {

using std::chrono::milliseconds;

constexpr auto kFirstPause = milliseconds(1);   // between two looks for rank 0
constexpr auto kLastWord = milliseconds(1000);  // for rank 0 to say whom we waited for

}  // namespace

Result<std::vector<Member>> Attendee::gather() {
  const Time deadline = party_.deadline();
  FF_RETURN_IF_ERROR(find_rank_0(deadline));
  Enrol enrol;
  enrol.record = party_.record;
  channel_.queue(enrol, {party_.arena, party_.life.get()});
  Result<std::vector<Member>> members = receive_roster(deadline);
  if (!members.ok()) leave(members.status());
  return members;
}

Attendee::~Attendee() { leave({FF_ERROR_ABORTED, "left before the group was complete"}); }

// So that the others hear a reason and not just a closed connection. Rank 0 may be gone.
void Attendee::leave(const Status& why) {
  if (!channel_.valid()) return;
  channel_.queue(report<Verdict>(why));
  (void)channel_.flush();
  channel_.close();
}

Status Attendee::find_rank_0(Time deadline) {
  std::string trouble;
  for (auto pause = kFirstPause;; pause = std::min(2 * pause, party_.place->pause())) {
    FF_ASSIGN_OR_RETURN(const std::optional<std::string> name, party_.place->find(deadline));
    if (name.has_value()) {
      FF_ASSIGN_OR_RETURN(std::optional<Channel> channel, connect_to(*name));
      if (channel.has_value()) {
        FF_ASSIGN_OR_RETURN(const ucred peer, channel->peer());
        FF_ASSIGN_OR_RETURN(const Knock knocked, knock(*channel, party_, deadline));
        if (knocked.seated) {
          channel_ = std::move(*channel);
          rank_0_pid_ = peer.pid > 0 ? peer.pid : knocked.challenge.pid;
          rank_0_host_ = knocked.challenge.host;
          return {};
        }
        trouble = knocked.trouble;
      }
    }
    const Time now = Clock::now();
    if (now >= deadline) break;
    FF_RETURN_IF_ERROR(poll_until({}, std::min(deadline, now + pause)).status());
  }
  if (trouble.empty()) trouble = party_.place->seen();
  return {FF_ERROR_UNREACHABLE,
          fmt::format("rank 0 has not opened the rendezvous{}{}; see whether rank 0 was started "
                      "and runs, on this host, for this user and with the same rendezvous",
                      trouble.empty() ? "" : ": ", trouble)};
}

Result<Packet> Attendee::next(Time deadline, const char* what) {
  Packet packet;
  FF_ASSIGN_OR_RETURN(bool received, channel_.await(Accept::kDescriptors, deadline, packet));
  if (!received && !channel_.closed()) {
    // Rank 0 knows who is missing; its answer is the better error.
    channel_.queue(GiveUp());
    const Time until = Clock::now() + kLastWord;
    FF_ASSIGN_OR_RETURN(received, channel_.await(Accept::kDescriptors, until, packet));
  }
  const std::string rank_0 = who(0, rank_0_pid_, rank_0_host_);
  if (!received) {
    return channel_.closed()
               ? Status(FF_ERROR_PEER_LOST,
                        fmt::format("{} closed its connection {}: it died or was stopped; look at "
                                    "its output, then start the job again",
                                    rank_0, what))
               : Status(FF_ERROR_UNREACHABLE,
                        fmt::format("{} does not answer {}: it is frozen or overloaded", rank_0,
                                    what));
  }
  FF_ASSIGN_OR_RETURN(const Header header, read_header(packet.bytes));
  if (header.type == MessageType::kFailure) {
    Failure failure;
    FF_RETURN_IF_ERROR(decode(packet.bytes, failure).with_context(rank_0));
    if (failure.code != FF_OK) return reported(failure.code, failure.text);
  }
  return packet;
}

Result<std::vector<Member>> Attendee::receive_roster(Time deadline) {
  const std::string rank_0 = who(0, rank_0_pid_, rank_0_host_);
  std::vector<Member> members;
  Record first;
  while (members.size() < party_.ranks) {
    FF_ASSIGN_OR_RETURN(Packet packet, next(deadline, "while the ranks gathered"));
    Roster roster;
    FF_RETURN_IF_ERROR(decode(packet.bytes, roster).with_context(rank_0));
    size_t used = 0;
    const auto take = [&] {
      return used < packet.descriptors.size() ? std::move(packet.descriptors[used++])
                                              : FileDescriptor();
    };
    for (Record& record : roster.records) {
      FileDescriptor arena = take();
      FileDescriptor life = record.has_life ? take() : FileDescriptor();
      if (record.rank != members.size() || record.rank >= party_.ranks || !arena.valid() ||
          life.valid() != neighbours(record.rank, party_.rank, party_.ranks)) {
        return Status(FF_ERROR_INTERNAL,
                      fmt::format("{} sent a list of ranks that does not fit: entry {} of {} is "
                                  "rank {}",
                                  rank_0, members.size(), party_.ranks, record.rank));
      }
      if (record.rank == 0) first = record;
      members.push_back(
          member_from(std::move(record), party_.record, first, std::move(arena), std::move(life)));
    }
  }
  return members;
}

Status Attendee::conclude(const Status& mine, Time deadline) {
  channel_.queue(report<Verdict>(mine));
  const Result<Packet> packet = next(deadline, "while the ranks made ready");
  channel_.close();
  if (!packet.ok()) return packet.status();
  Verdict verdict;
  FF_RETURN_IF_ERROR(
      decode(packet->bytes, verdict).with_context(who(0, rank_0_pid_, rank_0_host_)));
  return reported(verdict.code, verdict.text);
}

}  // namespace ff::bootstrap
