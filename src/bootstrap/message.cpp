#include "bootstrap/message.hpp"

#include <fmt/core.h>

namespace ff::bootstrap {

const char* message_name(MessageType type) {
  static constexpr const char* kNames[] = {nullptr, "hello",  "challenge", "proof",   "welcome",
                                           "enrol", "roster", "verdict",   "give up", "failure"};
  const auto index = static_cast<size_t>(type);
  return index < std::size(kNames) ? kNames[index] : nullptr;
}

Result<Header> read_header(std::span<const std::byte> packet) {
  Reader reader(packet);
  uint32_t magic = 0;
  Header header;
  uint8_t zero = 0;
  reader(magic, header.version, header.type, zero);
  if (!reader.ok()) {
    return Status(FF_ERROR_ARGUMENT,
                  fmt::format("sent {} bytes, too few for a header of ours", packet.size()));
  }
  if (magic != kMagic) {
    return Status(FF_ERROR_ARGUMENT,
                  fmt::format("sent {} bytes that are not of this protocol", packet.size()));
  }
  return header;
}

Status malformed(MessageType type, size_t bytes) {
  const char* name = message_name(type);
  return {FF_ERROR_ARGUMENT,
          name == nullptr
              ? fmt::format("sent an unknown message type {}", static_cast<unsigned>(type))
              : fmt::format("sent a {} message of {} bytes that is malformed or out of turn", name,
                            bytes)};
}

Status reported(uint32_t code, const std::string& text) {
  if (code == FF_OK) return {};
  const bool known = code < FF_STATUS_COUNT && code != FF_IN_PROGRESS;
  return {known ? static_cast<ff_status>(code) : FF_ERROR_INTERNAL, text.substr(0, kMaxTextBytes)};
}

}  // namespace ff::bootstrap
