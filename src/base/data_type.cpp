#include "base/data_type.hpp"

#include <fmt/format.h>

#include <array>

namespace ff {
namespace {

struct TypeRow {
  const char* name;
  size_t bytes;
  enum { kInteger, kNarrowFloat, kFloat, kTruth } kind;
};
constexpr std::array<TypeRow, FF_TYPE_COUNT> kTypes = {{
    {"int8", 1, TypeRow::kInteger},
    {"uint8", 1, TypeRow::kInteger},
    {"int16", 2, TypeRow::kInteger},
    {"uint16", 2, TypeRow::kInteger},
    {"int32", 4, TypeRow::kInteger},
    {"uint32", 4, TypeRow::kInteger},
    {"int64", 8, TypeRow::kInteger},
    {"uint64", 8, TypeRow::kInteger},
    {"float16", 2, TypeRow::kNarrowFloat},
    {"bfloat16", 2, TypeRow::kNarrowFloat},
    {"float32", 4, TypeRow::kFloat},
    {"float64", 8, TypeRow::kFloat},
    {"float8_e4m3", 1, TypeRow::kNarrowFloat},
    {"float8_e5m2", 1, TypeRow::kNarrowFloat},
    {"bool", 1, TypeRow::kTruth},
}};
constexpr std::array<const char*, FF_BUILTIN_OPS> kOps = {"sum", "prod", "max", "min",
                                                          "avg", "band", "bor", "bxor"};

struct Alias {
  std::string_view name;
  ff_type type;
};
constexpr Alias kAliases[] = {
    {"f16", FF_FLOAT16},        {"half", FF_FLOAT16},
    {"bf16", FF_BFLOAT16},      {"f32", FF_FLOAT32},
    {"float", FF_FLOAT32},      {"f64", FF_FLOAT64},
    {"double", FF_FLOAT64},     {"i8", FF_INT8},
    {"u8", FF_UINT8},           {"i16", FF_INT16},
    {"u16", FF_UINT16},         {"i32", FF_INT32},
    {"u32", FF_UINT32},         {"i64", FF_INT64},
    {"u64", FF_UINT64},         {"f8e4m3", FF_FLOAT8_E4M3},
    {"f8e5m2", FF_FLOAT8_E5M2},
};

bool known(ff_type type) { return static_cast<unsigned>(type) < FF_TYPE_COUNT; }

}  // namespace

const char* type_name(ff_type type) { return known(type) ? kTypes[type].name : nullptr; }
size_t type_size(ff_type type) { return known(type) ? kTypes[type].bytes : 0; }
const char* op_name(ff_reduce_op op) { return op < FF_BUILTIN_OPS ? kOps[op] : nullptr; }

bool is_narrow_floating(ff_type type) {
  return known(type) && kTypes[type].kind == TypeRow::kNarrowFloat;
}
bool is_floating(ff_type type) {
  return is_narrow_floating(type) || (known(type) && kTypes[type].kind == TypeRow::kFloat);
}

Result<ff_type> parse_type(std::string_view name) {
  for (int i = 0; i < FF_TYPE_COUNT; i++) {
    if (name == kTypes[static_cast<size_t>(i)].name) return static_cast<ff_type>(i);
  }
  for (const Alias& alias : kAliases) {
    if (name == alias.name) return alias.type;
  }
  std::string names;
  for (const TypeRow& row : kTypes) names += fmt::format(" {}", row.name);
  return Status(FF_ERROR_ARGUMENT, fmt::format("unknown type '{}'; known are:{}", name, names));
}

Result<ff_reduce_op> parse_op(std::string_view name) {
  for (ff_reduce_op i = 0; i < FF_BUILTIN_OPS; i++) {
    if (name == kOps[i]) return i;
  }
  return Status(FF_ERROR_ARGUMENT,
                fmt::format("unknown operation '{}'; known are: {}", name, fmt::join(kOps, " ")));
}

}  // namespace ff
