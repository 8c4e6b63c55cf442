// Names and sizes of the element types and reduce operations of fireflyer/types.h.
#pragma once
#include <cstddef>
#include <string_view>

#include "base/status.hpp"
#include "fireflyer/types.h"

namespace ff {

const char* type_name(ff_type type);   // "float32"; nullptr if unknown
size_t type_size(ff_type type);        // bytes; 0 if unknown
const char* op_name(ff_reduce_op op);  // "sum"; nullptr if unknown

bool is_floating(ff_type type);         // 64 to 8 bits
bool is_narrow_floating(ff_type type);  // 16 and 8 bits: accumulated in float32

// Accept our names and those of nccl-tests ("float", "half", "bf16", "f8e4m3", ...).
Result<ff_type> parse_type(std::string_view name);
Result<ff_reduce_op> parse_op(std::string_view name);

}  // namespace ff
