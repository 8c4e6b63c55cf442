#include "bootstrap/rendezvous.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "base/check.hpp"
#include "bootstrap/attendee.hpp"
#include "bootstrap/authenticate.hpp"
#include "bootstrap/life.hpp"
#include "bootstrap/registrar.hpp"
#include "bootstrap/side.hpp"
#include "topology/detect/node_facts.hpp"
#include "topology/detect/process.hpp"

namespace ff {
namespace bootstrap {
namespace {

// A group of one meets nobody.
class Alone final : public Side {
 public:
  explicit Alone(Party& party) : party_(party) {}
  Result<std::vector<Member>> gather() override {
    FF_ASSIGN_OR_RETURN(FileDescriptor arena, duplicate(party_.arena));
    std::vector<Member> members;
    members.push_back(member_from(party_.record, party_.record, party_.record, std::move(arena),
                                  FileDescriptor()));
    return members;
  }
  Status conclude(const Status& mine, Time) override { return mine; }

 private:
  Party& party_;
};

Result<Record> own_record(const JoinOptions& options, std::span<const std::byte> blob) {
  Record record;
  record.rank = options.rank.value();
  record.pid = getpid();
  record.pid_namespace = pid_namespace("/");
  const Result<ProcessFacts> self = read_process("/", own_pid("/"));
  record.start_time = self.ok() ? self->start_time : 0;  // /proc may be absent or hidden
  record.host = options.host.empty() ? host_name() : options.host;
  record.node = options.node.empty() ? boot_id("/") : options.node;
  FF_ASSIGN_OR_RETURN(const std::vector<uint32_t> cpus, affinity_of_this_thread());
  record.cpus = cpu_mask(cpus);
  record.blob.assign(blob.begin(), blob.end());
  return record;
}

Status check(const JoinOptions& options, size_t blob_bytes, int arena_fd) {
  const auto wrong = [](std::string text) { return Status(FF_ERROR_ARGUMENT, std::move(text)); };
  if (options.ranks == 0) return wrong("a group has at least one rank, this one is to have 0");
  if (options.rank.value() >= options.ranks) {
    return wrong(fmt::format("rank {} is not one of the {} ranks 0 to {}", options.rank.value(),
                             options.ranks, options.ranks - 1));
  }
  if (options.timeout == std::chrono::nanoseconds(0)) {
    return wrong("there is no time to connect: the timeout is 0");
  }
  if (options.group.size() > kMaxNameBytes || options.host.size() > kMaxNameBytes ||
      options.node.size() > kMaxNameBytes) {
    return wrong(
        fmt::format("names of groups, hosts and nodes may have {} bytes; these have {}, "
                    "{} and {}",
                    kMaxNameBytes, options.group.size(), options.host.size(), options.node.size()));
  }
  FF_CHECK(blob_bytes <= kMaxBlobBytes, "the caller's blob is within its limit");
  FF_CHECK(arena_fd >= 0, "the caller brings its memory");
  return {};
}

}  // namespace
}  // namespace bootstrap

using bootstrap::Party;

Gathering::Gathering() : party_(std::make_unique<Party>()) {}
Gathering::~Gathering() = default;

const std::string& Gathering::place() const { return party_->place->words(); }
bootstrap::GuardedDescriptor Gathering::take_life_line() { return std::move(party_->life_line); }

// "rank 1 of 4 of group 'world', rendezvous name:demo, after 1.2 s"
std::string Gathering::where() const {
  const Party& party = *party_;
  return fmt::format("rank {} of {} in group '{}', rendezvous {}{}, after {:.1f} s", party.rank,
                     party.ranks, party.group, party.place->words(),
                     party.ordinal == 0 ? "" : fmt::format(" (group {} from it)", party.ordinal),
                     bootstrap::seconds_since(party.start));
}

Result<std::unique_ptr<Gathering>> Gathering::join(const JoinOptions& options,
                                                   std::span<const std::byte> blob, int arena_fd) {
  FF_RETURN_IF_ERROR(bootstrap::check(options, blob.size(), arena_fd));
  std::unique_ptr<Gathering> gathering(new Gathering);
  Party& party = *gathering->party_;
  party.start = bootstrap::Clock::now();
  party.timeout = options.timeout;
  party.rank = options.rank.value();
  party.ranks = options.ranks;
  party.group = options.group;
  party.arena = arena_fd;
  party.ordinal = options.ordinal;
  FF_ASSIGN_OR_RETURN(bootstrap::Venue venue, bootstrap::find_venue(options));
  party.place = std::move(venue.place);
  party.secret = options.secret + venue.secret;
  FF_ASSIGN_OR_RETURN(party.record, bootstrap::own_record(options, blob));
  FF_ASSIGN_OR_RETURN(bootstrap::Life life, bootstrap::make_life(options.try_pidfd));
  party.life = std::move(life.watched);
  party.life_line = std::move(life.held);

  if (party.ranks == 1) {
    gathering->side_ = std::make_unique<bootstrap::Alone>(party);
  } else if (party.rank == 0) {
    gathering->side_ = std::make_unique<bootstrap::Registrar>(party);
  } else {
    gathering->side_ = std::make_unique<bootstrap::Attendee>(party);
  }
  Result<std::vector<Member>> members = gathering->side_->gather();
  if (!members.ok()) return members.status().with_context(gathering->where());
  gathering->members_ = std::move(*members);
  return gathering;
}

Status Gathering::conclude(const Status& mine) {
  FF_CHECK(side_ != nullptr, "a gathering is concluded once");
  const Status outcome =
      side_->conclude(mine, bootstrap::deadline_after(bootstrap::Clock::now(), party_->timeout));
  side_.reset();
  return outcome.with_context(where());
}

}  // namespace ff
