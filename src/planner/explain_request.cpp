#include "planner/explain_request.hpp"

#include <fmt/core.h>

#include <array>
#include <charconv>

#include "base/bytes.hpp"
#include "base/data_type.hpp"

namespace ff {
namespace {

constexpr uint32_t kMostRanks = 65'536;

Status bad_value(std::string_view word, std::string_view why) {
  return {FF_ERROR_ARGUMENT, fmt::format("'{}': {}", word, why)};
}

Status read_number(std::string_view word, std::string_view value, uint32_t least, uint32_t most,
                   uint32_t& out) {
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), out);
  if (error != std::errc() || end != value.data() + value.size() || out < least || out > most) {
    return bad_value(word, fmt::format("a whole number from {} to {} is wanted", least, most));
  }
  return {};
}

Status read_size(std::string_view word, std::string_view value, uint64_t& out) {
  const Result<uint64_t> bytes = parse_bytes(value);
  if (!bytes.ok()) return bad_value(word, bytes.status().message());
  out = *bytes;
  return {};
}

struct Word {
  std::string_view name;
  bool of_the_call;  // else it describes the group
  Status (*read)(std::string_view word, std::string_view value, ExplainRequest& request);
};

constexpr std::array<Word, 15> kWords = {{
    {"bytes", true,
     [](std::string_view word, std::string_view value, ExplainRequest& request) {
       return read_size(word, value, request.bytes);
     }},
    {"type", true,
     [](std::string_view, std::string_view value, ExplainRequest& request) -> Status {
       FF_ASSIGN_OR_RETURN(request.type, parse_type(value));
       return {};
     }},
    {"op", true,
     [](std::string_view, std::string_view value, ExplainRequest& request) -> Status {
       FF_ASSIGN_OR_RETURN(request.op, parse_op(value));
       return {};
     }},
    {"rank", true,
     [](std::string_view word, std::string_view value, ExplainRequest& request) {
       return read_number(word, value, 0, kMostRanks - 1, request.rank);
     }},
    {"ranks", false,
     [](std::string_view word, std::string_view value, ExplainRequest& request) {
       return read_number(word, value, 1, kMostRanks, request.ranks);
     }},
    {"nodes", false,
     [](std::string_view word, std::string_view value, ExplainRequest& request) {
       return read_number(word, value, 1, kMostRanks, request.nodes);
     }},
    {"cpus", false,
     [](std::string_view word, std::string_view value, ExplainRequest& request) {
       return read_number(word, value, 1, kMostRanks, request.cpus.emplace());
     }},
    {"algorithm", false,
     [](std::string_view word, std::string_view value, ExplainRequest& request) -> Status {
       request.overrides.algorithm = value;
       if (value.empty()) return bad_value(word, "a name is wanted");
       return find_algorithm(value).status();
     }},
    {"chunk", false,
     [](std::string_view word, std::string_view value, ExplainRequest& request) -> Status {
       FF_RETURN_IF_ERROR(read_size(word, value, request.overrides.chunk_bytes));
       if (request.overrides.chunk_bytes == 0) return bad_value(word, "at least a byte is wanted");
       return {};
     }},
    {"slots", false,
     [](std::string_view word, std::string_view value, ExplainRequest& request) {
       return read_number(word, value, 1, UINT16_MAX, request.overrides.slots);
     }},
    {"staging", false,
     [](std::string_view word, std::string_view value, ExplainRequest& request) {
       return read_size(word, value, request.staging_bytes.emplace());
     }},
    {"numerics", false,
     [](std::string_view word, std::string_view value, ExplainRequest& request) -> Status {
       if (value == "default") {
         request.numerics = FF_NUMERICS_DEFAULT;
       } else if (value == "any_size") {
         request.numerics = FF_NUMERICS_ANY_SIZE;
       } else if (value == "any_layout") {
         request.numerics = FF_NUMERICS_ANY_LAYOUT;
       } else {
         return bad_value(word, "known are: default any_size any_layout");
       }
       return {};
     }},
    {"memory", false,
     [](std::string_view, std::string_view value, ExplainRequest& request) -> Status {
       request.memory = value;
       return {};
     }},
    {"network", false,
     [](std::string_view, std::string_view value, ExplainRequest& request) -> Status {
       request.network = value;
       return {};
     }},
    {"constants", false,
     [](std::string_view word, std::string_view value, ExplainRequest& request) -> Status {
       request.constants_file = value;
       if (value.empty()) return bad_value(word, "a file is wanted");
       return {};
     }},
}};

Status read_word(std::string_view text, bool group_exists, ExplainRequest& request,
                 std::array<bool, kWords.size()>& seen) {
  const size_t equals = text.find('=');
  std::string known;
  for (size_t i = 0; i < kWords.size(); i++) {
    const Word& word = kWords[i];
    if (group_exists && !word.of_the_call) continue;
    known += fmt::format(" {}", word.name);
    if (equals == std::string_view::npos || text.substr(0, equals) != word.name) continue;
    if (seen[i]) return bad_value(text, "said twice");
    seen[i] = true;
    return word.read(text, text.substr(equals + 1), request);
  }
  return {FF_ERROR_ARGUMENT,
          fmt::format("unknown word '{}'; known are, each with '=':{}", text, known)};
}

}  // namespace

Result<ExplainRequest> parse_explain_request(std::string_view words, bool group_exists) {
  constexpr std::string_view kSpace = " \t\n";
  ExplainRequest request;
  std::array<bool, kWords.size()> seen = {};
  bool collective = false;
  for (size_t at = words.find_first_not_of(kSpace); at != std::string_view::npos;) {
    const size_t end = std::min(words.find_first_of(kSpace, at), words.size());
    const std::string_view word = words.substr(at, end - at);
    at = words.find_first_not_of(kSpace, end);
    if (!collective) {
      if (word == "explain") continue;
      if (word != "all_reduce") {
        return Status(FF_ERROR_ARGUMENT,
                      fmt::format("unknown collective '{}'; known are: all_reduce", word));
      }
      collective = true;
      continue;
    }
    FF_RETURN_IF_ERROR(read_word(word, group_exists, request, seen));
  }
  const auto said = [&](std::string_view name) {
    for (size_t i = 0; i < kWords.size(); i++) {
      if (kWords[i].name == name) return seen[i];
    }
    return false;
  };
  if (!collective || !said("bytes") || (!group_exists && !said("ranks"))) {
    return Status(FF_ERROR_ARGUMENT,
                  fmt::format("'{}' is incomplete; write as in \"all_reduce {}bytes=64M\"", words,
                              group_exists ? "" : "ranks=16 nodes=2 "));
  }
  if (!group_exists) {
    if (request.nodes > request.ranks) {
      return Status(FF_ERROR_ARGUMENT,
                    fmt::format("nodes={} are more than ranks={}", request.nodes, request.ranks));
    }
    if (request.rank >= request.ranks) {
      return Status(FF_ERROR_ARGUMENT,
                    fmt::format("rank={} of ranks={}", request.rank, request.ranks));
    }
  }
  if (request.bytes % type_size(request.type) != 0) {
    return Status(FF_ERROR_ARGUMENT,
                  fmt::format("bytes={} are no whole number of {} ({} bytes)", request.bytes,
                              type_name(request.type), type_size(request.type)));
  }
  return request;
}

}  // namespace ff
