// The secret travels in a memfd because every other way shows it: arguments and environment are
// readable in /proc, a file outlives a crash. The memfd is sealed, so no rank can change what
// another reads, and read with pread, so that it may be read often through one shared offset.
#include "ff/run/environment.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

#ifndef MFD_NOEXEC_SEAL  // Linux 6.3; older headers lack the name, older kernels refuse the flag
#define MFD_NOEXEC_SEAL 0x0008U
#endif

extern char** environ;

namespace ff::tools::run {
namespace {

constexpr std::array<std::string_view, 6> kOurs = {
    "FF_RANK", "FF_RANKS", "FF_LOCAL_RANK", "FF_LOCAL_RANKS", "FF_RENDEZVOUS", "FF_SECRET"};

// Shell scripts use the low numbers ("exec 3>log"): a secret there would be closed or, worse, be
// another file. Where ulimit -n is so low that these numbers do not exist, any number will do.
constexpr int kLowestSecretFd = 64;

std::string_view name_of(std::string_view assignment) {
  return assignment.substr(0, assignment.find('='));
}

void fill_random(unsigned char* bytes, size_t count) {
  for (size_t done = 0; done < count;) {
    const ssize_t got = getrandom(bytes + done, count - done, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("cannot get random bytes", errno);
    done += static_cast<size_t>(got);
  }
}

Descriptor make_secret() {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  Descriptor memory(memfd_create("ff-secret", kFlags | MFD_NOEXEC_SEAL));
  if (!memory.valid() && errno == EINVAL) memory = Descriptor(memfd_create("ff-secret", kFlags));
  if (!memory.valid()) fail("cannot make the memfd for the job's secret", errno);
  std::array<unsigned char, kSecretBytes> bytes;
  fill_random(bytes.data(), bytes.size());
  if (pwrite(memory.get(), bytes.data(), bytes.size(), 0) != kSecretBytes)
    fail("cannot write the job's secret", errno);
  if (fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) !=
      0)
    fail("cannot seal the job's secret", errno);
  Descriptor high(fcntl(memory.get(), F_DUPFD_CLOEXEC, kLowestSecretFd));
  return high.valid() ? std::move(high) : std::move(memory);
}

}  // namespace

JobIdentity make_identity() {
  std::array<unsigned char, 16> name;
  fill_random(name.data(), name.size());
  return {fmt::format("name:{:02x}", fmt::join(name, "")), make_secret()};
}

bool is_set_by_launcher(std::string_view variable) {
  return std::find(kOurs.begin(), kOurs.end(), variable) != kOurs.end();
}

std::vector<std::string> environment_of(int rank, const Options& options,
                                        const JobIdentity& identity) {
  std::vector<std::string> result = {
      fmt::format("FF_RANK={}", rank),
      fmt::format("FF_RANKS={}", options.ranks),
      fmt::format("FF_LOCAL_RANK={}", rank),
      fmt::format("FF_LOCAL_RANKS={}", options.ranks),
      fmt::format("FF_RENDEZVOUS={}", identity.rendezvous),
      fmt::format("FF_SECRET=fd:{}", identity.secret.get()),
  };
  const auto has = [&result](std::string_view name) {
    return std::any_of(result.begin(), result.end(),
                       [name](const std::string& set) { return name_of(set) == name; });
  };
  // The last -x of a name wins, then the inherited value.
  for (auto text = options.exports.rbegin(); text != options.exports.rend(); ++text) {
    if (text->find('=') != std::string::npos && !has(name_of(*text))) result.push_back(*text);
  }
  const size_t ours = result.size();
  for (char** inherited = environ; *inherited != nullptr; ++inherited) {
    const std::string_view name = name_of(*inherited);
    const auto end = result.begin() + static_cast<std::ptrdiff_t>(ours);
    if (std::none_of(result.begin(), end,
                     [name](const std::string& set) { return name_of(set) == name; }))
      result.emplace_back(*inherited);
  }
  return result;
}

std::vector<std::string> missing_exports(const Options& options) {
  std::vector<std::string> missing;
  for (const std::string& text : options.exports) {
    if (text.find('=') == std::string::npos && getenv(text.c_str()) == nullptr)
      missing.push_back(text);
  }
  return missing;
}

}  // namespace ff::tools::run
