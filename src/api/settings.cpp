#include "api/settings.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include "base/bytes.hpp"
#include "base/environment.hpp"
#include "base/log.hpp"
#include "bootstrap/launcher.hpp"
#include "topology/detect/node_facts.hpp"

namespace ff {
namespace {

constexpr std::chrono::nanoseconds kConnectTimeout = std::chrono::seconds(60);
constexpr std::chrono::nanoseconds kCallTimeout = std::chrono::seconds(300);
constexpr uint32_t kMaxOutstanding = 256;
constexpr uint64_t kLeastStaging = 64 << 10;
constexpr uint64_t kMostStaging = uint64_t{1} << 30;
// Enough for three chunks of 512 KiB between two ranks, and for 1 MiB of slots at any number.
constexpr uint64_t kStaging = 3 << 19;

Status check_config(const ff_config& config) {
  if (config.abi != FF_ABI) {
    return {FF_ERROR_ARGUMENT,
            fmt::format("ff_config.abi is {}, this library implements {}: set it to FF_ABI and "
                        "build against this library's header",
                        config.abi, FF_ABI)};
  }
  if (config.ranks < 0 || config.ranks > 65535 ||
      (config.ranks > 0 && (config.rank < 0 || config.rank >= config.ranks))) {
    return {FF_ERROR_ARGUMENT,
            fmt::format("ff_config: rank {} of {} is no rank", config.rank, config.ranks)};
  }
  if ((config.rendezvous != nullptr) + (config.store != nullptr) + (config.id != nullptr) > 1) {
    return {FF_ERROR_ARGUMENT,
            "ff_config: give one of rendezvous, store and id; they are ways to the same thing"};
  }
  if (config.store != nullptr && (config.store->size != sizeof(ff_store) ||
                                  config.store->set == nullptr || config.store->get == nullptr)) {
    return {FF_ERROR_ARGUMENT,
            "ff_config.store: start from ff_store_init() and set both set and get"};
  }
  if (config.progress < FF_PROGRESS_AUTO || config.progress > FF_PROGRESS_THREAD) {
    return {FF_ERROR_ARGUMENT,
            fmt::format("ff_config.progress {} is unknown", static_cast<int>(config.progress))};
  }
  if (config.numerics < FF_NUMERICS_DEFAULT || config.numerics > FF_NUMERICS_ANY_LAYOUT) {
    return {FF_ERROR_ARGUMENT,
            fmt::format("ff_config.numerics {} is unknown", static_cast<int>(config.numerics))};
  }
  if (config.staging_bytes != 0 &&
      (config.staging_bytes < kLeastStaging || config.staging_bytes > kMostStaging)) {
    return {
        FF_ERROR_ARGUMENT,
        fmt::format("ff_config.staging_bytes is {}; it must lie between {} and {}",
                    config.staging_bytes, format_bytes(kLeastStaging), format_bytes(kMostStaging))};
  }
  return {};
}

// All slots of a node together stay below half the last-level cache.
uint64_t standard_staging(const NodeFacts& node, uint32_t ranks) {
  if (node.l3.empty()) return kStaging;
  const uint64_t share = node.l3.front().bytes / 2 / ranks / 4096 * 4096;
  return std::clamp(share, kLeastStaging, kStaging);
}

Store wrap(const ff_store& store) {
  Store wrapped;
  wrapped.set = [store](const std::string& key, std::span<const std::byte> value) {
    return store.set(store.context, key.c_str(), value.data(), value.size());
  };
  wrapped.get = [store](const std::string& key, std::span<std::byte> value, size_t* bytes,
                        std::chrono::nanoseconds timeout) {
    *bytes = value.size();
    return store.get(store.context, key.c_str(), value.data(), bytes, timeout.count());
  };
  return wrapped;
}

Status find_place(const ff_config& config, const Environment& environment, JoinOptions& join) {
  join.rank = Rank(config.rank);
  join.ranks = static_cast<uint32_t>(config.ranks);
  std::string words = config.rendezvous == nullptr ? "env" : config.rendezvous;
  if (config.store != nullptr) {
    join.rendezvous = wrap(*config.store);
  } else if (config.id != nullptr) {
    RendezvousId id;
    std::memcpy(id.data(), config.id->bytes, id.size());
    join.rendezvous = id;
  } else if (words != "env") {
    join.rendezvous = words;
  }
  const bool from_environment =
      std::holds_alternative<std::string>(join.rendezvous) && words == "env";
  if (config.ranks > 0 && !from_environment) return {};
  if (config.ranks == 1) {  // alone: there is nobody to find
    FF_ASSIGN_OR_RETURN(join.rendezvous, create_rendezvous_id());
    return {};
  }
  FF_ASSIGN_OR_RETURN(const LaunchedRank self, find_self(environment, "/"));
  if (config.ranks == 0) {
    join.rank = self.rank;
    join.ranks = self.ranks;
  }
  if (from_environment) join.rendezvous = self.rendezvous;
  return {};
}

// FF_LOG, and once a process the FF_* variables that nobody knows.
Status set_up_log(const Environment& environment) {
  if (const auto words = environment.get("FF_LOG")) {
    FF_ASSIGN_OR_RETURN(const LogLevel level, parse_log_level(*words));
    set_log_level(level);
  }
  static std::once_flag once;
  std::call_once(once, [&] {
    for (const std::string& warning : environment.warnings()) {
      log(LogLevel::kWarning, "{}", warning);
    }
  });
  return {};
}

}  // namespace

Result<std::chrono::nanoseconds> read_timeout(int64_t nanoseconds,
                                              std::chrono::nanoseconds standard,
                                              const char* field) {
  if (nanoseconds < -1) {
    return Status(FF_ERROR_ARGUMENT,
                  fmt::format("{} is {} ns; it must be positive, 0 (default) or -1 (no limit)",
                              field, nanoseconds));
  }
  return nanoseconds == 0 ? standard : std::chrono::nanoseconds(nanoseconds);
}

Result<Settings> read_settings(const ff_config& config) {
  FF_RETURN_IF_ERROR(check_config(config));
  const Environment environment = Environment::of_process();
  FF_RETURN_IF_ERROR(set_up_log(environment));
  Settings settings;
  FF_RETURN_IF_ERROR(find_place(config, environment, settings.join));
  settings.name = config.name == nullptr || *config.name == '\0' ? "world" : config.name;
  settings.join.group = settings.name;
  if (config.secret != nullptr) {
    settings.join.secret = config.secret;
  } else {
    FF_ASSIGN_OR_RETURN(settings.join.secret,
                        read_secret(environment.get("FF_SECRET").value_or("")));
  }
  settings.join.node = environment.get("FF_NODE").value_or("");
  FF_ASSIGN_OR_RETURN(
      settings.join.timeout,
      read_timeout(config.connect_timeout_ns, kConnectTimeout, "ff_config.connect_timeout_ns"));
  FF_ASSIGN_OR_RETURN(settings.call_timeout, read_timeout(config.call_timeout_ns, kCallTimeout,
                                                          "ff_config.call_timeout_ns"));
  settings.progress = config.progress;
  settings.numerics = config.numerics;
  FF_ASSIGN_OR_RETURN(std::vector<uint32_t> cpus, affinity_of_this_thread());
  const NodeFacts node = read_node_facts("/", std::move(cpus));
  settings.cpu_time = node.cpu_time;
  settings.cpu_time_is_capped = node.cpu_time < static_cast<double>(node.cpus.size());
  settings.staging_bytes = config.staging_bytes == 0 ? standard_staging(node, settings.join.ranks)
                                                     : config.staging_bytes;
  settings.max_outstanding = config.max_outstanding == 0 ? kMaxOutstanding : config.max_outstanding;
  FF_ASSIGN_OR_RETURN(settings.options,
                      read_options(environment, config.options == nullptr ? "" : config.options));
  FF_ASSIGN_OR_RETURN(settings.isa, select_isa(settings.options.isa));
  if (settings.options.constants.empty()) {
    FF_ASSIGN_OR_RETURN(settings.constants, shipped_constants());
  } else {
    FF_ASSIGN_OR_RETURN(settings.constants, load_constants(settings.options.constants));
  }
  settings.on_failure = config.on_failure;
  settings.on_failure_context = config.on_failure_context;
  return settings;
}

std::string Settings::agreed() const {
  return fmt::format("numerics={} staging={} algorithm={} chunk={} slots={} constants={:016x}",
                     static_cast<int>(numerics), staging_bytes,
                     options.algorithm.empty() ? "auto" : options.algorithm,
                     options.chunk_bytes.value_or(0), options.slots.value_or(0), constants.hash());
}

}  // namespace ff
