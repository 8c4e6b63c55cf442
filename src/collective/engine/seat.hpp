// A seat: what one rank of a communicator shows to the others of its node, as laid out in shared
// memory. This is the whole protocol between local ranks.
//
// Every word has one writer, the seat's owner, except where it says otherwise. Words that other
// processes read are lock-free atomics; plain fields are published by a release store and read
// after the matching acquire.
//
// Counters never go back and are never reset: `fired` is the call's sequence number and the chunks
// fired in it, so a value of an earlier call means "nothing yet" and needs no clearing.
// kBanks calls may be in flight at once, call s in bank s mod kBanks; a rank starts call s only
// when every rank of the node has finished call s - kBanks, so nobody still reads the bank.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fireflyer/types.h"

namespace ff {

inline constexpr uint32_t kBanks = 4;
inline constexpr uint32_t kChunkBits = 24;
inline constexpr size_t kInlineBytes = 40;

constexpr uint64_t counter_value(uint64_t sequence, uint64_t chunks_fired) {
  return sequence << kChunkBits | chunks_fired;
}

// The progress of one step of one rank in one bank. A line of its own, and alone in its pair of
// lines, because the prefetcher fetches pairs.
struct alignas(128) Counter {
  std::atomic<uint64_t> fired;  // counter_value(); the release store that publishes a chunk
  // Published with the first chunk of each call:
  uint64_t digest;  // of the call, for the reader to compare with its own
  uint64_t done;    // the owner's Seat::done at that time, so that nobody has to fetch it
  // Data of a ring whose pieces are this small: it travels in the line that says it is there.
  std::byte inline_data[kInlineBytes];
};
static_assert(sizeof(Counter) == 128 && offsetof(Counter, inline_data) + kInlineBytes == 64);

// What a call is, as far as ranks must agree. Compared by digest; shown in errors.
struct CallDescription {
  uint64_t count = 0;
  ff_type type = FF_UINT8;
  ff_reduce_op op = FF_SUM;
  std::array<char, 32> name{};  // of the tensor; not compared
};

// The call that occupies a bank, readable at any time (sequence is 0 while it is written).
struct alignas(128) Entry {
  std::atomic<uint64_t> sequence;
  std::array<std::atomic<uint64_t>, 8> words;  // digest, count, type and op, name
};

// How sure we are of who broke a communicator; higher replaces lower while ranks settle.
enum class Evidence : uint8_t {
  kNone,
  kSilence,    // its deadline passed, nobody to blame
  kUnfired,    // a step that could fire did not until the deadline
  kLeft,       // it destroyed its communicator, and is needed
  kDead,       // the kernel says that its process has ended
  kStatement,  // a living rank says so: mismatch, abort, out of memory
};
inline constexpr size_t kEvidenceLevels = 6;

// Why a rank raised a failure; written once per level, before Board::word shows it.
struct Report {
  uint64_t sequence;
  char text[320];
};

// The failure of a communicator on a node; in the seat of the node's first rank. Written by all.
struct alignas(128) Board {
  std::atomic<uint64_t> word;  // FailureWord, 0 = no failure
  std::atomic<uint32_t>
      sleepers;  // ranks asleep on this node: publishers look only if there are any
  std::atomic<uint32_t> verdict;  // futex: changes when the word is sealed
  // Written by the one who seals, before the word says so:
  uint64_t sequence;
  char call[128];
  char text[512];
};

struct alignas(4096) Seat {
  alignas(128) std::atomic<uint64_t> done;  // this call and all before it are finished here
  alignas(
      128) std::atomic<uint32_t> asleep;    // futex; who sleeps here (doorbell.hpp). Written by all
  alignas(128) std::atomic<uint32_t> left;  // the communicator was destroyed on this rank
  // Where the rank last waited, plus 1: two ranks on one CPU must not spin for each other.
  alignas(128) std::atomic<uint32_t> cpu;
  std::array<Entry, kBanks> entries;
  std::array<Report, kEvidenceLevels> reports;
  Board board;
};

void write_entry(Entry& entry, uint64_t sequence, uint64_t digest, const CallDescription& call);
// False if the bank holds another call than `sequence`.
bool read_entry(const Entry& entry, uint64_t sequence, uint64_t& digest, CallDescription& call);

}  // namespace ff
