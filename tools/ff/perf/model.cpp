#include "ff/perf/model.hpp"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "ff/perf/names.hpp"

namespace ff::tools::perf {

std::optional<Model> ask_model(const Peers& peers, uint64_t bytes, ff_type type, ff_reduce_op op,
                               std::string* error) {
  const std::string request = fmt::format("explain all_reduce bytes={} type={} op={}", bytes,
                                          library_name(type), op_name(op));
  char* raw = nullptr;
  const ff_status status = ff_comm_query(peers.comm(), request.c_str(), &raw);
  const std::unique_ptr<char, void (*)(char*)> text(raw, ff_free_text);
  if (status != FF_OK) {
    *error = ff_last_error();
    return std::nullopt;
  }
  return parse_model(text.get(), error);
}

}  // namespace ff::tools::perf
