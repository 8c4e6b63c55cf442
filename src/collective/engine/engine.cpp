#include "collective/engine/engine.hpp"

#include <fmt/core.h>
#include <time.h>

#include <algorithm>
#include <numeric>

#include "base/check.hpp"

namespace ff {
namespace {

// The steady clock to within a scheduler tick, for a fifth of its price: deadlines need no more.
Clock::time_point coarse_now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return Clock::time_point(std::chrono::seconds(time.tv_sec) +
                           std::chrono::nanoseconds(time.tv_nsec));
}

constexpr auto kForever = Clock::time_point::max();

Clock::time_point after(Clock::time_point from, std::chrono::nanoseconds time) {
  return time.count() < 0 || time > kForever - from ? kForever : from + time;
}

// For a system call's timeout: negative = none, and never 0 while there is something left.
std::chrono::nanoseconds until(Clock::time_point when, Clock::time_point now) {
  if (when == kForever) return std::chrono::nanoseconds(-1);
  return std::max<std::chrono::nanoseconds>(when - now, std::chrono::nanoseconds(0));
}

bool overlap(const void* a, uint64_t a_bytes, const void* b, uint64_t b_bytes) {
  const auto x = reinterpret_cast<uintptr_t>(a), y = reinterpret_cast<uintptr_t>(b);
  return x < y + b_bytes && y < x + a_bytes;
}

constexpr uint32_t kYieldsPerSlowCheck = 32;
constexpr uint64_t kHeavyBytes = 16384;  // takes longer than a fence by far

}  // namespace

Engine::Engine(EngineOptions options)
    : options_(std::move(options)),
      seat_(options_.seats[options_.rank.index()].seat),
      doorbell_(options_.node, options_.rank.index(), options_.bell),
      board_(options_.seats, options_.rank, options_.people, &doorbell_),
      ladder_(options_.ladder),
      calls_(std::max<uint32_t>(options_.max_outstanding, kBanks) + 1),
      known_done_(options_.seats.size(), 0) {
  for (Call& slot : calls_) {
    slot.next.resize(options_.seat_layout.counters_per_bank);
    slot.met.resize(options_.seat_layout.counters_per_bank);
  }
  active_.reserve(kBanks);
  if (options_.shuffle_seed) shuffle_.emplace(*options_.shuffle_seed + options_.rank.value());
}

Engine::~Engine() = default;

// ---- submitting -------------------------------------------------------------------------------

Status Engine::submit(const CallRequest& request, Operation& operation) {
  {
    std::unique_lock lock(submit_mutex_);
    if (closed_.load(std::memory_order_acquire)) return failure_status();
    const uint64_t sequence = submitted_.load(std::memory_order_relaxed) + 1;
    while (sequence - finished() > options_.max_outstanding) {
      if (drive_until(nullptr, sequence - options_.max_outstanding, kForever)) continue;
      return failure_status();
    }
    Call& slot = call(sequence);
    slot.sequence = sequence;
    slot.request = request;
    slot.bytes = request.description.count * request.program->element_bytes;
    slot.submitted = coarse_now();
    slot.deadline = after(slot.submitted, request.timeout);
    slot.operation = &operation;
    slot.complete.store(false, std::memory_order_relaxed);
    operation.begin(this);
    operation.retain();
    submitted_.store(sequence, std::memory_order_seq_cst);
    // Either we see that the communicator has just failed, or fail_everything() sees this call.
    if (closed_.load(std::memory_order_seq_cst) && !slot.complete.exchange(true)) {
      operation.release();
      return failure_status();
    }
  }
  if (baton_.try_take()) {
    sweep();
    ring();
    baton_.give_back();
  } else {
    doorbell_.wake_own_driver();
  }
  return {};
}

void Engine::wait(Operation& operation, std::chrono::nanoseconds limit) {
  if (operation.done()) return;
  const Clock::time_point deadline = limit.count() < 0 ? kForever : after(Clock::now(), limit);
  drive_until(&operation, 0, deadline);
}

void Engine::poke() {
  if (!baton_.try_take()) return;
  sweep();
  ring();
  if (board_.raised()) settle(Clock::now());
  baton_.give_back();
  hand_over();
}

Status Engine::flush(std::chrono::nanoseconds limit) {
  const Clock::time_point deadline = limit.count() < 0 ? kForever : after(Clock::now(), limit);
  const uint64_t last = submitted();
  if (finished() < last && !drive_until(nullptr, last, deadline) && failure_status().ok()) {
    return {FF_IN_PROGRESS, fmt::format("communicator '{}': {} calls are unfinished", options_.name,
                                        last - finished())};
  }
  return failure_status();
}

// Drives until the operation is done or, without one, until all calls up to `sequence` are. False
// if `limit` passed or the communicator failed first.
bool Engine::drive_until(const Operation* operation, uint64_t sequence, Clock::time_point limit) {
  const auto reached = [&] {
    return operation != nullptr ? operation->done() : finished() >= sequence;
  };
  while (!reached()) {
    if (operation == nullptr && closed_.load(std::memory_order_acquire)) return false;
    if (!baton_.try_take()) {
      const auto now = Clock::now();
      if (now >= limit) return false;
      impatient_.fetch_add(1, std::memory_order_relaxed);  // the helper shall not be quicker again
      baton_.await(until(limit, now), reached);
      const bool taken = !reached() && baton_.try_take();
      impatient_.fetch_sub(1, std::memory_order_relaxed);
      if (!taken) continue;
    }
    ladder_.reset();
    bool in_time = true;
    while (!reached() && in_time) {
      if (board_.raised()) [[unlikely]] {
        const auto now = Clock::now();
        if (sweep()) continue;
        if (settle(now)) break;
        board_.await_verdict(std::chrono::milliseconds(1));
        in_time = Clock::now() < limit;
        continue;
      }
      if (sweep()) {
        ladder_.reset();
        continue;
      }
      switch (ladder_.climb()) {
        case Ladder::Rung::kSpun:
          if (ladder_.time_to_look() && shares_cpu()) sched_yield();
          break;
        case Ladder::Rung::kYielded:
          if (ladder_.yields() % kYieldsPerSlowCheck == 0) {
            const auto now = Clock::now();
            slow_check(now);
            in_time = now < limit;
          }
          break;
        case Ladder::Rung::kSleep: {
          const uint32_t expected = doorbell_.prepare(kDriverAsleep);
          const bool work = sweep();
          const auto now = Clock::now();
          if (!work) slow_check(now);
          if (!work && !board_.raised() && !reached()) {
            doorbell_.sleep(expected, until(std::min(limit, nearest_deadline()), now));
          }
          doorbell_.cancel(kDriverAsleep);
          if (work) ladder_.reset();
          in_time = Clock::now() < limit;
          break;
        }
      }
    }
    ring();
    baton_.give_back();
    hand_over();
    if (!in_time && !reached()) return false;
  }
  return true;
}

void Engine::hand_over() {
  if (unfinished() && !closed_.load(std::memory_order_acquire)) {
    options_.notify_helper(options_.notify_context);
  }
}

// The scheduler may have put two ranks on one CPU although there are enough, and takes its time to
// part them.
bool Engine::shares_cpu() {
  const auto cpu = static_cast<uint32_t>(sched_getcpu()) + 1;
  seat_->cpu.store(cpu, std::memory_order_relaxed);
  for (const SeatMemory& other : options_.seats) {
    if (other.seat != seat_ && other.seat->cpu.load(std::memory_order_relaxed) == cpu) return true;
  }
  return false;
}

// ---- driving ----------------------------------------------------------------------------------

bool Engine::sweep() {
  // What everybody did before the call that failed can still be finished.
  const uint64_t end = board_.raised() ? board_.failing_call() : ~uint64_t{0};
  bool advanced = admit(end);
  for (size_t i = 0; i < active_.size() && active_[i] < end;) {
    Call& running = call(active_[i]);
    advanced |= run(running);
    if (running.steps_left == 0) {
      active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(i));
      finish(running);
    } else {
      i++;
    }
  }
  // A look at the sleepers costs a fence. Small steps that follow each other share one; large ones
  // let nobody sleep on.
  if (!advanced || heavy_) ring();
  return advanced;
}

void Engine::ring() {
  heavy_ = false;
  if (!published_) return;
  published_ = false;
  doorbell_.ring_sleepers();
}

bool Engine::admit(uint64_t end) {
  bool any = false;
  while (started_ < submitted_.load(std::memory_order_acquire) && started_ + 1 < end &&
         active_.size() < kBanks) {
    Call& head = call(started_ + 1);
    if (!may_start(head)) break;
    start(head);
    any = true;
  }
  return any;
}

bool Engine::may_start(const Call& head) {
  if (head.sequence > kBanks && !everyone_finished(head.sequence - kBanks)) return false;
  const Program& program = *head.request.program;
  if (program.shape != 0) {
    const SlotArea& area = area_of(head);
    const bool follows = area.shape == program.shape && area.free_between_calls;
    if (!(follows ? is_complete(area.sequence) : everyone_finished(area.sequence))) return false;
  }
  for (const uint64_t sequence : active_) {
    const Call& other = call(sequence);
    const CallRequest& a = head.request;
    const CallRequest& b = other.request;
    if (overlap(a.recv, head.bytes, b.recv, other.bytes) ||
        overlap(a.recv, head.bytes, b.send, other.bytes) ||
        overlap(a.send, head.bytes, b.recv, other.bytes)) {
      return false;
    }
  }
  return true;
}

Engine::SlotArea& Engine::area_of(const Call& running) {
  return areas_[running.request.program->bulk ? kBanks : running.sequence % kBanks];
}

bool Engine::is_complete(uint64_t sequence) {
  // Within the finished prefix its place may hold another call already.
  return sequence <= finished() || call(sequence).complete.load(std::memory_order_relaxed);
}

bool Engine::everyone_finished(uint64_t sequence) {
  if (everyone_done_ >= sequence) return true;
  uint64_t least = ~uint64_t{0};
  for (size_t r = 0; r < known_done_.size(); r++) {
    if (known_done_[r] < sequence) {
      // Acquire: then their reads of the slots and counters that we are about to write are over.
      known_done_[r] = options_.seats[r].seat->done.load(std::memory_order_acquire);
    }
    least = std::min(least, known_done_[r]);
  }
  everyone_done_ = least;
  return least >= sequence;
}

void Engine::start(Call& head) {
  const Program& program = *head.request.program;
  started_ = head.sequence;
  head.tag = counter_value(head.sequence, 0);
  head.counter_bank = static_cast<uint32_t>(head.sequence % kBanks);
  head.partition = Partition(program.layout, head.request.description.count, program.element_bytes,
                             program.piece_bytes);
  head.steps_left = static_cast<uint32_t>(program.steps.size());
  std::fill_n(head.next.begin(), program.steps.size(), 0);
  std::fill_n(head.met.begin(), program.steps.size(), 0);
  if (program.shape != 0) {
    SlotArea& area = area_of(head);
    if (area.shape != program.shape) area.swapped_chunks = 0;
    head.swap_base = area.swapped_chunks;
    if (program.swaps) area.swapped_chunks += head.partition.chunks();
    area.sequence = head.sequence;
    area.shape = program.shape;
    area.free_between_calls = program.free_between_calls;
  }
  write_entry(seat_->entries[head.counter_bank], head.sequence, head.request.digest,
              head.request.description);
  active_.push_back(head.sequence);
}

bool Engine::run(Call& running) {
  const auto chunks = static_cast<uint32_t>(running.partition.chunks());
  const size_t steps = running.request.program->steps.size();
  bool advanced = false;
  if (shuffle_) [[unlikely]] {
    order_.resize(steps);
    std::iota(order_.begin(), order_.end(), 0);
    std::shuffle(order_.begin(), order_.end(), *shuffle_);
  }
  for (size_t i = 0; i < steps; i++) {
    // In the order of the graph, earlier steps first and each once a sweep: a rank that copies
    // results out before it has reduced keeps the others waiting.
    const size_t step = shuffle_ ? order_[i] : i;
    const uint32_t chunk = running.next[step];
    if (chunk == chunks || !ready(running, step, chunk)) continue;
    fire(running, step, chunk);
    advanced = true;
  }
  return advanced;
}

bool Engine::ready(Call& running, size_t index, uint32_t chunk) {
  const LoweredStep& step = running.request.program->steps[index];
  for (const LocalWait& wait : step.local) {
    if (running.next[wait.step] + wait.lag < chunk + 1) return false;
  }
  uint32_t& met = running.met[index];
  const size_t bank = size_t{running.counter_bank} * running.request.program->counters_per_bank;
  for (; met < step.remote.size(); met++) {
    const RemoteWait& wait = step.remote[met];
    if (chunk + 1 <= wait.lag) continue;
    const Counter& counter = wait.counter[bank];
    // Acquire: then the data that the firing wrote is there.
    const uint64_t fired = counter.fired.load(std::memory_order_acquire);
    if (fired < running.tag + chunk + 1 - wait.lag) return false;
    if (counter.digest != running.request.digest) [[unlikely]] {
      board_.raise(FF_ERROR_MISMATCH, static_cast<int32_t>(wait.rank), Evidence::kStatement,
                   running.sequence,
                   fmt::format("{} made another call than {} in place {} of their order ({})",
                               board_.who(static_cast<int32_t>(wait.rank)),
                               board_.who(static_cast<int32_t>(options_.rank.value())),
                               running.sequence, describe(running.request.description)));
      return false;
    }
    known_done_[wait.rank] = std::max(known_done_[wait.rank], counter.done);
  }
  return true;
}

std::byte* Engine::address(const Call& running, const LoweredOperand& operand,
                           uint32_t chunk) const {
  uint64_t slot = 0;
  if (operand.kind == LoweredOperand::kSwapSlots) {
    // A pair of rings owns twice the slots; which of two neighbours is whose alternates.
    const uint64_t passed = running.swap_base + chunk;
    slot = passed % operand.slots * 2 + ((passed / operand.slots + operand.side) & 1);
  } else if (operand.slots > 1) {
    slot = chunk % operand.slots;
  }
  return operand.base + running.counter_bank * operand.bank_stride + slot * operand.slot_stride;
}

void Engine::fire(Call& running, size_t index, uint32_t chunk) {
  const Program& program = *running.request.program;
  const LoweredStep& step = program.steps[index];
  const auto place = [&](const LoweredOperand& operand, const ElementRange& range) -> std::byte* {
    const uint64_t offset = range.first * program.element_bytes;
    switch (operand.kind) {
      case LoweredOperand::kSendBuffer:
        return static_cast<std::byte*>(const_cast<void*>(running.request.send)) + offset;
      case LoweredOperand::kRecvBuffer:
        return static_cast<std::byte*>(running.request.recv) + offset;
      default:
        return address(running, operand, chunk);
    }
  };
  if (step.lanes) {
    for (size_t i = 0; i < step.in.size(); i++) {
      const ElementRange range = running.partition.range(step.in[i].region, chunk);
      if (range.count == 0) continue;
      void* out = place(step.out[i], range);
      const bool stream = step.streamed > 0 && step.out[i].kind == LoweredOperand::kRecvBuffer;
      program.copy(&out, 1, stream ? 1 : 0, place(step.in[i], range),
                   range.count * program.element_bytes);
    }
  } else if (!step.in.empty()) {
    const ElementRange range = running.partition.range(step.in[0].region, chunk);
    if (range.count != 0) {
      inputs_.clear();
      outputs_.clear();
      for (const LoweredOperand& in : step.in) inputs_.push_back(place(in, range));
      for (const LoweredOperand& out : step.out) outputs_.push_back(place(out, range));
      if (step.kind == StepKind::kReduce) {
        step.reduce(outputs_.data(), outputs_.size(), step.streamed, inputs_.data(), inputs_.size(),
                    range.count, program.divisor);
      } else {
        program.copy(outputs_.data(), outputs_.size(), step.streamed, inputs_[0],
                     range.count * program.element_bytes);
      }
    }
  }
  Counter& counter = step.counter[size_t{running.counter_bank} * program.counters_per_bank];
  if (chunk == 0) {
    counter.digest = running.request.digest;
    counter.done = seat_->done.load(std::memory_order_relaxed);
  }
  // Publishes the chunk. Release, not relaxed: whoever reads it with acquire then trusts the data.
  counter.fired.store(running.tag + chunk + 1, std::memory_order_release);
  published_ |= step.awaited;
  heavy_ |= running.bytes >= kHeavyBytes;
  running.met[index] = 0;
  running.next[index] = chunk + 1;
  if (chunk + 1 == running.partition.chunks()) running.steps_left--;
}

void Engine::finish(Call& finished_call) {
  finished_call.complete.store(true, std::memory_order_relaxed);
  Operation* operation = finished_call.operation;
  uint64_t done = seat_->done.load(std::memory_order_relaxed);
  while (done < started_ && call(done + 1).complete.load(std::memory_order_relaxed)) done++;
  // Release: then our reads of others' slots and counters are over.
  seat_->done.store(done, std::memory_order_release);
  published_ = true;  // somebody may wait for these slots
  known_done_[options_.rank.index()] = done;
  operation->complete(FF_OK, nullptr);
  operation->release();
  if (baton_.wanted()) baton_.announce();
}

// ---- what goes wrong --------------------------------------------------------------------------

std::string Engine::where(const Call& stuck) const {
  const auto waited = std::chrono::duration<double>(Clock::now() - stuck.submitted).count();
  return fmt::format("communicator '{}', call {} ({}), waited {:.3g} s", options_.name,
                     stuck.sequence, describe(stuck.request.description), waited);
}

Clock::time_point Engine::nearest_deadline() const {
  Clock::time_point nearest = kForever;
  for (uint64_t s = finished() + 1; s <= submitted(); s++) {
    const Call& slot = calls_[s % calls_.size()];
    if (!slot.complete.load(std::memory_order_relaxed)) nearest = std::min(nearest, slot.deadline);
  }
  return nearest;
}

void Engine::slow_check(Clock::time_point now) {
  if (!active_.empty()) check_peers(call(active_.front()));
  check_deadlines(now);
}

// What the counters do not show: a peer that made another call, whose steps are other counters;
// and one that has left and will not make this one.
void Engine::check_peers(const Call& running) {
  for (size_t r = 0; r < options_.seats.size(); r++) {
    if (r == options_.rank.index()) continue;
    const Seat& seat = *options_.seats[r].seat;
    const auto rank = static_cast<int32_t>(r);
    uint64_t digest = 0;
    CallDescription other;
    if (read_entry(seat.entries[running.counter_bank], running.sequence, digest, other) &&
        digest != running.request.digest) {
      board_.raise(FF_ERROR_MISMATCH, rank, Evidence::kStatement, running.sequence,
                   fmt::format("{} made {} where {} made {}", board_.who(rank), describe(other),
                               board_.who(static_cast<int32_t>(options_.rank.value())),
                               describe(running.request.description)));
      return;
    }
    if (seat.left.load(std::memory_order_acquire) != 0 &&
        seat.done.load(std::memory_order_acquire) < running.sequence) {
      board_.raise(FF_ERROR_PEER_LOST, rank, Evidence::kLeft, running.sequence,
                   fmt::format("{} destroyed its communicator before it had finished this call; {}",
                               board_.who(rank), where(running)));
      return;
    }
  }
}

void Engine::check_deadlines(Clock::time_point now) {
  for (uint64_t s = finished() + 1; s <= submitted_.load(std::memory_order_acquire); s++) {
    Call& late = call(s);
    if (late.complete.load(std::memory_order_relaxed) || now < late.deadline) continue;
    // Queued calls wait for the first that runs: that is where somebody is missing.
    const Call& stuck = active_.empty() ? late : call(active_.front());
    const Blame blame = find_blame(*stuck.request.program->schedule, options_.seats,
                                   options_.seat_layout.counters_per_bank, stuck.sequence,
                                   stuck.partition.chunks(), options_.rank);
    std::string text;
    if (blame.rank < 0) {
      text = "nobody else is in the way";
    } else if (!blame.entered) {
      text = fmt::format("{} has not made this call", board_.who(blame.rank));
    } else {
      text = fmt::format("{} could run step {} on chunk {} and has not: it is frozen, or starved",
                         board_.who(blame.rank), blame.step, blame.chunk);
    }
    board_.raise(FF_ERROR_TIMEOUT, blame.rank,
                 blame.rank < 0 ? Evidence::kSilence : Evidence::kUnfired, stuck.sequence,
                 fmt::format("{}; {}. Look at that rank first; a longer timeout is "
                             "ff_call.timeout_ns or ff_config.call_timeout_ns",
                             text, where(stuck)));
    return;
  }
}

void Engine::report_death(uint32_t rank) {
  if (options_.seats[rank].seat->left.load(std::memory_order_acquire) != 0) return;
  const auto culprit = static_cast<int32_t>(rank);
  const uint64_t running = finished() < submitted() ? finished() + 1 : 0;
  board_.raise(FF_ERROR_PEER_LOST, culprit, Evidence::kDead, running,
               fmt::format("{} has ended without leaving communicator '{}': it was killed or it "
                           "crashed. Its own output or the kernel log may say why",
                           board_.who(culprit), options_.name));
}

void Engine::abort(const std::string& reason) {
  report(FF_ERROR_ABORTED, fmt::format("{} aborted communicator '{}': {}",
                                       board_.who(static_cast<int32_t>(options_.rank.value())),
                                       options_.name, reason));
}

void Engine::report(ff_status status, const std::string& text) {
  board_.raise(status, static_cast<int32_t>(options_.rank.value()), Evidence::kStatement,
               unfinished() ? finished() + 1 : 0, text);
}

bool Engine::settle(Clock::time_point now) {
  if (closed_.load(std::memory_order_acquire)) return true;
  const std::optional<Failure> agreed = board_.verdict(now);
  if (!agreed) return false;
  fail_everything(*agreed);
  return true;
}

void Engine::fail_everything(const Failure& failure) {
  {
    const std::lock_guard lock(failure_mutex_);
    failure_ = failure;
    failure_message_ = std::make_shared<const std::string>(failure.text);
  }
  // From here on submit() refuses; what it let in before is below.
  closed_.store(true, std::memory_order_seq_cst);
  const uint64_t last = submitted_.load(std::memory_order_seq_cst);
  for (uint64_t s = finished() + 1; s <= last; s++) {
    Call& slot = call(s);
    if (slot.complete.exchange(true)) continue;
    Operation* operation = slot.operation;
    operation->complete(failure.status, failure_message_);
    operation->release();
  }
  active_.clear();
  started_ = last;
  // `done` stays: others must not believe that we finished those calls.
  if (baton_.wanted()) baton_.announce();
}

void Engine::leave() {
  // Nobody else is inside: the caller sees to that. A helper in the middle of a sweep ends first.
  while (!baton_.try_take()) baton_.await(std::chrono::milliseconds(1), [] { return false; });
  if (!closed_.load(std::memory_order_acquire)) {
    Failure failure;
    failure.status = FF_ERROR_ABORTED;
    failure.text = fmt::format("communicator '{}' was destroyed on this rank", options_.name);
    fail_everything(failure);
  }
  seat_->left.store(1, std::memory_order_release);
  doorbell_.ring_sleepers();
  baton_.give_back();
}

std::optional<Failure> Engine::failure() const {
  const std::lock_guard lock(failure_mutex_);
  return failure_;
}

Status Engine::failure_status() const {
  const std::lock_guard lock(failure_mutex_);
  if (!failure_) return {};
  return {failure_->status, failure_->text};
}

// ---- the helper thread ------------------------------------------------------------------------

Engine::HelperState Engine::drive_as_helper() {
  if (!unfinished() || closed_.load(std::memory_order_acquire)) return HelperState::kQuiet;
  if (impatient_.load(std::memory_order_relaxed) != 0) return HelperState::kQuiet;
  if (!baton_.try_take()) return HelperState::kQuiet;  // its holder hands over when it leaves
  bool advanced = false;
  // A caller that wants the baton gets it between two sweeps.
  for (int i = 0; i < 16 && !baton_.wanted() && sweep(); i++) advanced = true;
  ring();
  if (board_.raised()) settle(Clock::now());
  const bool left = unfinished() && !closed_.load(std::memory_order_acquire);
  baton_.give_back();
  if (!left) return HelperState::kQuiet;
  return advanced ? HelperState::kBusy : HelperState::kWaiting;
}

void Engine::prepare_helper_sleep() { doorbell_.prepare(kHelperAsleep); }
void Engine::finish_helper_sleep() { doorbell_.cancel(kHelperAsleep); }

Clock::time_point Engine::watch(Clock::time_point now) {
  if (closed_.load(std::memory_order_acquire)) return kForever;
  if (!unfinished() && !board_.raised()) return kForever;
  if (!baton_.try_take()) {
    // A caller drives, and looks at deadlines itself; look again in case it stops.
    return now + std::chrono::seconds(1);
  }
  Clock::time_point next = kForever;
  if (!board_.raised()) slow_check(now);
  if (board_.raised()) {
    if (!settle(now)) {
      next = now + std::max<std::chrono::nanoseconds>(board_.settles_in(now),
                                                      std::chrono::milliseconds(1));
    }
  } else {
    next = nearest_deadline();
  }
  baton_.give_back();
  return next;
}

}  // namespace ff
