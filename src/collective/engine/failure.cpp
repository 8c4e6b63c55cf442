#include "collective/engine/failure.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "base/data_type.hpp"

namespace ff {
namespace {

enum class Phase : uint8_t { kNone, kRaised, kSealing, kSealed };

struct FailureWord {
  Phase phase = Phase::kNone;
  ff_status status = FF_OK;
  Evidence evidence = Evidence::kNone;
  int32_t culprit = -1;
  uint32_t raiser = 0;

  uint64_t pack() const {
    return static_cast<uint64_t>(phase) | static_cast<uint64_t>(status) << 2 |
           static_cast<uint64_t>(evidence) << 8 |
           (static_cast<uint64_t>(culprit) & 0xffffffu) << 16 | uint64_t{raiser} << 40;
  }
  static FailureWord unpack(uint64_t word) {
    const auto culprit = static_cast<uint32_t>(word >> 16 & 0xffffffu);
    return {static_cast<Phase>(word & 3), static_cast<ff_status>(word >> 2 & 0x3f),
            static_cast<Evidence>(word >> 8 & 0xff),
            culprit == 0xffffffu ? -1 : static_cast<int32_t>(culprit),
            static_cast<uint32_t>(word >> 40)};
  }
};

template <size_t N>
void put(char (&to)[N], const std::string& text) {
  const size_t length = std::min(text.size(), N - 1);
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
}

}  // namespace

std::string describe(const CallDescription& call) {
  const char* type = type_name(call.type);
  const char* op = op_name(call.op);
  const std::string name(call.name.data(), strnlen(call.name.data(), call.name.size()));
  return fmt::format("all_reduce of {} {}, {}{}", call.count, type == nullptr ? "?" : type,
                     op == nullptr ? "?" : op, name.empty() ? "" : " ('" + name + "')");
}

FailureBoard::FailureBoard(std::span<const SeatMemory> seats, Rank self,
                           std::span<const Person> people, Doorbell* doorbell)
    : seats_(seats),
      self_(self),
      people_(people),
      doorbell_(doorbell),
      board_(&seats[0].seat->board) {}

std::string FailureBoard::who(int32_t rank) const {
  if (rank < 0) return "nobody";
  const Person& person = people_[static_cast<size_t>(rank)];
  return fmt::format("rank {} (pid {} on host {})", rank, person.pid, person.host);
}

void FailureBoard::raise(ff_status status, int32_t culprit, Evidence evidence, uint64_t sequence,
                         const std::string& text) {
  uint64_t seen = board_->word.load(std::memory_order_acquire);
  const auto weaker = [&] {
    const FailureWord word = FailureWord::unpack(seen);
    return word.phase == Phase::kNone || (word.phase == Phase::kRaised && word.evidence < evidence);
  };
  if (!weaker()) return;
  Report& report = seats_[self_.index()].seat->reports[static_cast<size_t>(evidence)];
  report.sequence = sequence;
  put(report.text, text);
  const FailureWord mine = {Phase::kRaised, status, evidence, culprit, self_.value()};
  // Release: the report comes first.
  while (!board_->word.compare_exchange_weak(seen, mine.pack(), std::memory_order_acq_rel)) {
    if (!weaker()) return;
  }
  doorbell_->wake_all();
  doorbell_->wake_own_driver();
  doorbell_->wake_helpers();
}

uint64_t FailureBoard::failing_call() const {
  // Acquire: the report was written before the word.
  const FailureWord word = FailureWord::unpack(board_->word.load(std::memory_order_acquire));
  return seats_[word.raiser].seat->reports[static_cast<size_t>(word.evidence)].sequence;
}

std::chrono::nanoseconds FailureBoard::settles_in(std::chrono::steady_clock::time_point now) const {
  const int64_t seen_at = seen_at_.load(std::memory_order_relaxed);
  const int64_t passed = seen_at == 0 ? 0 : now.time_since_epoch().count() - seen_at;
  const std::chrono::nanoseconds left = kSettling - std::chrono::nanoseconds(passed);
  return std::max(left, std::chrono::nanoseconds(0));
}

void FailureBoard::await_verdict(std::chrono::nanoseconds limit) const {
  const uint32_t before = board_->verdict.load(std::memory_order_acquire);
  if (before == 0) futex_wait(board_->verdict, before, true, limit);
}

std::optional<Failure> FailureBoard::verdict(std::chrono::steady_clock::time_point now) {
  uint64_t seen = board_->word.load(std::memory_order_acquire);
  FailureWord word = FailureWord::unpack(seen);
  if (word.phase == Phase::kNone) return std::nullopt;
  int64_t never = 0;
  seen_at_.compare_exchange_strong(never, now.time_since_epoch().count(),
                                   std::memory_order_relaxed);

  while (word.phase == Phase::kRaised && settles_in(now).count() == 0) {
    FailureWord sealing = word;
    sealing.phase = Phase::kSealing;
    // Acquire: the report of whoever raised it.
    if (board_->word.compare_exchange_weak(seen, sealing.pack(), std::memory_order_acq_rel)) {
      seal(sealing.pack());
      seen = board_->word.load(std::memory_order_acquire);
    }
    word = FailureWord::unpack(seen);
  }
  if (word.phase == Phase::kSealed) {
    return Failure{word.status, word.culprit, board_->sequence, board_->call, board_->text, true};
  }
  // Whoever began to seal may have died over it. Then nobody can tell what the others will say.
  const auto since = std::chrono::nanoseconds(now.time_since_epoch().count() -
                                              seen_at_.load(std::memory_order_relaxed));
  if (word.phase == Phase::kSealing && since > 3 * kSettling) {
    return Failure{word.status,
                   word.culprit,
                   0,
                   "",
                   fmt::format("{}; the rank that wrote the report down ended before it had done",
                               who(word.culprit)),
                   false};
  }
  return std::nullopt;
}

void FailureBoard::seal(uint64_t sealing) {
  FailureWord word = FailureWord::unpack(sealing);
  const Report& report = seats_[word.raiser].seat->reports[static_cast<size_t>(word.evidence)];
  std::string text = report.text;
  if (word.status == FF_ERROR_MISMATCH) explain_mismatch(report.sequence, word.culprit, text);
  board_->sequence = report.sequence;
  uint64_t digest = 0;
  CallDescription call;
  std::string description;
  // The culprit's own view of the call first, else anybody's.
  for (size_t i = 0; i <= seats_.size() && description.empty() && report.sequence != 0; i++) {
    const size_t r = i > 0 ? i - 1 : word.culprit >= 0 ? static_cast<size_t>(word.culprit) : 0;
    const Entry& entry = seats_[r].seat->entries[report.sequence % kBanks];
    if (read_entry(entry, report.sequence, digest, call)) description = describe(call);
  }
  put(board_->call, description);
  put(board_->text, text);
  word.phase = Phase::kSealed;
  board_->word.store(word.pack(), std::memory_order_release);
  board_->verdict.store(1, std::memory_order_release);
  futex_wake(board_->verdict, true);
  doorbell_->wake_helpers();
}

// The odd one out is the minority; among equals, the higher rank.
void FailureBoard::explain_mismatch(uint64_t sequence, int32_t& culprit, std::string& text) const {
  struct Group {
    std::string call;
    std::vector<size_t> ranks;
  };
  std::map<uint64_t, Group> groups;
  for (size_t r = 0; r < seats_.size(); r++) {
    uint64_t digest = 0;
    CallDescription call;
    if (!read_entry(seats_[r].seat->entries[sequence % kBanks], sequence, digest, call)) continue;
    Group& group = groups[digest];
    group.call = describe(call);
    group.ranks.push_back(r);
  }
  if (groups.size() < 2) return;  // the one that differed has gone on; the report names it
  const Group* odd = nullptr;
  const Group* most = nullptr;
  for (const auto& [digest, group] : groups) {
    const auto before = [](const Group& a, const Group& b) {
      return a.ranks.size() != b.ranks.size() ? a.ranks.size() < b.ranks.size()
                                              : a.ranks.back() > b.ranks.back();
    };
    if (odd == nullptr || before(group, *odd)) odd = &group;
    if (most == nullptr || before(*most, group)) most = &group;
  }
  culprit = static_cast<int32_t>(odd->ranks.back());
  text = fmt::format(
      "the ranks made different calls in place {} of their order: {} made {}, while {} made {}. "
      "Every rank must make the same calls in the same order",
      sequence, who(culprit), odd->call, who(static_cast<int32_t>(most->ranks.front())),
      most->call);
}

// Walks from what `self` waits for to a step that nothing keeps from firing. The step's rank is to
// blame: a step that is free to fire needs nobody's help.
Blame find_blame(const Schedule& schedule, std::span<const SeatMemory> seats,
                 uint32_t counters_per_bank, uint64_t sequence, uint64_t chunks, Rank self) {
  const size_t bank = sequence % kBanks;
  std::vector<bool> finished(seats.size());
  for (size_t r = 0; r < seats.size(); r++) {
    uint64_t digest = 0;
    CallDescription call;
    finished[r] = seats[r].seat->done.load(std::memory_order_acquire) >= sequence;
    const bool entered = read_entry(seats[r].seat->entries[bank], sequence, digest, call);
    if (!entered && !finished[r]) return {static_cast<int32_t>(r), false, kNone, 0};
  }
  const std::vector<uint32_t> indices = local_indices(schedule);
  const auto fired = [&](StepId step) -> uint64_t {
    const size_t owner = schedule.steps[step].executor.rank.index();
    if (finished[owner]) return chunks;
    const uint64_t value =
        seats[owner].counters[bank * counters_per_bank + indices[step]].fired.load(
            std::memory_order_acquire);
    return value >> kChunkBits == sequence ? value & ((uint64_t{1} << kChunkBits) - 1) : 0;
  };
  StepId at = kNone;
  for (StepId id = 0; id < schedule.steps.size() && at == kNone; id++) {
    if (schedule.steps[id].executor.rank == self && fired(id) < chunks) at = id;
  }
  std::vector<bool> seen(schedule.steps.size(), false);
  while (at != kNone && !seen[at]) {
    seen[at] = true;
    const uint64_t needed = fired(at) + 1;
    StepId next = kNone;
    for (const Wait& wait : schedule.steps[at].waits) {
      if (needed > wait.lag && fired(wait.step) < needed - wait.lag) next = wait.step;
    }
    if (next == kNone) break;
    at = next;
  }
  if (at == kNone) return {};
  const auto owner = static_cast<int32_t>(schedule.steps[at].executor.rank.value());
  return {owner, true, at, fired(at)};
}

}  // namespace ff
