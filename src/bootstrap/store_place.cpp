#include <errno.h>
#include <fmt/format.h>

#include <array>
#include <cstring>

#include "bootstrap/channel.hpp"
#include "bootstrap/meeting_place.hpp"
#include "topology/detect/node_facts.hpp"

namespace ff::bootstrap {
namespace {

using std::chrono::milliseconds;

constexpr auto kGlance = milliseconds(1);      // for a key that is there or is not
constexpr auto kLongLook = milliseconds(500);  // then look at the deadline again

Status store_failed(const char* what, const std::string& key, int error) {
  return {FF_ERROR_SYSTEM, fmt::format("the caller's store failed to {} '{}': {} (errno {})", what,
                                       key, strerror(error), error)};
}

}  // namespace

StorePlace::StorePlace(Store store, uint64_t ordinal)
    : MeetingPlace(fmt::format("store, key fireflyer/rendezvous/{}", ordinal)),
      store_(std::move(store)),
      key_(fmt::format("fireflyer/rendezvous/{}", ordinal)) {}

Result<std::optional<Entry>> StorePlace::look(std::chrono::nanoseconds patience) {
  std::array<std::byte, Entry::kMaxBytes> value;
  size_t bytes = value.size();
  switch (const int error = store_.get(key_, value, &bytes, patience); error) {
    case 0:
      break;
    case EINTR:
    case EAGAIN:
    case ENOENT:
    case ETIMEDOUT:
      seen_ = fmt::format("the store has no '{}'", key_);
      return std::optional<Entry>();
    default:
      return store_failed("get", key_, error);
  }
  const std::string_view text(reinterpret_cast<const char*>(value.data()),
                              std::min(bytes, value.size()));
  const Result<Entry> entry = parse_entry(text);
  if (!entry.ok()) {
    seen_ = fmt::format("the store's '{}' is no rendezvous entry", key_);
    return std::optional<Entry>();
  }
  seen_ = fmt::format(
      "the store's '{}' holds only the entry of {}, and nobody listens at its "
      "socket",
      key_, describe_entry(*entry));
  return std::optional<Entry>(*entry);
}

// An entry that is there names the socket, whoever wrote it: if its owner still listens, the kernel
// says so, and if not, the name is as good as another.
Result<std::string> StorePlace::name_to_open() {
  FF_ASSIGN_OR_RETURN(const std::optional<Entry> old, look(kGlance));
  if (old.has_value() && old->boot == boot_id("/")) {
    name_ = old->socket;
  } else if (name_.empty()) {
    FF_ASSIGN_OR_RETURN(const Entry fresh, own_entry(""));
    name_ = socket_name("store:" + fresh.run, 0);
  }
  return name_;
}

Result<bool> StorePlace::publish() {
  FF_ASSIGN_OR_RETURN(const Entry mine, own_entry(name_));
  const std::string text = format_entry(mine);
  if (const int error = store_.set(key_, std::as_bytes(std::span(text))); error != 0) {
    return store_failed("set", key_, error);
  }
  // A store has no "set if absent": look who came last.
  FF_ASSIGN_OR_RETURN(const std::optional<Entry> now, look(kGlance));
  return !now.has_value() || now->run == mine.run;
}

Result<std::optional<std::string>> StorePlace::find(Time deadline) {
  const auto left = std::max<std::chrono::nanoseconds>(deadline - Clock::now(), kGlance);
  FF_ASSIGN_OR_RETURN(const std::optional<Entry> entry,
                      look(std::min<std::chrono::nanoseconds>(left, kLongLook)));
  if (!entry.has_value() || entry->boot != boot_id("/")) return std::optional<std::string>();
  return std::optional<std::string>(entry->socket);
}

}  // namespace ff::bootstrap
