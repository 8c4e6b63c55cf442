// The one pass over memory: read every input once, combine, store to every output.
//
// A pass goes over blocks of several whole registers, then over what is left one register, at last
// partial, at a time. All inputs of a block are read before any output is written: that is what
// makes an output over an input legal. Non-temporal stores need aligned addresses, so a pass with
// streamed outputs starts with the bytes before the first output's alignment; the outputs behind
// it that are aligned there too are streamed with it, the rest stored ordinarily.
#pragma once
#include "collective/engine/kernel/operation.hpp"
#include "collective/engine/kernel/vector.hpp"

namespace ff {

template <class L>
struct WholeAccess {
  static FF_KERNEL_INLINE Raw<L> load(const char* p) { return L::load(p); }
  static FF_KERNEL_INLINE void store(char* p, Raw<L> x) { L::store(p, x); }
};
template <class L>
struct PartialAccess {
  size_t bytes;  // 1 to L::kBytes; the other lanes read as zero
  FF_KERNEL_INLINE Raw<L> load(const char* p) const { return L::load_partial(p, bytes); }
  FF_KERNEL_INLINE void store(char* p, Raw<L> x) const { L::store_partial(p, x, bytes); }
};

// The outputs of a pass. Handed on in registers (functions that are not inlined take its members):
// a struct written by words and read by vectors would cost a short call half its time.
struct Outputs {
  void* const* buffer;
  size_t count;
  size_t streamed;  // so many of the first are written with non-temporal stores
};

// Writes registers that lie one behind the other to every output; only whole ones are streamed.
template <class L, int registers, class Access>
FF_KERNEL_INLINE void store_all(const Outputs& out, size_t offset, const Raw<L> (&value)[registers],
                                Access access) {
  size_t j = 0;
  if constexpr (std::is_same_v<Access, WholeAccess<L>>) {
    for (; j < out.streamed; j++) {
      char* to = static_cast<char*>(out.buffer[j]) + offset;
      for (int r = 0; r < registers; r++) L::stream(to + r * L::kBytes, value[r]);
    }
  }
  for (; j < out.count; j++) {
    char* to = static_cast<char*>(out.buffer[j]) + offset;
    for (int r = 0; r < registers; r++) access.store(to + r * L::kBytes, value[r]);
  }
}

// How many bytes precede the first address where output 0 can be streamed, at most `bytes`; leaves
// in out->streamed the leading outputs that can be streamed from there on.
template <class L>
FF_KERNEL_INLINE size_t streaming_head(Outputs* out, size_t element_bytes, size_t bytes) {
  const auto misalignment = [out](size_t j) {
    return reinterpret_cast<uintptr_t>(out->buffer[j]) % L::kBytes;
  };
  const size_t first = misalignment(0);
  if (!L::kStreams || first % element_bytes != 0) {
    out->streamed = 0;
    return 0;
  }
  size_t same = 1;
  while (same < out->streamed && misalignment(same) == first) same++;
  out->streamed = same;
  const size_t head = (L::kBytes - first) % L::kBytes;
  return head < bytes ? head : bytes;
}

// Goes over `bytes` bytes: blocks(out, offset) for each whole block of `block_bytes`, and
// edge(out, offset, bytes) for what lies before the first and behind the last.
template <class L, class Blocks, class Edge>
FF_KERNEL_INLINE void pass(Outputs out, size_t element_bytes, size_t bytes, size_t block_bytes,
                           const Blocks& blocks, const Edge& edge) {
  size_t offset = 0;
  if (out.streamed != 0) [[unlikely]] {
    offset = streaming_head<L>(&out, element_bytes, bytes);
    if (offset != 0) edge(out, 0, offset);
  }
  for (; bytes - offset >= block_bytes; offset += block_bytes) blocks(out, offset);
  if (bytes != offset) edge(out, offset, bytes - offset);
  if (out.streamed != 0) L::fence();
}

template <class L, class Format, class Operation>
struct Reduction {
  using Accumulator = typename Format::Accumulator;
  using Part = std::remove_reference_t<decltype(Accumulator::part[0])>;
  static constexpr int kParts = Accumulator::kCount;
  static FF_KERNEL_INLINE Accumulator combine(const Accumulator& a, const Accumulator& b) {
    Accumulator c;
    for (int k = 0; k < kParts; k++) {
      c.part[k] = Operation::template apply<L>(a.part[k], b.part[k]);
    }
    return c;
  }

  // tree(n) of the n inputs from `in` on, n known: all in registers.
  template <int n, class Access>
  static FF_KERNEL_INLINE Accumulator tree(const void* const* in, size_t offset, Access access) {
    if constexpr (n == 1) {
      const char* from = static_cast<const char*>(in[0]) + offset;
      if constexpr (requires { Format::load(from); } && std::is_same_v<Access, WholeAccess<L>>) {
        return Format::load(from);
      } else {
        return Format::widen(access.load(from));
      }
    } else {
      constexpr int left = n > 4 ? 4 : n > 2 ? 2 : 1;
      const Accumulator a = tree<left>(in, offset, access);
      return combine(a, tree<n - left>(in + left, offset, access));
    }
  }

  template <int n, int registers, class Access>
  static FF_KERNEL_INLINE void trees(Accumulator (&result)[registers], const void* const* in,
                                     size_t offset, Access access) {
    for (int r = 0; r < registers; r++) {
      result[r] = tree<n>(in, offset + static_cast<size_t>(r) * L::kBytes, access);
    }
  }

  // The same tree for any number of inputs: groups of `group`, counted in binary. The stack holds
  // the finished subtrees, largest first, as the set bits of the count of groups. The last group,
  // of one to `group`, is joined with all of them in turn.
  template <int group, int registers, class Access>
  static FF_KERNEL_INLINE void any_trees(Accumulator (&result)[registers], const void* const* in,
                                         size_t ins, size_t offset, Access access) {
    struct Level {
      Accumulator subtree[registers];
    };
    Level stack[64];  // as many as a 64-bit count of groups has bits
    size_t height = 0;
    const auto join = [&]() __attribute__((always_inline)) {  // the top of the stack with `result`
      height--;
      for (int r = 0; r < registers; r++) {
        result[r] = combine(stack[height].subtree[r], result[r]);
      }
    };
    const size_t groups = (ins - 1) / group;
    for (size_t g = 0; g < groups; g++) {
      trees<group>(result, in + group * g, offset, access);
      for (size_t bits = g; bits & 1; bits >>= 1) join();
      for (int r = 0; r < registers; r++) stack[height].subtree[r] = result[r];
      height++;
    }
    last_group<group>(result, in + group * groups, ins - group * groups, offset, access);
    while (height > 0) join();
  }
  template <int group, int registers, class Access>
  static FF_KERNEL_INLINE void last_group(Accumulator (&result)[registers], const void* const* in,
                                          size_t ins, size_t offset, Access access) {
    if constexpr (group > 1) {
      if (ins != group) return last_group<group - 1>(result, in, ins, offset, access);
    }
    trees<group>(result, in, offset, access);
  }

  static FF_KERNEL_INLINE Raw<L> finish(Accumulator a, double divisor) {
    if constexpr (std::is_same_v<Operation, Average>) {
      for (auto& part : a.part) part = part / fill<Part>(static_cast<ElementOf<Part>>(divisor));
    }
    return Format::narrow(a);
  }

  template <int registers, class Access>
  static FF_KERNEL_INLINE void finish_and_store(const Outputs& out, size_t offset,
                                                const Accumulator (&sum)[registers], double divisor,
                                                Access access) {
    Raw<L> value[registers];
    for (int r = 0; r < registers; r++) value[r] = finish(sum[r], divisor);
    store_all<L>(out, offset, value, access);
  }

  // One register at a time, up to L::kBytes each: for the ends of a pass and for short ones. Not
  // inlined: one small copy serves every number of inputs.
  __attribute__((noinline)) static void edge(void* const* out, size_t outs, const void* const* in,
                                             size_t ins, size_t offset, size_t bytes,
                                             double divisor) {
    while (bytes != 0) {
      const size_t now = bytes < size_t{L::kBytes} ? bytes : size_t{L::kBytes};
      const PartialAccess<L> access{now};
      Accumulator sum[1];
      if (ins == 2) {
        trees<2>(sum, in, offset, access);
      } else {
        any_trees<1>(sum, in, ins, offset, access);
      }
      finish_and_store(Outputs{out, outs, 0}, offset, sum, divisor, access);
      offset += now;
      bytes -= now;
    }
  }

  // `inputs`: their number, or 0 for `ins` of them.
  template <int inputs>
  static void run(void* const* outputs, size_t outs, size_t streamed, const void* const* in,
                  size_t ins, size_t bytes, double divisor) {
    // Enough independent sums to hide the adders' latency, few enough for the registers.
    constexpr int kWanted = (inputs == 2 || inputs == 4 ? 4 : 2) / kParts;
    constexpr int kRegisters = kWanted > 0 ? kWanted : 1;
    pass<L>(
        Outputs{outputs, outs, streamed}, Format::kElementBytes, bytes,
        size_t{kRegisters} * L::kBytes,
        [&](const Outputs& out, size_t offset) __attribute__((always_inline)) {
          Accumulator sum[kRegisters];
          if constexpr (inputs != 0) {
            trees<inputs>(sum, in, offset, WholeAccess<L>{});
          } else {
            any_trees<(kParts == 1 ? 4 : 2)>(sum, in, ins, offset, WholeAccess<L>{});
          }
          finish_and_store(out, offset, sum, divisor, WholeAccess<L>{});
        },
        [&](const Outputs& out, size_t offset, size_t length) __attribute__((always_inline)) {
          edge(out.buffer, out.count, in, ins, offset, length, divisor);
        });
  }

  static void reduce(void* const* out, size_t outs, size_t streamed, const void* const* in,
                     size_t ins, size_t count, double divisor) {
    const size_t bytes = count * Format::kElementBytes;
    if constexpr (std::is_same_v<Operation, Sum>) {  // worth the code only here
      switch (ins) {
        case 2:
          return run<2>(out, outs, streamed, in, ins, bytes, divisor);
        case 4:
          return run<4>(out, outs, streamed, in, ins, bytes, divisor);
        case 8:
          return run<8>(out, outs, streamed, in, ins, bytes, divisor);
        default:
          break;
      }
    }
    run<0>(out, outs, streamed, in, ins, bytes, divisor);
  }
};

template <class L>
struct Copying {
  static void copy(void* const* outputs, size_t outs, size_t streamed, const void* in,
                   size_t bytes) {
    const char* from = static_cast<const char*>(in);
    constexpr int kRegisters = 4;
    pass<L>(
        Outputs{outputs, outs, streamed}, 1, bytes, size_t{kRegisters} * L::kBytes,
        [&](const Outputs& out, size_t offset) __attribute__((always_inline)) {
          Raw<L> value[kRegisters];
          for (int r = 0; r < kRegisters; r++) value[r] = L::load(from + offset + r * L::kBytes);
          store_all<L>(out, offset, value, WholeAccess<L>{});
        },
        [&](const Outputs& out, size_t offset, size_t length) __attribute__((always_inline)) {
          while (length != 0) {
            const size_t now = length < size_t{L::kBytes} ? length : size_t{L::kBytes};
            const Raw<L> value[1] = {L::load_partial(from + offset, now)};
            store_all<L>(out, offset, value, PartialAccess<L>{now});
            offset += now;
            length -= now;
          }
        });
  }
};

}  // namespace ff
