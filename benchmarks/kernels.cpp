// Times the reduce and copy kernels of each instruction-set level of this CPU.
//
//   ff_bench_kernels [--type T] [--op O] [--isa I] [--in N --out M] [--bytes B] [--ms M]
//
// Without --in, the shapes that collectives use. Each row is the median of 15 rounds; the rows of
// one shape take turns, since a virtual machine's clock and caches drift. "hand" rows are loops
// written out for float32 and AVX-512 with that number of inputs, without the rule for NaN: the
// speed to reach. GB/s counts each input and output once; slots lie on cache lines, and the
// last input and the first output are one buffer 16 bytes off, as a caller's from malloc is.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/data_type.hpp"
#include "collective/engine/kernel/kernel.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ff {
namespace {

#if defined(__x86_64__)
#define FF_WIDE __attribute__((target("avx512f")))
template <int inputs>
FF_WIDE void hand_sum(void* const* out, size_t outs, size_t, const void* const* in, size_t,
                      size_t count, double) {
  constexpr int kRegisters = inputs == 2 ? 4 : 2;
  size_t i = 0;
  for (; i + 16 * kRegisters <= count; i += 16 * kRegisters) {
    __m512 sum[kRegisters];
    for (int r = 0; r < kRegisters; r++) {
      sum[r] = _mm512_loadu_ps(static_cast<const float*>(in[0]) + i + 16 * r);
    }
    for (int k = 1; k < inputs; k++) {
      for (int r = 0; r < kRegisters; r++) {
        const float* from = static_cast<const float*>(in[k]) + i + 16 * r;
        sum[r] = _mm512_add_ps(sum[r], _mm512_loadu_ps(from));
      }
    }
    for (size_t j = 0; j < outs; j++) {
      for (int r = 0; r < kRegisters; r++) {
        _mm512_storeu_ps(static_cast<float*>(out[j]) + i + 16 * r, sum[r]);
      }
    }
  }
  for (; i < count; i++) {
    float sum = static_cast<const float*>(in[0])[i];
    for (int k = 1; k < inputs; k++) sum += static_cast<const float*>(in[k])[i];
    for (size_t j = 0; j < outs; j++) static_cast<float*>(out[j])[i] = sum;
  }
}
ReduceKernel hand_written(size_t inputs) {
  switch (inputs) {
    case 2:
      return hand_sum<2>;
    case 4:
      return hand_sum<4>;
    case 8:
      return hand_sum<8>;
    default:
      return nullptr;
  }
}
#else
ReduceKernel hand_written(size_t) { return nullptr; }
#endif

struct Shape {
  size_t in, out;
};

struct Free {
  void operator()(void* p) const { std::free(p); }
};
class Buffers {
 public:
  Buffers(Shape shape, size_t bytes) {
    // One line more from buffer to buffer, so that they do not all share their cache sets.
    const size_t step = (bytes + 4095) / 4096 * 4096 + 4096 + 64;
    memory_.reset(static_cast<char*>(
        std::aligned_alloc(4096, (shape.in + shape.out) * step / 4096 * 4096 + 8192)));
    char* next = memory_.get();
    for (size_t k = 0; k + 1 < shape.in; k++, next += step) in.push_back(next);
    char* const own = next + 16;
    next += step;
    in.push_back(own);
    out.push_back(own);
    for (size_t j = 1; j < shape.out; j++, next += step) out.push_back(next);
    std::fill(memory_.get(), next, char{0});  // sums in place stay as they are
  }
  std::vector<const void*> in;
  std::vector<void*> out;

 private:
  std::unique_ptr<char, Free> memory_;
};

struct Row {
  std::string name;
  std::function<void()> call;
  std::vector<double> seconds = {};
  size_t repeats = 1;
};

double time_calls(const std::function<void()>& call, size_t repeats) {
  const auto start = std::chrono::steady_clock::now();
  for (size_t i = 0; i < repeats; i++) call();
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  return passed.count() / static_cast<double>(repeats);
}

void measure(std::vector<Row>& rows, double round_seconds) {
  for (Row& row : rows) {
    time_calls(row.call, 10);
    const double once = time_calls(row.call, 20);
    row.repeats = std::max<size_t>(1, static_cast<size_t>(round_seconds / std::max(once, 1e-9)));
  }
  for (int round = 0; round < 15; round++) {
    for (Row& row : rows) row.seconds.push_back(time_calls(row.call, row.repeats));
  }
  for (Row& row : rows) std::sort(row.seconds.begin(), row.seconds.end());
}

int run(int argc, char** argv) {
  std::string type_text, op_text = "sum", isa_text, bytes_text;
  size_t inputs = 0, outputs = 1, streamed = 0;
  double milliseconds = 2;
  CLI::App app("Times the reduce and copy kernels");
  app.add_option("--type", type_text, "element type (default: float32, bfloat16, float16)");
  app.add_option("--op", op_text, "operation");
  app.add_option("--isa", isa_text, "one level (default: all of this CPU)");
  app.add_option("--in", inputs, "number of inputs");
  app.add_option("--out", outputs, "number of outputs");
  app.add_option("--streamed", streamed, "so many outputs with non-temporal stores");
  app.add_option("--bytes", bytes_text, "bytes of a buffer (default: 4, 32K, 256K, 512K)");
  app.add_option("--ms", milliseconds, "length of a round");
  CLI11_PARSE(app, argc, argv);

  const auto fail = [](const Status& status) {
    fmt::print(stderr, "{}\n", status.message());
    return 1;
  };
  std::vector<Isa> levels;
  for (const char* name : {"baseline", "avx2", "avx512", "neon"}) {
    const Result<Isa> isa = select_isa(name);
    if (isa.ok() && (levels.empty() || levels.back() != *isa)) levels.push_back(*isa);
  }
  if (!isa_text.empty()) {
    const Result<Isa> isa = select_isa(isa_text);
    if (!isa.ok()) return fail(isa.status());
    levels = {*isa};
  }
  const Result<ff_reduce_op> op = parse_op(op_text);
  if (!op.ok()) return fail(op.status());
  std::vector<ff_type> types = {FF_FLOAT32, FF_BFLOAT16, FF_FLOAT16};
  if (!type_text.empty()) {
    const Result<ff_type> type = parse_type(type_text);
    if (!type.ok()) return fail(type.status());
    types = {*type};
  }
  std::vector<uint64_t> sizes = {4, 32 << 10, 256 << 10, 512 << 10};
  if (!bytes_text.empty()) {
    const Result<uint64_t> bytes = parse_bytes(bytes_text);
    if (!bytes.ok()) return fail(bytes.status());
    sizes = {*bytes};
  }
  std::vector<Shape> shapes = {{2, 1}, {2, 2}, {4, 4}, {8, 8}};
  if (inputs != 0) shapes = {{inputs, outputs}};

  fmt::print("{:>12} {:>5} {:>3} {:>4} {:>9} {:>9} {:>9} {:>9} {:>9}\n", "type", "op", "in", "out",
             "bytes", "isa", "us", "min us", "GB/s");
  for (const ff_type type : types) {
    if (const Status status = check_reduction(type, *op); !status.ok()) return fail(status);
    for (const Shape shape : shapes) {
      for (const size_t bytes : sizes) {
        Buffers buffers(shape, bytes);
        std::vector<Row> rows;
        const auto add = [&](const char* name, ReduceKernel kernel) {
          rows.push_back({name, [&, kernel] {
                            kernel(buffers.out.data(), shape.out, std::min(streamed, shape.out),
                                   buffers.in.data(), shape.in, bytes / type_size(type),
                                   static_cast<double>(shape.in));
                          }});
        };
        if (type == FF_FLOAT32 && *op == FF_SUM && levels.back() == Isa::kAvx512 &&
            hand_written(shape.in) != nullptr) {
          add("hand", hand_written(shape.in));
        }
        for (const Isa isa : levels) add(isa_name(isa), reduce_kernel(isa, type, *op));
        if (shape.in == 2) {
          for (const Isa isa : levels) {
            rows.push_back({fmt::format("copy {}", isa_name(isa)), [&, isa] {
                              copy_kernel(isa)(buffers.out.data(), 1, streamed, buffers.in[0],
                                               bytes);
                            }});
          }
        }
        measure(rows, milliseconds * 1e-3);
        for (const Row& row : rows) {
          const double median = row.seconds[row.seconds.size() / 2];
          const bool copies = row.name.starts_with("copy");
          const size_t moved = bytes * (copies ? 2 : shape.in + shape.out);
          fmt::print("{:>12} {:>5} {:>3} {:>4} {:>9} {:>9} {:>9.4f} {:>9.4f} {:>9.1f}\n",
                     type_name(type), copies ? "copy" : op_name(*op), copies ? 1 : shape.in,
                     copies ? 1 : shape.out, bytes, copies ? row.name.substr(5) : row.name,
                     median * 1e6, row.seconds.front() * 1e6,
                     static_cast<double>(moved) / median * 1e-9);
        }
      }
    }
  }
  return 0;
}

}  // namespace
}  // namespace ff

int main(int argc, char** argv) { return ff::run(argc, argv); }
