// nccl-tests' names of types and operations, which are not quite ours.
#pragma once
#include <cstddef>
#include <optional>
#include <string>

#include "fireflyer/types.h"

namespace ff::tools::perf {

const char* column_name(ff_type type);   // as in the table: "float", "half", "f8e4m3"
const char* library_name(ff_type type);  // as in ff_explain's requests: "float32"
const char* op_name(ff_reduce_op op);
size_t type_bytes(ff_type type);

// Accepts the table's names and the library's ("float32"). Nothing if unknown.
std::optional<ff_type> find_type(const std::string& name);
std::optional<ff_reduce_op> find_op(const std::string& name);
std::string known_types();  // "int8 uint8 ..."
std::string known_ops();

bool is_float(ff_type type);
bool is_narrow_float(ff_type type);  // 16 and 8 bits
// Whether the library defines `op` for `type`: no average of integers, no bit operations on floats.
bool is_defined(ff_type type, ff_reduce_op op);

}  // namespace ff::tools::perf
