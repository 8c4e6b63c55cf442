#include "bootstrap/meeting_place.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bootstrap/authenticate.hpp"
#include "bootstrap/channel.hpp"

namespace ff::bootstrap {
namespace {

Result<Venue> venue_of(const JoinOptions& options, const std::string& words) {
  constexpr size_t kPrefix = 5;
  Venue venue;
  if (words.starts_with("name:") && words.size() > kPrefix) {
    venue.place = std::make_unique<NamedPlace>(words, words, options.ordinal);
    return venue;
  }
  if (words.starts_with("file:/")) {
    venue.place = std::make_unique<FilePlace>(words, words.substr(kPrefix), options.ordinal);
    return venue;
  }
  return Status(FF_ERROR_ARGUMENT,
                fmt::format("'{}' is no rendezvous; write name:TEXT (processes of one user on one "
                            "host) or file:/absolute/path",
                            words));
}

Result<Venue> venue_of(const JoinOptions& options, const Store& store) {
  if (!store.set || !store.get) {
    return Status(FF_ERROR_ARGUMENT, "a store needs both functions, set and get");
  }
  Venue venue;
  venue.place = std::make_unique<StorePlace>(store, options.ordinal);
  return venue;
}

Result<Venue> venue_of(const JoinOptions& options, const RendezvousId& id) {
  const std::string text(reinterpret_cast<const char*>(id.data()), id.size());
  const std::string name = text.substr(0, id.size() / 2);
  Venue venue;
  venue.place =
      std::make_unique<NamedPlace>("id:" + fingerprint(name, 8), "id:" + name, options.ordinal);
  venue.secret = text.substr(id.size() / 2);
  return venue;
}

}  // namespace

NamedPlace::NamedPlace(std::string words, const std::string& text, uint64_t ordinal)
    : MeetingPlace(std::move(words)), name_(socket_name(text, ordinal)) {}

Result<Venue> find_venue(const JoinOptions& options) {
  return std::visit([&](const auto& rendezvous) { return venue_of(options, rendezvous); },
                    options.rendezvous);
}

}  // namespace ff::bootstrap

namespace ff {

Result<RendezvousId> create_rendezvous_id() {
  RendezvousId id;
  for (size_t filled = 0; filled < id.size();) {
    FF_ASSIGN_OR_RETURN(const bootstrap::Nonce part, bootstrap::fresh_nonce());
    std::ranges::copy(part, id.begin() + static_cast<std::ptrdiff_t>(filled));
    filled += part.size();
  }
  return id;
}

}  // namespace ff
