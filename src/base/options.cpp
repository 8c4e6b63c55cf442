#include "base/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/nearest.hpp"

namespace ff {
namespace {

template <class Integer>
Result<Integer> parse_number(std::string_view text, Integer least, Integer most) {
  Integer value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    return Status(FF_ERROR_ARGUMENT,
                  fmt::format("'{}' is no whole number from {} to {}", text, least, most));
  }
  return value;
}

Status set_text(std::string& field, std::string_view value) {
  if (value.empty()) return {FF_ERROR_ARGUMENT, "has no value"};
  field = value;
  return {};
}

Status set_count(std::optional<uint32_t>& field, std::string_view value, uint32_t least,
                 uint32_t most) {
  FF_ASSIGN_OR_RETURN(field, parse_number<uint32_t>(value, least, most));
  return {};
}

Status set_chunk(Options& options, std::string_view value) {
  FF_ASSIGN_OR_RETURN(const uint64_t bytes, parse_bytes(value));
  if (bytes < 64 || bytes > (uint64_t{256} << 20)) {
    return {FF_ERROR_ARGUMENT, fmt::format("'{}' is not between 64 B and 256 MiB", value)};
  }
  options.chunk_bytes = bytes;
  return {};
}

struct Key {
  std::string_view name;
  Status (*set)(Options& options, std::string_view value);
};

constexpr uint32_t kMostTurns = 1'000'000'000;

constexpr std::array kKeys = {
    Key{"algorithm", [](Options& o, std::string_view v) { return set_text(o.algorithm, v); }},
    Key{"chunk", [](Options& o, std::string_view v) { return set_chunk(o, v); }},
    Key{"slots", [](Options& o, std::string_view v) { return set_count(o.slots, v, 1, 64); }},
    Key{"constants", [](Options& o, std::string_view v) { return set_text(o.constants, v); }},
    Key{"isa", [](Options& o, std::string_view v) { return set_text(o.isa, v); }},
    Key{"verify",
        [](Options& o, std::string_view v) {
          FF_ASSIGN_OR_RETURN(o.verify, parse_switch(v));
          return Status();
        }},
    Key{"spins",
        [](Options& o, std::string_view v) { return set_count(o.spins, v, 0, kMostTurns); }},
    Key{"yields",
        [](Options& o, std::string_view v) { return set_count(o.yields, v, 0, kMostTurns); }},
    Key{"shuffle",
        [](Options& o, std::string_view v) {
          constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
          FF_ASSIGN_OR_RETURN(o.shuffle, parse_number<uint64_t>(v, 0, kMost));
          return Status();
        }},
};

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

Status unknown_key(std::string_view key) {
  std::vector<std::string_view> names;
  for (const Key& known : kKeys) names.push_back(known.name);
  return {FF_ERROR_ARGUMENT, fmt::format("unknown option '{}', nearest is '{}'; known are {}", key,
                                         nearest(key, names), fmt::join(names, ", "))};
}

}  // namespace

Result<Options> parse_options(std::string_view text, Options base) {
  std::array<bool, kKeys.size()> seen{};
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(';', at), text.size());
    const std::string_view setting = trimmed(text.substr(at, end - at));
    at = end + 1;
    if (setting.empty()) continue;
    const size_t equals = setting.find('=');
    if (equals == std::string_view::npos) {
      return Status(FF_ERROR_ARGUMENT,
                    fmt::format("'{}' is no setting; write key=value, separated by ';'", setting));
    }
    const std::string_view name = trimmed(setting.substr(0, equals));
    const auto* key = std::ranges::find(kKeys, name, &Key::name);
    if (key == kKeys.end()) return unknown_key(name);
    if (std::exchange(seen[static_cast<size_t>(key - kKeys.begin())], true)) {
      return Status(FF_ERROR_ARGUMENT, fmt::format("option '{}' is set twice", name));
    }
    FF_RETURN_IF_ERROR(key->set(base, trimmed(setting.substr(equals + 1)))
                           .with_context(fmt::format("option '{}'", name)));
  }
  return base;
}

Result<Options> read_options(const Environment& environment, std::string_view of_communicator) {
  Options options;
  const auto from = [&](std::string_view source, Result<Options> parsed) {
    if (parsed.ok()) options = std::move(*parsed);
    return parsed.status().with_context(std::string(source));
  };
  if (const auto text = environment.get("FF_OPTIONS")) {
    FF_RETURN_IF_ERROR(from("FF_OPTIONS", parse_options(*text)));
  }
  if (const auto isa = environment.get("FF_ISA")) options.isa = *isa;
  if (const auto text = environment.get("FF_VERIFY")) {
    const Result<bool> verify = parse_switch(*text);
    if (!verify.ok()) return verify.status().with_context("FF_VERIFY");
    options.verify = *verify;
  }
  FF_RETURN_IF_ERROR(from("the communicator's options", parse_options(of_communicator, options)));
  return options;
}

Result<bool> parse_switch(std::string_view text) {
  if (text == "0" || text == "1") return text == "1";
  return Status(FF_ERROR_ARGUMENT, fmt::format("'{}' is neither 0 nor 1", text));
}

Result<LogLevel> parse_log_level(std::string_view text) {
  static constexpr std::array<std::string_view, 4> kNames = {"error", "warning", "info", "debug"};
  const auto* found = std::ranges::find(kNames, text);
  if (found == kNames.end()) {
    return Status(FF_ERROR_ARGUMENT,
                  fmt::format("'{}' is no log level; known are {}", text, fmt::join(kNames, ", ")));
  }
  return static_cast<LogLevel>(found - kNames.begin());
}

}  // namespace ff
