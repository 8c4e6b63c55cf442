#include "bootstrap/entry.hpp"

#include <fmt/format.h>

#include <charconv>

#include "bootstrap/authenticate.hpp"
#include "topology/detect/node_facts.hpp"
#include "topology/detect/process.hpp"

namespace ff::bootstrap {
namespace {

constexpr std::string_view kTitle = "fireflyer rendezvous 1";
constexpr std::string_view kSocketPrefix = "fireflyer/";
constexpr size_t kMaxSocketName = 100;  // sun_path has 108 bytes

// Takes "key value\n" off the front.
bool take_line(std::string_view& text, std::string_view key, std::string_view& value) {
  const size_t end = text.find('\n');
  if (end == std::string_view::npos || !text.starts_with(key)) return false;
  value = text.substr(key.size(), end - key.size());
  text.remove_prefix(end + 1);
  return !value.empty() && value.size() <= 255;
}

template <class Integer>
bool to_number(std::string_view text, Integer& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Result<Entry> own_entry(std::string socket) {
  FF_ASSIGN_OR_RETURN(const Nonce nonce, fresh_nonce());
  Entry entry;
  for (size_t i = 0; i < 8; i++)
    entry.run += fmt::format("{:02x}", std::to_integer<unsigned>(nonce[i]));
  entry.boot = boot_id("/");
  entry.host = host_name();
  entry.pid = own_pid("/");  // the number that a reader of this /proc can look up
  const Result<ProcessFacts> self = read_process("/", entry.pid);
  entry.start = self.ok() ? self->start_time : 0;
  entry.socket = std::move(socket);
  return entry;
}

std::string format_entry(const Entry& entry) {
  return fmt::format("{}\nrun {}\nboot {}\nhost {}\npid {}\nstart {}\nsocket {}\n", kTitle,
                     entry.run, entry.boot, entry.host, entry.pid, entry.start, entry.socket);
}

Result<Entry> parse_entry(std::string_view text) {
  std::string_view run, boot, host, pid, start, socket, rest = text;
  Entry entry;
  const bool good = text.size() <= Entry::kMaxBytes && text.starts_with(kTitle) &&
                    take_line(rest, "fireflyer rendezvous ", run) && take_line(rest, "run ", run) &&
                    take_line(rest, "boot ", boot) && take_line(rest, "host ", host) &&
                    take_line(rest, "pid ", pid) && take_line(rest, "start ", start) &&
                    take_line(rest, "socket ", socket) && rest.empty() &&
                    to_number(pid, entry.pid) && to_number(start, entry.start) &&
                    socket.starts_with(kSocketPrefix) && socket.size() <= kMaxSocketName;
  if (!good) return Status(FF_ERROR_ARGUMENT, "this is no rendezvous entry of this version");
  entry.run = run;
  entry.boot = boot;
  entry.host = host;
  entry.socket = socket;
  return entry;
}

std::string describe_entry(const Entry& entry) {
  std::string fate;
  if (entry.boot != boot_id("/")) {
    fate = ", written on another host or before a reboot";
  } else if (const auto owner = read_process("/", entry.pid);
             !owner.ok() || owner->start_time != entry.start) {
    fate = ", whose process is gone";
  }
  return fmt::format("run {} of pid {} on {}{}", entry.run, entry.pid, entry.host, fate);
}

}  // namespace ff::bootstrap
