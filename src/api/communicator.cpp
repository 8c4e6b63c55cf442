#include "api/communicator.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "api/sized.hpp"
#include "base/data_type.hpp"
#include "base/log.hpp"
#include "collective/schedule/completion.hpp"
#include "collective/schedule/verify.hpp"
#include "planner/explain.hpp"
#include "planner/size_class.hpp"

namespace ff {
namespace {

constexpr size_t kSmallBytes = 16 << 10;

// Results that neither this rank's cache nor anybody else's will be asked for soon are streamed
// past the caches: with more than two ranks, vectors that do not fit them (docs/performance.md).
constexpr int32_t kRanksThatStream = 4;
constexpr uint64_t kBytesThatStream = 16 << 20;

// What each rank tells the others when they meet.
struct Introduction {
  static constexpr uint32_t kVersion = 1;
  uint32_t version = kVersion;
  uint32_t counters_per_bank = 0;
  uint64_t small_bytes = 0;
  uint64_t bulk_bytes = 0;
  uint64_t capped_cpus = 0;  // whole CPUs that a control group leaves, 0 = no cap
  Process::Mark mark{};
  char bell[64] = {};
  char agreed[256] = {};
};

template <size_t N>
bool put(char (&to)[N], const std::string& text) {
  if (text.size() >= N) return false;
  std::memcpy(to, text.data(), text.size());
  return true;
}

SeatLayout layout_for(uint32_t ranks, uint64_t staging) {
  SeatLayout layout;
  // The longest schedule of one node, a ring, has 2n - 1 steps a rank.
  layout.counters_per_bank = std::max<uint32_t>(32, 2 * ranks + 8);
  layout.small_bytes = kSmallBytes;
  // Rings and slots start on odd lines: some room for that.
  layout.bulk_bytes = staging + 4096 + size_t{ranks} * 1024;
  return layout;
}

uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 31;
}

uint64_t hash_of(const std::string& text) {
  uint64_t hash = text.size();
  for (const char c : text) hash = mix(hash, static_cast<unsigned char>(c));
  return hash;
}

// May ranks spin? Only if each can have a CPU: of no set of CPUs may more ranks depend on it than
// it has members. Affinity sets are nested or apart in practice, so the sets of the ranks
// themselves do.
bool every_rank_has_a_cpu(const std::vector<Member>& members) {
  for (const Member& member : members) {
    const auto inside = [&](const Member& other) {
      return std::includes(member.cpus.begin(), member.cpus.end(), other.cpus.begin(),
                           other.cpus.end());
    };
    if (static_cast<size_t>(std::count_if(members.begin(), members.end(), inside)) >
        member.cpus.size()) {
      return false;
    }
  }
  return true;
}

bool partly_overlap(const void* send, const void* recv, uint64_t bytes) {
  const auto a = reinterpret_cast<uintptr_t>(send), b = reinterpret_cast<uintptr_t>(recv);
  return a != b && a < b + bytes && b < a + bytes;
}

}  // namespace

Result<std::unique_ptr<Communicator>> Communicator::create(const ff_config& config) {
  FF_ASSIGN_OR_RETURN(Settings settings, read_settings(config));
  std::unique_ptr<Communicator> communicator(new Communicator(std::move(settings)));
  FF_ASSIGN_OR_RETURN(communicator->process_, Process::get());
  FF_RETURN_IF_ERROR(communicator->join());
  return communicator;
}

Communicator::~Communicator() {
  if (engine_) {
    process_->helper().remove(engine_.get());
    engine_->leave();
  }
}

Status Communicator::join() {
  const uint32_t n = settings_.join.ranks;
  seat_layout_ = layout_for(n, settings_.staging_bytes);
  FF_ASSIGN_OR_RETURN(Segment segment,
                      create_segment(seat_layout_.segment_bytes(), seat_layout_.bulk_offset()));
  const auto own_mapping = std::make_shared<Mapping>(std::move(segment.mapping));
  mappings_.push_back(own_mapping);

  Introduction mine;
  mine.counters_per_bank = seat_layout_.counters_per_bank;
  mine.small_bytes = seat_layout_.small_bytes;
  mine.bulk_bytes = seat_layout_.bulk_bytes;
  if (settings_.cpu_time_is_capped) {
    mine.capped_cpus = std::max<uint64_t>(1, static_cast<uint64_t>(settings_.cpu_time));
  }
  FF_ASSIGN_OR_RETURN(mine.mark, process_->publish_segment(own_mapping));
  if (!put(mine.bell, process_->bell().address()) || !put(mine.agreed, settings_.agreed())) {
    return {FF_ERROR_ARGUMENT,
            fmt::format("ff_config.options are too long: {}", settings_.agreed())};
  }
  agreed_hash_ = hash_of(settings_.agreed());

  FF_ASSIGN_OR_RETURN(
      std::unique_ptr<Gathering> gathering,
      Gathering::join(settings_.join, std::as_bytes(std::span(&mine, 1)), segment.fd.get()));
  const Status mapped = map_members(gathering->members());
  FF_RETURN_IF_ERROR(gathering->conclude(mapped));
  life_line_ = gathering->take_life_line();
  return start_engine(gathering->members());
}

Status Communicator::map_members(std::vector<Member>& members) {
  std::set<uint32_t> cpus;
  uint64_t cap = ~uint64_t{0};
  for (Member& member : members) {
    Introduction theirs;
    if (member.blob.size() != sizeof theirs) {
      return {FF_ERROR_MISMATCH,
              fmt::format("rank {} introduces itself with {} bytes, expected {}: it runs another "
                          "version of Fireflyer",
                          member.rank.value(), member.blob.size(), sizeof theirs)};
    }
    std::memcpy(&theirs, member.blob.data(), sizeof theirs);
    theirs.bell[sizeof theirs.bell - 1] = theirs.agreed[sizeof theirs.agreed - 1] = '\0';
    if (theirs.version != Introduction::kVersion || settings_.agreed() != theirs.agreed ||
        theirs.counters_per_bank != seat_layout_.counters_per_bank ||
        theirs.small_bytes != seat_layout_.small_bytes ||
        theirs.bulk_bytes != seat_layout_.bulk_bytes) {
      return {FF_ERROR_MISMATCH,
              fmt::format("settings that all ranks must share differ: rank {} has '{}', rank {} "
                          "has '{}'",
                          settings_.join.rank.value(), settings_.agreed(), member.rank.value(),
                          theirs.agreed)};
    }
    std::shared_ptr<Mapping> mapping = process_->find_segment(theirs.mark);
    if (mapping == nullptr) {
      FF_ASSIGN_OR_RETURN(Mapping fresh,
                          map_segment(member.arena.get(), seat_layout_.segment_bytes(),
                                      seat_layout_.bulk_offset()));
      mapping = std::make_shared<Mapping>(std::move(fresh));
    }
    member.arena.reset();
    seats_.push_back(seat_layout_.at(mapping->address()));
    mappings_.push_back(std::move(mapping));
    bells_.emplace_back(theirs.bell);
    people_.push_back({member.host, member.pid});
    cpus.insert(member.cpus.begin(), member.cpus.end());
    if (theirs.capped_cpus != 0) cap = std::min(cap, theirs.capped_cpus);
  }
  // The same on all ranks, for the planner sees it.
  cpus_ = static_cast<uint32_t>(std::clamp<uint64_t>(cpus.size(), 1, cap));
  return {};
}

Status Communicator::start_engine(std::vector<Member>& members) {
  EngineOptions options;
  options.name = settings_.name;
  options.rank = settings_.join.rank;
  options.seats = seats_;
  for (size_t r = 0; r < seats_.size(); r++) options.node.push_back({seats_[r].seat, bells_[r]});
  options.people = people_;
  options.seat_layout = seat_layout_;
  options.bell = &process_->bell();
  options.ladder.may_spin = every_rank_has_a_cpu(members) && settings_.join.ranks <= cpus_;
  if (settings_.options.spins) options.ladder.may_spin = *settings_.options.spins > 0;
  if (settings_.options.yields) options.ladder.yields = *settings_.options.yields;
  options.max_outstanding = settings_.max_outstanding;
  options.shuffle_seed = settings_.options.shuffle;
  options.notify_helper = [](void* helper) { static_cast<Helper*>(helper)->notify(); };
  options.notify_context = &process_->helper();
  engine_ = std::make_unique<Engine>(std::move(options));

  planner_ = std::make_unique<Planner>(
      PlannerSetting{.placement = Placement::one_node(settings_.join.ranks),
                     .cpus_per_node = cpus_,
                     .staging_bytes = settings_.staging_bytes,
                     .constants = settings_.constants,
                     .overrides = {.algorithm = settings_.options.algorithm,
                                   .chunk_bytes = settings_.options.chunk_bytes.value_or(0),
                                   .slots = settings_.options.slots.value_or(0)},
                     .numerics = settings_.numerics});

  Helper::Watch watch;
  watch.engine = engine_.get();
  watch.may_drive = settings_.progress != FF_PROGRESS_CALLER;
  for (Member& member : members) {
    // A neighbour in this very process would die with us.
    if (!member.life.valid() || process_->bell().address() == bells_[member.rank.index()]) continue;
    watch.neighbours.push_back({member.rank.value(), member.life.get()});
    lives_.push_back(std::move(member.life));
  }
  watch.on_failure = [](void* self, const Failure& failure) {
    static_cast<Communicator*>(self)->tell_owner(failure);
  };
  watch.on_failure_context = this;
  FF_RETURN_IF_ERROR(process_->helper().add(std::move(watch)));
  log(LogLevel::kInfo, "communicator '{}': rank {} of {}, {} CPUs, {}, staging {} bytes, {}",
      settings_.name, rank(), ranks(), cpus_, isa_name(settings_.isa), settings_.staging_bytes,
      engine_->options().ladder.may_spin ? "spins before it yields" : "yields at once");
  return {};
}

void Communicator::fill(const Failure& failure, ff_failure& out) const {
  const auto put_text = [](char* to, size_t bytes, const std::string& text) {
    const size_t length = std::min(text.size(), bytes - 1);
    std::memcpy(to, text.data(), length);
    to[length] = '\0';
  };
  out.status = failure.status;
  out.rank = failure.rank;
  out.pid = -1;
  out.seen_by = rank();
  out.confirmed = failure.confirmed ? 1 : 0;
  out.sequence = failure.sequence;
  out.host[0] = '\0';
  if (failure.rank >= 0) {
    const Person& person = people_[static_cast<size_t>(failure.rank)];
    out.pid = static_cast<int32_t>(person.pid);
    put_text(out.host, sizeof out.host, person.host);
  }
  put_text(out.call, sizeof out.call, failure.call);
  put_text(out.text, sizeof out.text, failure.text);
}

void Communicator::tell_owner(const Failure& failure) const {
  if (settings_.on_failure == nullptr) return;
  ff_failure told = ff_failure_init();
  fill(failure, told);
  settings_.on_failure(settings_.on_failure_context, &told);
}

// ---- calls ------------------------------------------------------------------------------------

Status Communicator::all_reduce(const void* send, void* recv, size_t count, ff_type type,
                                ff_reduce_op op, const ff_call* call, PooledOperation** operation) {
  FF_RETURN_IF_ERROR(check_reduction(type, op));
  if (send == nullptr) send = recv;
  const uint64_t element = type_size(type);
  if (count > (uint64_t{1} << 62) / element) {
    return {FF_ERROR_ARGUMENT,
            fmt::format("all_reduce of {} {}: the count is too large", count, type_name(type))};
  }
  const uint64_t bytes = count * element;
  if (recv == nullptr && count > 0) {
    return {FF_ERROR_ARGUMENT,
            fmt::format("all_reduce of {} {}: recv is NULL", count, type_name(type))};
  }
  if (partly_overlap(send, recv, bytes)) {
    return {
        FF_ERROR_ARGUMENT,
        fmt::format("all_reduce of {} {}: send [{}, {}) and recv [{}, {}) overlap in part; give "
                    "the same buffer (in place) or separate ones",
                    count, type_name(type), send,
                    static_cast<const void*>(static_cast<const char*>(send) + bytes), recv,
                    static_cast<const void*>(static_cast<const char*>(recv) + bytes))};
  }
  CallRequest request;
  request.send = send;
  request.recv = recv;
  request.description.count = count;
  request.description.type = type;
  request.description.op = op;
  request.timeout = settings_.call_timeout;
  if (call != nullptr) {
    FF_ASSIGN_OR_RETURN(const ff_call given, read_sized(call, "ff_call"));
    FF_ASSIGN_OR_RETURN(request.timeout, read_timeout(given.timeout_ns, settings_.call_timeout,
                                                      "ff_call.timeout_ns"));
    if (given.name != nullptr) {
      std::array<char, 32>& name = request.description.name;
      std::memcpy(name.data(), given.name, strnlen(given.name, name.size() - 1));
    }
  }
  FF_ASSIGN_OR_RETURN(request.program, program_for(bytes, type, op));
  request.digest = mix(mix(agreed_hash_, count), uint64_t{static_cast<uint32_t>(type)} << 32 | op);

  if (operation == nullptr) {
    Operation here;
    FF_RETURN_IF_ERROR(engine_->submit(request, here));
    engine_->wait(here, std::chrono::nanoseconds(-1));
    return here.status() == FF_OK ? Status() : Status(here.status(), *here.message());
  }
  PooledOperation* taken = process_->operations().take();
  Status submitted = engine_->submit(request, *taken);
  if (!submitted.ok()) {
    taken->release();
    return submitted;
  }
  engine_->hand_over();
  *operation = taken;
  return {};
}

Result<const Program*> Communicator::program_for(uint64_t bytes, ff_type type, ff_reduce_op op) {
  const uint32_t klass = size_class(bytes);
  const uint64_t key = uint64_t{klass} << 32 | static_cast<uint64_t>(type) << 16 | op;
  std::atomic<const Planned*>& recent = recent_[(klass * 5 + type * 3 + op) % recent_.size()];
  // Acquire: then what it points to is complete. Planned values are never changed or removed.
  const Planned* known = recent.load(std::memory_order_acquire);
  if (known != nullptr && known->key == key) return known->program.get();

  const std::lock_guard lock(plan_mutex_);
  auto found = planned_.find(key);
  if (found == planned_.end()) {
    FF_ASSIGN_OR_RETURN(Planned planned, make_plan(key, largest_of_class(klass), type, op));
    found = planned_.emplace(key, std::move(planned)).first;
  }
  recent.store(&found->second, std::memory_order_release);
  return found->second.program.get();
}

Result<Communicator::Planned> Communicator::make_plan(uint64_t key, uint64_t largest_bytes,
                                                      ff_type type, ff_reduce_op op) {
  Planned planned;
  planned.key = key;
  PlanRequest wanted;
  wanted.count = std::max<uint64_t>(1, largest_bytes / type_size(type));
  wanted.type = type;
  wanted.op = op;
  FF_ASSIGN_OR_RETURN(planned.plan, planner_->plan(wanted));
  const Plan& plan = planned.plan;
  if (settings_.options.verify.value_or(false)) {
    const Proof proof = verify(*plan.schedule, planner_->setting().placement);
    if (!proof.status.ok()) {
      return proof.status.with_context(
          fmt::format("FF_VERIFY: the schedule of {}", plan.algorithm->name));
    }
  }
  auto pruned = std::make_shared<Schedule>(*plan.schedule);
  pruned->prune();
  LoweringRequest request;
  request.schedule = pruned;
  request.completing = completing_steps(*pruned);
  request.rank = settings_.join.rank;
  request.seats = seats_;
  request.seat_layout = seat_layout_;
  request.type = type;
  request.op = op;
  request.isa = settings_.isa;
  request.piece_bytes = plan.piece_bytes;
  request.largest_piece = std::min(plan.piece_bytes, largest_bytes);
  request.stream_results = ranks() >= kRanksThatStream && largest_bytes >= kBytesThatStream;
  FF_ASSIGN_OR_RETURN(planned.program, lower(request));
  if (planned.program->bulk) FF_RETURN_IF_ERROR(touch_bulk());
  log(LogLevel::kInfo, "all_reduce of up to {} bytes, {} {}: {}", largest_bytes, type_name(type),
      op_name(op), plan.reason);
  return planned;
}

// Brings the slots for large calls into memory: once, in the first such call.
Status Communicator::touch_bulk() {
  if (bulk_touched_) return {};
  for (const SeatMemory& seat : seats_) {
    Status touched = touch({seat.bulk, seat_layout_.bulk_bytes & ~size_t{4095}});
    if (!touched.ok()) {
      engine_->report(touched.code(), fmt::format("rank {}: {}", rank(), touched.message()));
      return touched;
    }
  }
  bulk_touched_ = true;
  return {};
}

Result<std::string> Communicator::query(std::string_view what) {
  nlohmann::json json;
  if (what == "config") {
    json = {{"name", settings_.name},
            {"rank", rank()},
            {"ranks", ranks()},
            {"isa", isa_name(settings_.isa)},
            {"cpus", cpus_},
            {"spins", engine_->options().ladder.may_spin},
            {"staging_bytes", settings_.staging_bytes},
            {"segment_bytes", seat_layout_.segment_bytes()},
            {"agreed", settings_.agreed()}};
    return json.dump(2);
  }
  if (what == "members") {
    for (const Person& person : people_)
      json.push_back({{"host", person.host}, {"pid", person.pid}});
    return json.dump(2);
  }
  constexpr std::string_view kExplain = "explain ";
  if (what.substr(0, kExplain.size()) == kExplain) {
    const std::lock_guard lock(plan_mutex_);
    return explain(what.substr(kExplain.size()), *planner_);
  }
  return Status(FF_ERROR_ARGUMENT,
                fmt::format("ff_comm_query: '{}' is unknown; ask for 'config', 'members' or "
                            "'explain all_reduce bytes=64M'",
                            what));
}

}  // namespace ff
