#include "collective/engine/program.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/bytes.hpp"
#include "base/data_type.hpp"

namespace ff {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kLine = 64;

size_t round_up(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

// Where rings lie in the staging area of their home: all of one schedule get the same room.
struct RingPlaces {
  std::vector<uint32_t> index;  // among the rings of its home
  uint32_t most = 0;            // rings of one home
  uint32_t most_slots = 0;      // of one ring, swapped ones counted twice
  bool inlined = true;          // every ring rides in counters

  size_t stride(size_t area) const {
    // An odd number of lines apart, so that the rings of a home do not all start in one cache set.
    size_t lines = most == 0 ? 0 : area / most / kLine;
    if (lines % 2 == 0 && lines > 0) lines--;
    return lines * kLine;
  }
  size_t slot_stride(size_t area) const {
    return most_slots == 0 ? 0 : stride(area) / most_slots / kLine * kLine;
  }
};

bool owns_memory(const Schedule& schedule, RingId id) {
  const Ring& ring = schedule.rings[id];
  return ring.sharing == Sharing::kOwn || (ring.sharing == Sharing::kSwap && id < ring.partner);
}

bool fits_counter(const Schedule& schedule, RingId id, uint64_t largest_piece) {
  const Ring& ring = schedule.rings[id];
  return largest_piece <= kInlineBytes && ring.sharing == Sharing::kOwn && ring.result == kNone &&
         !schedule.steps[ring.writer].lanes();
}

RingPlaces place_rings(const Schedule& schedule, uint64_t largest_piece) {
  RingPlaces places;
  places.index.assign(schedule.rings.size(), 0);
  std::vector<uint32_t> of_home(schedule.ranks, 0);
  for (RingId id = 0; id < schedule.rings.size(); id++) {
    if (!owns_memory(schedule, id) || fits_counter(schedule, id, largest_piece)) continue;
    const Ring& ring = schedule.rings[id];
    places.inlined = false;
    places.index[id] = of_home[ring.home.index()]++;
    places.most = std::max(places.most, of_home[ring.home.index()]);
    places.most_slots = std::max<uint32_t>(places.most_slots,
                                           ring.slots * (ring.sharing == Sharing::kSwap ? 2u : 1u));
  }
  return places;
}

uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 29;
}

// Equal for schedules whose rings lie in the same places and are written and read by the same
// steps; what free_between_calls() promises holds only between such.
uint64_t shape_of(const Schedule& schedule) {
  uint64_t hash = mix(schedule.ranks, schedule.steps.size());
  for (const Ring& ring : schedule.rings) {
    hash = mix(hash, uint64_t{ring.home.value()} << 32 | ring.slots);
    hash = mix(hash, uint64_t{ring.partner} << 8 | static_cast<uint64_t>(ring.sharing));
    hash = mix(hash, ring.writer);
    for (const StepId reader : ring.readers) hash = mix(hash, reader);
  }
  return hash == 0 ? 1 : hash;
}

class Lowering {
 public:
  Lowering(const LoweringRequest& request, const RingPlaces& places)
      : request_(request), schedule_(*request.schedule), places_(places) {}

  Result<std::shared_ptr<const Program>> run() {
    auto program = std::make_shared<Program>();
    program->schedule = request_.schedule;
    program->layout = schedule_.layout;
    program->element_bytes = type_size(request_.type);
    program->piece_bytes = request_.piece_bytes;
    program->counters_per_bank = request_.seat_layout.counters_per_bank;
    program->divisor = schedule_.ranks;
    program->copy = copy_kernel(request_.isa);
    FF_RETURN_IF_ERROR(choose_area(*program));
    bulk_ = program->bulk;

    counters_ = local_indices(schedule_);
    const std::vector<bool> waited_for = waited_for_elsewhere();
    std::vector<uint32_t> mine(schedule_.steps.size(), kNone);
    uint32_t count = 0;
    for (StepId id = 0; id < schedule_.steps.size(); id++) {
      if (schedule_.steps[id].executor.rank == request_.rank) mine[id] = count++;
    }
    for (StepId id = 0; id < schedule_.steps.size(); id++) {
      if (mine[id] == kNone) continue;
      FF_ASSIGN_OR_RETURN(LoweredStep step, lower_step(id, mine));
      step.awaited = waited_for[id];
      program->steps.push_back(std::move(step));
    }
    return std::shared_ptr<const Program>(std::move(program));
  }

 private:
  Status choose_area(Program& program) const {
    const SeatLayout& layout = request_.seat_layout;
    uint32_t most_steps = 0;
    for (const uint32_t index : local_indices(schedule_)) {
      most_steps = std::max(most_steps, index + 1);
    }
    if (most_steps > layout.counters_per_bank) {
      return {FF_ERROR_RESOURCE,
              fmt::format("the schedule has {} steps a rank, but a seat has {} counters",
                          most_steps, layout.counters_per_bank)};
    }
    if (places_.inlined) return {};
    if (places_.slot_stride(layout.small_bytes) >= request_.largest_piece) {
      program.bulk = false;
    } else if (places_.slot_stride(layout.bulk_bytes) >= request_.largest_piece) {
      program.bulk = true;
    } else {
      return {FF_ERROR_RESOURCE,
              fmt::format("{} rings of {} slots a rank with pieces of {} need more than the {} of "
                          "staging that a rank has; choose a smaller chunk or more staging_bytes",
                          places_.most, places_.most_slots, format_bytes(request_.largest_piece),
                          format_bytes(layout.bulk_bytes))};
    }
    program.shape = shape_of(schedule_);
    program.free_between_calls = schedule_.free_between_calls();
    for (const Ring& ring : schedule_.rings) program.swaps |= ring.sharing == Sharing::kSwap;
    return {};
  }

  std::vector<bool> waited_for_elsewhere() const {
    std::vector<bool> waited_for(schedule_.steps.size(), false);
    for (const Step& step : schedule_.steps) {
      for (const Wait& wait : step.waits) {
        if (schedule_.steps[wait.step].executor.rank != step.executor.rank) {
          waited_for[wait.step] = true;
        }
      }
    }
    return waited_for;
  }

  Result<LoweredStep> lower_step(StepId id, const std::vector<uint32_t>& mine) const {
    const Step& step = schedule_.steps[id];
    if (step.kind == StepKind::kPut || step.kind == StepKind::kEnter ||
        step.executor.unit != Unit::kCpu) {
      return Status(FF_ERROR_UNSUPPORTED,
                    fmt::format("step {} of the schedule needs a transport between nodes or a "
                                "device, which this version does not run",
                                id));
    }
    LoweredStep lowered;
    lowered.kind = step.kind;
    lowered.lanes = step.lanes();
    lowered.counter = counter_of(id);
    if (step.kind == StepKind::kReduce) {
      const bool divides = request_.op == FF_AVG && request_.completing[id];
      lowered.reduce =
          reduce_kernel(request_.isa, request_.type,
                        divides || request_.op != FF_AVG ? request_.op : ff_reduce_op{FF_SUM});
    }
    for (const Operand& operand : step.in) {
      FF_ASSIGN_OR_RETURN(LoweredOperand in, lower_operand(id, operand));
      lowered.in.push_back(in);
    }
    for (const Operand& operand : step.out) {
      FF_ASSIGN_OR_RETURN(LoweredOperand out, lower_operand(id, operand));
      lowered.out.push_back(out);
    }
    // Kernels stream a prefix of their outputs. The order of outputs means nothing, except in
    // lanes, where each is copied by itself.
    if (request_.stream_results) {
      const auto is_result = [](const LoweredOperand& out) {
        return out.kind == LoweredOperand::kRecvBuffer;
      };
      if (!lowered.lanes) {
        std::stable_partition(lowered.out.begin(), lowered.out.end(), is_result);
      }
      lowered.streamed =
          static_cast<size_t>(std::count_if(lowered.out.begin(), lowered.out.end(), is_result));
    }
    for (const Wait& wait : step.waits) {
      if (mine[wait.step] != kNone) {
        lowered.local.push_back({mine[wait.step], wait.lag});
      } else {
        lowered.remote.push_back(
            {counter_of(wait.step), wait.lag, schedule_.steps[wait.step].executor.rank.value()});
      }
    }
    return lowered;
  }

  Counter* counter_of(StepId id) const {
    const Rank owner = schedule_.steps[id].executor.rank;
    return request_.seats[owner.index()].counters + counters_[id];
  }

  Result<LoweredOperand> lower_operand(StepId id, const Operand& operand) const {
    LoweredOperand lowered;
    lowered.region = operand.region;
    if (operand.place != Place::kRing) {
      if (operand.rank != request_.rank) {
        return Status(FF_ERROR_UNSUPPORTED,
                      fmt::format("step {} of rank {} touches a buffer of rank {}, which this "
                                  "version does not share",
                                  id, request_.rank.value(), operand.rank.value()));
      }
      lowered.kind =
          operand.place == Place::kSend ? LoweredOperand::kSendBuffer : LoweredOperand::kRecvBuffer;
      return lowered;
    }
    const Ring& ring = schedule_.rings[operand.ring];
    if (fits_counter(schedule_, operand.ring, request_.largest_piece)) {
      lowered.kind = LoweredOperand::kSlots;
      lowered.base = counter_of(ring.writer)->inline_data;
      lowered.slots = 1;
      lowered.bank_stride = request_.seat_layout.counters_per_bank * sizeof(Counter);
      return lowered;
    }
    // The ring whose memory it is.
    const bool borrowed = ring.sharing == Sharing::kResult ||
                          (ring.sharing == Sharing::kSwap && ring.partner < operand.ring);
    const RingId owner = borrowed ? ring.partner : operand.ring;
    const SeatMemory& home = request_.seats[schedule_.rings[owner].home.index()];
    const SeatLayout& layout = request_.seat_layout;
    const size_t area = bulk_ ? layout.bulk_bytes : layout.small_bytes;
    lowered.kind =
        ring.sharing == Sharing::kSwap ? LoweredOperand::kSwapSlots : LoweredOperand::kSlots;
    lowered.side = borrowed ? 1 : 0;
    lowered.base = (bulk_ ? home.bulk : home.small) + places_.index[owner] * places_.stride(area);
    lowered.slots = ring.slots;
    lowered.slot_stride = places_.slot_stride(area);
    lowered.bank_stride = bulk_ ? 0 : layout.small_bytes;
    return lowered;
  }

  const LoweringRequest& request_;
  const Schedule& schedule_;
  const RingPlaces& places_;
  std::vector<uint32_t> counters_;
  bool bulk_ = false;
};

}  // namespace

size_t SeatLayout::counters_offset() const { return sizeof(Seat); }
size_t SeatLayout::small_offset() const {
  return round_up(counters_offset() + size_t{kBanks} * counters_per_bank * sizeof(Counter), kPage);
}
size_t SeatLayout::bulk_offset() const {
  return round_up(small_offset() + kBanks * small_bytes, kPage);
}
size_t SeatLayout::segment_bytes() const { return round_up(bulk_offset() + bulk_bytes, kPage); }

SeatMemory SeatLayout::at(std::byte* segment) const {
  return {reinterpret_cast<Seat*>(segment), reinterpret_cast<Counter*>(segment + counters_offset()),
          segment + small_offset(), segment + bulk_offset()};
}

std::vector<uint32_t> local_indices(const Schedule& schedule) {
  std::vector<uint32_t> indices(schedule.steps.size());
  std::vector<uint32_t> next(schedule.ranks, 0);
  for (StepId id = 0; id < schedule.steps.size(); id++) {
    indices[id] = next[schedule.steps[id].executor.rank.index()]++;
  }
  return indices;
}

Result<std::shared_ptr<const Program>> lower(const LoweringRequest& request) {
  const RingPlaces places = place_rings(*request.schedule, request.largest_piece);
  return Lowering(request, places).run();
}

}  // namespace ff
