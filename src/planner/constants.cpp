// One list of fields serves reading, writing, validating and hashing, so none can be forgotten.
#include "planner/constants.hpp"

#include <fmt/core.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>

namespace ff {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kFormat = 1;

template <class Section>
struct Field {
  const char* name;
  uint64_t Section::*member;
  uint64_t least, most;
};

constexpr uint64_t kMaxNs = 1'000'000'000;    // 1 s
constexpr uint64_t kMaxRate = 1'000'000'000;  // 1 PB/s
constexpr uint64_t kMaxBytes = uint64_t{1} << 40;

constexpr std::array<Field<SharedMemoryModel>, 13> kMemoryFields = {{
    {"step_ns", &SharedMemoryModel::step_ns, 0, kMaxNs},
    {"read_slot_ns", &SharedMemoryModel::read_slot_ns, 0, kMaxNs},
    {"inline_bytes", &SharedMemoryModel::inline_bytes, 0, kMaxBytes},
    {"hand_over_ns", &SharedMemoryModel::hand_over_ns, 0, kMaxNs},
    {"switch_ns", &SharedMemoryModel::switch_ns, 0, kMaxNs},
    {"core_mb_per_s", &SharedMemoryModel::core_mb_per_s, 1, kMaxRate},
    {"transfer_mb_per_s", &SharedMemoryModel::transfer_mb_per_s, 1, kMaxRate},
    {"take_back_mb_per_s", &SharedMemoryModel::take_back_mb_per_s, 1, kMaxRate},
    {"far_slot_mb_per_s", &SharedMemoryModel::far_slot_mb_per_s, 1, kMaxRate},
    {"core_memory_mb_per_s", &SharedMemoryModel::core_memory_mb_per_s, 1, kMaxRate},
    {"node_memory_mb_per_s", &SharedMemoryModel::node_memory_mb_per_s, 1, kMaxRate},
    {"core_cache_bytes", &SharedMemoryModel::core_cache_bytes, 0, kMaxBytes},
    {"shared_cache_bytes", &SharedMemoryModel::shared_cache_bytes, 0, kMaxBytes},
}};
static_assert(sizeof(SharedMemoryModel) == kMemoryFields.size() * sizeof(uint64_t));

constexpr std::array<Field<NetworkModel>, 4> kNetworkFields = {{
    {"message_ns", &NetworkModel::message_ns, 0, kMaxNs},
    {"latency_ns", &NetworkModel::latency_ns, 0, kMaxNs},
    {"link_mb_per_s", &NetworkModel::link_mb_per_s, 1, kMaxRate},
    {"core_mb_per_s", &NetworkModel::core_mb_per_s, 0, kMaxRate},
}};
static_assert(sizeof(NetworkModel) == kNetworkFields.size() * sizeof(uint64_t));

constexpr std::array<Field<PlanConstants>, 5> kPlanFields = {{
    {"slots_own_core", &PlanConstants::slots_own_core, 1, UINT16_MAX},
    {"slots_shared_core", &PlanConstants::slots_shared_core, 1, UINT16_MAX},
    {"slots_network", &PlanConstants::slots_network, 1, UINT16_MAX},
    {"channels", &PlanConstants::channels, 1, UINT16_MAX},
    {"least_chunk_bytes", &PlanConstants::least_chunk_bytes, kLineBytes, kMaxBytes},
}};
static_assert(sizeof(PlanConstants) == kPlanFields.size() * sizeof(uint64_t));

// ---- the shipped table -----------------------------------------------------------------------
// How it was found: docs/formats/constants.md.

struct NamedMemory {
  const char* name;
  SharedMemoryModel model;
};
constexpr SharedMemoryModel kNear = {
    .step_ns = 25,
    .read_slot_ns = 25,
    .inline_bytes = 40,
    .hand_over_ns = 40,
    .switch_ns = 1'300,
    .core_mb_per_s = 150'000,
    .transfer_mb_per_s = 73'000,
    .take_back_mb_per_s = 8'000,
    .far_slot_mb_per_s = 115'000,
    .core_memory_mb_per_s = 26'000,
    .node_memory_mb_per_s = 52'000,
    .core_cache_bytes = 3'670'016,
    .shared_cache_bytes = 33'554'432,
};
constexpr SharedMemoryModel kFar = {
    .step_ns = 25,
    .read_slot_ns = 180,
    .inline_bytes = 40,
    .hand_over_ns = 180,
    .switch_ns = 1'300,
    .core_mb_per_s = 150'000,
    .transfer_mb_per_s = 18'000,
    .take_back_mb_per_s = 2'000,
    .far_slot_mb_per_s = 16'000,
    .core_memory_mb_per_s = 26'000,
    .node_memory_mb_per_s = 52'000,
    .core_cache_bytes = 3'670'016,
    .shared_cache_bytes = 33'554'432,
};
constexpr std::array<NamedMemory, 2> kMemories = {{{"near", kNear}, {"far", kFar}}};

struct NamedNetwork {
  const char* name;
  NetworkModel model;
  uint64_t channels;
};
// TCP: 5 us of a core and 25 us until the peer acts, as between namespaces and on a quiet LAN; a
// core moves 3 GB/s through the socket.
constexpr std::array<NamedNetwork, 4> kNetworks = {{
    {"tcp10", {5'000, 25'000, 1'180, 3'000}, 2},
    {"tcp1", {5'000, 25'000, 118, 3'000}, 2},
    {"tcp25", {5'000, 20'000, 2'950, 3'000}, 2},
    {"tcp100", {5'000, 20'000, 11'800, 3'000}, 4},
}};
constexpr PlanConstants kPlan = {
    .slots_own_core = 3,
    .slots_shared_core = 1,
    .slots_network = 8,
    .channels = 2,
    .least_chunk_bytes = 16'384,
};

// ---- JSON --------------------------------------------------------------------------------------

template <class Section, size_t N>
Status read_section(const Json& root, const char* name, const std::array<Field<Section>, N>& fields,
                    std::string_view origin, Section& section) {
  const auto found = root.find(name);
  if (found == root.end()) return {};
  if (!found->is_object()) {
    return {FF_ERROR_ARGUMENT, fmt::format("{}: '{}' must be an object", origin, name)};
  }
  for (const auto& field : fields) {
    const auto value = found->find(field.name);
    if (value == found->end()) {
      return {FF_ERROR_ARGUMENT, fmt::format("{}: '{}.{}' is missing", origin, name, field.name)};
    }
    const bool whole = value->is_number_unsigned();
    if (!whole || value->template get<uint64_t>() < field.least ||
        value->template get<uint64_t>() > field.most) {
      return {FF_ERROR_ARGUMENT,
              fmt::format("{}: '{}.{}' is {}; it must be a whole number from {} to {}", origin,
                          name, field.name, value->dump(), field.least, field.most)};
    }
    section.*(field.member) = value->template get<uint64_t>();
  }
  for (const auto& [key, unused] : found->items()) {
    bool known = false;
    for (const auto& field : fields) known |= key == field.name;
    if (!known) {
      return {FF_ERROR_ARGUMENT, fmt::format("{}: '{}.{}' is no field", origin, name, key)};
    }
  }
  return {};
}

template <class Section, size_t N>
Json write_section(const Section& section, const std::array<Field<Section>, N>& fields) {
  Json json = Json::object();
  for (const auto& field : fields) json[field.name] = section.*(field.member);
  return json;
}

}  // namespace

uint64_t Constants::hash() const {
  // FNV-1a over the values in the order of the lists, byte by byte from the least significant.
  uint64_t hash = 0xcbf29ce484222325u;
  const auto add = [&](uint64_t value) {
    for (int byte = 0; byte < 8; byte++) {
      hash = (hash ^ (value >> (8 * byte) & 0xff)) * 0x100000001b3u;
    }
  };
  add(kFormat);
  for (const auto& field : kMemoryFields) add(memory.*(field.member));
  for (const auto& field : kNetworkFields) add(network.*(field.member));
  for (const auto& field : kPlanFields) add(plan.*(field.member));
  return hash;
}

Result<Constants> shipped_constants(std::string_view memory, std::string_view network) {
  if (memory.empty()) memory = "near";
  if (network.empty()) network = "tcp10";
  Constants constants;
  constants.name = fmt::format("shipped, {} memory, {}", memory, network);
  constants.plan = kPlan;
  std::string known;
  bool found = false;
  for (const NamedMemory& entry : kMemories) {
    known += fmt::format(" {}", entry.name);
    if (memory != entry.name) continue;
    constants.memory = entry.model;
    found = true;
  }
  if (!found) {
    return Status(FF_ERROR_ARGUMENT,
                  fmt::format("unknown class of memory '{}'; known are:{}", memory, known));
  }
  known.clear();
  found = false;
  for (const NamedNetwork& entry : kNetworks) {
    known += fmt::format(" {}", entry.name);
    if (network != entry.name) continue;
    constants.network = entry.model;
    constants.plan.channels = entry.channels;
    found = true;
  }
  if (!found) {
    return Status(FF_ERROR_ARGUMENT,
                  fmt::format("unknown class of network '{}'; known are:{}", network, known));
  }
  return constants;
}

Result<Constants> parse_constants(std::string_view text, std::string_view origin) {
  const Json root = Json::parse(text, nullptr, false);
  if (root.is_discarded() || !root.is_object()) {
    return Status(FF_ERROR_ARGUMENT, fmt::format("{}: not a JSON object", origin));
  }
  const auto format = root.find("format");
  if (format == root.end() || *format != kFormat) {
    return Status(FF_ERROR_ARGUMENT, fmt::format("{}: 'format' must be {}", origin, kFormat));
  }
  for (const auto& [key, unused] : root.items()) {
    if (key != "format" && key != "name" && key != "memory" && key != "network" && key != "plan") {
      return Status(FF_ERROR_ARGUMENT, fmt::format("{}: '{}' is no field", origin, key));
    }
  }
  FF_ASSIGN_OR_RETURN(Constants constants, shipped_constants());
  constants.name = std::string(origin);
  if (const auto name = root.find("name"); name != root.end()) {
    if (!name->is_string()) {
      return Status(FF_ERROR_ARGUMENT, fmt::format("{}: 'name' must be text", origin));
    }
    constants.name = name->get<std::string>();
  }
  FF_RETURN_IF_ERROR(read_section(root, "memory", kMemoryFields, origin, constants.memory));
  FF_RETURN_IF_ERROR(read_section(root, "network", kNetworkFields, origin, constants.network));
  FF_RETURN_IF_ERROR(read_section(root, "plan", kPlanFields, origin, constants.plan));
  return constants;
}

Result<Constants> load_constants(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return system_error(fmt::format("cannot open the constants file {}", path), errno);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  if (file.bad())
    return system_error(fmt::format("cannot read the constants file {}", path), errno);
  return parse_constants(text, path);
}

std::string to_json(const Constants& constants) {
  Json root;
  root["format"] = kFormat;
  root["name"] = constants.name;
  root["memory"] = write_section(constants.memory, kMemoryFields);
  root["network"] = write_section(constants.network, kNetworkFields);
  root["plan"] = write_section(constants.plan, kPlanFields);
  return root.dump(2);
}

}  // namespace ff
