// The two sides of a gathering: rank 0 keeps the register (registrar.hpp), the others attend
// (attendee.hpp). What they share is here.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "bootstrap/channel.hpp"
#include "bootstrap/deadline.hpp"
#include "bootstrap/meeting_place.hpp"
#include "bootstrap/message.hpp"
#include "bootstrap/rendezvous.hpp"

namespace ff::bootstrap {

// What one rank brings to the gathering. Lives as long as the Gathering.
struct Party {
  uint32_t rank = 0, ranks = 1;
  uint64_t ordinal = 0;
  std::string group, secret;
  std::unique_ptr<MeetingPlace> place;
  Record record;
  int arena = -1;               // borrowed
  FileDescriptor life;          // to be passed on
  GuardedDescriptor life_line;  // see Gathering::take_life_line
  Time start;
  std::chrono::nanoseconds timeout{};

  Time deadline() const { return deadline_after(start, timeout); }
};

class Side {
 public:
  virtual ~Side() = default;
  // Every rank's record with its descriptors, by rank.
  virtual Result<std::vector<Member>> gather() = 0;
  virtual Status conclude(const Status& mine, Time deadline) = 0;
};

// Who a rank is, in an error: "rank 2 (pid 4711 on node7)".
std::string who(uint32_t rank, int64_t pid, const std::string& host);
std::string who(const Record& record);

// "2, 5-7"
std::string list_ranks(const std::vector<uint32_t>& ascending);

// Do r and s watch each other? Then their life descriptors travel.
bool neighbours(uint32_t r, uint32_t s, uint32_t ranks);

// A record as `self` sees it.
Member member_from(Record record, const Record& self, const Record& rank_0, FileDescriptor arena,
                   FileDescriptor life);

std::vector<std::byte> cpu_mask(const std::vector<uint32_t>& cpus);
std::vector<uint32_t> cpu_list(const std::vector<std::byte>& mask);

Result<FileDescriptor> duplicate(int fd);

// How an attempt to be let in went, for the side that knocks.
struct Knock {
  bool seated = false;  // rank 0 knows the secret and keeps our seat; else try again later
  Challenge challenge;
  std::string trouble;  // why not seated
};
// Hello to Welcome on a fresh connection. An error is final.
Result<Knock> knock(Channel& channel, const Party& party, Time until);

}  // namespace ff::bootstrap
