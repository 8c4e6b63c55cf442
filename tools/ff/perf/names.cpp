#include "ff/perf/names.hpp"

#include <array>

namespace ff::tools::perf {
namespace {

// In the order of ff_type: the table's name, the library's where it differs, bytes.
struct TypeRow {
  const char* column;
  const char* library;
  size_t bytes;
};
constexpr std::array<TypeRow, FF_TYPE_COUNT> kTypes = {{{"int8", "int8", 1},
                                                        {"uint8", "uint8", 1},
                                                        {"int16", "int16", 2},
                                                        {"uint16", "uint16", 2},
                                                        {"int32", "int32", 4},
                                                        {"uint32", "uint32", 4},
                                                        {"int64", "int64", 8},
                                                        {"uint64", "uint64", 8},
                                                        {"half", "float16", 2},
                                                        {"bfloat16", "bfloat16", 2},
                                                        {"float", "float32", 4},
                                                        {"double", "float64", 8},
                                                        {"f8e4m3", "float8_e4m3", 1},
                                                        {"f8e5m2", "float8_e5m2", 1},
                                                        {"bool", "bool", 1}}};
constexpr std::array<const char*, FF_BUILTIN_OPS> kOps = {"sum", "prod", "max", "min",
                                                          "avg", "band", "bor", "bxor"};

const TypeRow& row(ff_type type) { return kTypes.at(static_cast<size_t>(type)); }

}  // namespace

const char* column_name(ff_type type) { return row(type).column; }
const char* library_name(ff_type type) { return row(type).library; }
const char* op_name(ff_reduce_op op) { return kOps.at(op); }
size_t type_bytes(ff_type type) { return row(type).bytes; }

std::optional<ff_type> find_type(const std::string& name) {
  for (int i = 0; i < FF_TYPE_COUNT; i++) {
    const auto type = static_cast<ff_type>(i);
    if (name == column_name(type) || name == library_name(type)) return type;
  }
  return std::nullopt;
}

std::optional<ff_reduce_op> find_op(const std::string& name) {
  for (ff_reduce_op op = 0; op < FF_BUILTIN_OPS; op++) {
    if (name == op_name(op)) return op;
  }
  return std::nullopt;
}

std::string known_types() {
  std::string all;
  for (const TypeRow& type : kTypes) all += (all.empty() ? "" : " ") + std::string(type.column);
  return all;
}

std::string known_ops() {
  std::string all;
  for (const char* name : kOps) all += (all.empty() ? "" : " ") + std::string(name);
  return all;
}

bool is_narrow_float(ff_type type) {
  return type == FF_FLOAT16 || type == FF_BFLOAT16 || type == FF_FLOAT8_E4M3 ||
         type == FF_FLOAT8_E5M2;
}
bool is_float(ff_type type) {
  return type == FF_FLOAT32 || type == FF_FLOAT64 || is_narrow_float(type);
}

bool is_defined(ff_type type, ff_reduce_op op) {
  if (op == FF_AVG) return is_float(type);
  if (op == FF_BAND || op == FF_BOR || op == FF_BXOR) return !is_float(type);
  return true;
}

}  // namespace ff::tools::perf
