// What a user may force: the grammar of FF_OPTIONS and of ff_config.options.
//
//   options = [ setting *( ";" setting ) ]      setting = key "=" value
//
// as in "algorithm=ring;chunk=64K;slots=2". Blanks around keys and values do not count, an empty
// setting (";;" or a last ";") is allowed, a key may come once. Anything else is an error that
// lists the keys; nothing is guessed.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/environment.hpp"
#include "base/log.hpp"
#include "base/status.hpp"

namespace ff {

struct Options {
  std::string algorithm;                // algorithm=NAME   empty: the planner chooses
  std::optional<uint64_t> chunk_bytes;  // chunk=SIZE       64 B to 256 MiB, of one piece of staging
  std::optional<uint32_t> slots;        // slots=N          1 to 64, pieces in flight
  std::string constants;            // constants=PATH   table of costs instead of the shipped one
  std::string isa;                  // isa=NAME         caps the instruction set, as FF_ISA
  std::optional<bool> verify;       // verify=0|1       as FF_VERIFY
  std::optional<uint32_t> spins;    // spins=N          looks at a counter before it yields
  std::optional<uint32_t> yields;   // yields=N         yields before it sleeps
  std::optional<uint64_t> shuffle;  // shuffle=SEED     fires ready steps in a seeded order

  bool operator==(const Options&) const = default;
};

// `text` over `base`: what it does not set stays.
Result<Options> parse_options(std::string_view text, Options base = {});

// FF_OPTIONS, then FF_ISA and FF_VERIFY, then the communicator's own options: later ones win. Says
// in an error which of them is wrong.
Result<Options> read_options(const Environment& environment, std::string_view of_communicator);

Result<bool> parse_switch(std::string_view text);         // 0 or 1
Result<LogLevel> parse_log_level(std::string_view text);  // error, warning, info or debug

}  // namespace ff
