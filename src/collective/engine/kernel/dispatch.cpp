// Which level this CPU runs, and the look-up in its table. Built for the baseline.
#include <fmt/format.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/data_type.hpp"
#include "collective/engine/kernel/kernel.hpp"
#include "collective/engine/kernel/table.hpp"

namespace ff {
namespace {

struct Level {
  Isa isa;
  const char* name;
  const KernelTable* table;
  bool (*cpu_has_it)();
};

bool always() { return true; }

#if defined(__x86_64__)
// __builtin_cpu_supports also asks whether the system saves the wide registers.
bool has_avx2() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool f16c = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
  return f16c && __builtin_cpu_supports("avx2") != 0;
}
bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") != 0 &&
         __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0;
}
#endif

// This architecture's levels, the lowest first.
constexpr Level kLevels[] = {
    {Isa::kBaseline, "baseline", &kBaselineTable, always},
#if defined(__x86_64__)
    {Isa::kAvx2, "avx2", &kAvx2Table, has_avx2},
    {Isa::kAvx512, "avx512", &kAvx512Table, has_avx512},
#elif defined(__aarch64__)
    {Isa::kNeon, "neon", &kNeonTable, always},
#endif
};

const Level* find(Isa isa) {
  for (const Level& level : kLevels) {
    if (level.isa == isa) return &level;
  }
  return nullptr;
}

}  // namespace

const char* isa_name(Isa isa) {
  switch (isa) {
    case Isa::kBaseline:
      return "baseline";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
    case Isa::kNeon:
      return "neon";
  }
  return "unknown";
}

Result<Isa> select_isa(std::string_view cap) {
  Isa best = Isa::kBaseline;
  for (const Level& level : kLevels) {
    if (level.cpu_has_it()) best = level.isa;
    if (level.name == cap) return best;
  }
  if (cap.empty()) return best;
  std::string names;
  for (const Level& level : kLevels) names += fmt::format(" {}", level.name);
  return Status(
      FF_ERROR_ARGUMENT,
      fmt::format("no instruction-set level '{}' on this architecture; it has:{}", cap, names));
}

ReduceKernel reduce_kernel(Isa isa, ff_type type, ff_reduce_op op) {
  const Level* level = find(isa);
  if (level == nullptr || static_cast<unsigned>(type) >= FF_TYPE_COUNT || op >= FF_BUILTIN_OPS) {
    return nullptr;
  }
  return level->table->reduce[type][op];
}

CopyKernel copy_kernel(Isa isa) {
  const Level* level = find(isa);
  return level == nullptr ? nullptr : level->table->copy;
}

Status check_reduction(ff_type type, ff_reduce_op op) {
  if (type_name(type) == nullptr) {
    return {FF_ERROR_ARGUMENT, fmt::format("unknown element type {}; types are 0 to {}",
                                           static_cast<int>(type), FF_TYPE_COUNT - 1)};
  }
  if (op_name(op) == nullptr) {
    return {FF_ERROR_ARGUMENT, fmt::format("unknown reduce operation {}; operations are 0 to {}",
                                           op, FF_BUILTIN_OPS - 1)};
  }
  if (has_meaning(type, op)) return {};
  const char* why = op == FF_AVG ? "sum instead, and divide as you want it rounded"
                                 : "bitwise operations are for integers and bool";
  return {FF_ERROR_UNSUPPORTED,
          fmt::format("{} of {} is not defined: {}", op_name(op), type_name(type), why)};
}

}  // namespace ff
