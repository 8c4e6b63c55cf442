// Any text as FF_OPTIONS: it is refused with a reason, or means something within the limits.
#include <cstdint>
#include <string_view>

#include "base/check.hpp"
#include "base/options.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  const std::string_view text(reinterpret_cast<const char*>(data), bytes);
  const ff::Result<ff::Options> options = ff::parse_options(text);
  if (!options.ok()) {
    FF_CHECK(options.status().code() == FF_ERROR_ARGUMENT && !options.status().message().empty(),
             "a refusal says why");
    return 0;
  }
  const uint64_t chunk = options->chunk_bytes.value_or(64);
  const uint32_t slots = options->slots.value_or(1);
  FF_CHECK(chunk >= 64 && chunk <= (uint64_t{256} << 20), "a chunk is within its limits");
  FF_CHECK(slots >= 1 && slots <= 64, "slots are within their limits");
  FF_CHECK(*ff::parse_options("", *options) == *options, "nothing changes nothing");
  return 0;
}
