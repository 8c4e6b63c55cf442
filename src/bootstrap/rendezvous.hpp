// How the ranks of a group find each other on one host, and agree that all of them can go on.
//
// join() returns when every rank has arrived, with what each brought: a blob, the descriptor of its
// shared memory, and a life descriptor of the two neighbours. The caller maps and checks what it
// needs, then conclude() makes the second agreement: either it succeeds on all ranks, or all get
// the same error, which names the rank that failed. docs/design/bootstrap.md has the protocol.
//
// Whatever goes wrong, join() and conclude() return by their deadlines, leave no socket, file,
// thread or process behind, and say rendezvous, rank, elapsed time and what to do.
#pragma once
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/file_descriptor.hpp"
#include "base/ids.hpp"
#include "base/status.hpp"
#include "bootstrap/fork_guard.hpp"

namespace ff {

// A rendezvous that the caller brings: ff_store as two callables. Both return 0 or an errno; `get`
// waits for the key for at most `timeout`, writes at most value.size() bytes, then the length
// found.
struct Store {
  std::function<int(const std::string& key, std::span<const std::byte> value)> set;
  std::function<int(const std::string& key, std::span<std::byte> value, size_t* bytes,
                    std::chrono::nanoseconds timeout)>
      get;
};

// ff_id: 64 random bytes that name the group, then 64 that are its secret.
using RendezvousId = std::array<std::byte, 128>;
Result<RendezvousId> create_rendezvous_id();

struct JoinOptions {
  Rank rank;
  uint32_t ranks = 1;
  // "name:TEXT", "file:/path", a store or an id.
  std::variant<std::string, Store, RendezvousId> rendezvous;
  std::string secret;           // empty: none. Joined with an id's own
  std::string group = "world";  // must be equal on all ranks; appears in logs and errors
  std::chrono::nanoseconds timeout =
      std::chrono::seconds(60);  // of join() and of conclude(), each; negative: no limit
  // Keeps apart groups that form at the same time from one rendezvous, in several threads; must be
  // equal on all ranks. Groups made one after the other need none: rank 0 closes the door of one
  // before any rank leaves it.
  uint64_t ordinal = 0;
  std::string host;       // empty: the host's name
  std::string node;       // identity of the node (FF_NODE); empty: the kernel's boot id
  bool try_pidfd = true;  // false: use the pipe that stands in for a pidfd (tests)
};

struct Member {
  Rank rank;
  int64_t pid = 0;           // as seen by this process where it can know, else as it calls itself
  bool pid_visible = false;  // whether `pid` is a number that this process could use
  uint64_t start_time = 0;   // clock ticks after boot; 0 = unknown
  std::string host;
  std::string node;
  std::vector<uint32_t> cpus;  // those it may run on, ascending
  std::vector<std::byte> blob;
  FileDescriptor arena;  // for every rank, also this one (a duplicate)
  // Of ranks r-1 and r+1 (mod n) only: POLLIN or POLLHUP once that process is gone. With a pidfd it
  // is that, but use nothing except poll: it may be a pipe.
  FileDescriptor life;
};

namespace bootstrap {
class Side;
struct Party;
}  // namespace bootstrap

// One rank's seat while the group forms. Not thread-safe; ranks may be threads of one process.
class Gathering {
 public:
  // Blocks until all ranks have arrived. `arena_fd` is borrowed until join() returns; `blob` holds
  // at most 32 KiB.
  //   FF_ERROR_ARGUMENT     two processes claim one rank, sizes, names, secrets or versions differ
  //   FF_ERROR_UNREACHABLE  ranks (named) did not arrive in time
  //   FF_ERROR_PEER_LOST    a rank (named) died meanwhile
  static Result<std::unique_ptr<Gathering>> join(const JoinOptions& options,
                                                 std::span<const std::byte> blob, int arena_fd);
  ~Gathering();  // without conclude(): the others learn that this rank left
  Gathering(const Gathering&) = delete;
  Gathering& operator=(const Gathering&) = delete;

  std::vector<Member>& members() { return members_; }  // by rank; the caller may move out of it
  const std::string& place() const;                    // the rendezvous in words, for messages

  // Blocks until every rank has called it. FF_OK if all passed FF_OK; else the error of the first
  // that did not, with its name, on all. All connections are closed then.
  Status conclude(const Status& mine);

  // To be kept open as long as the communicator lives: where there is no pidfd, the others take its
  // closing for this process's death. Invalid, and of no importance, where a pidfd does that.
  bootstrap::GuardedDescriptor take_life_line();

 private:
  Gathering();
  std::string where() const;

  std::unique_ptr<bootstrap::Party> party_;
  std::unique_ptr<bootstrap::Side> side_;
  std::vector<Member> members_;
};

}  // namespace ff
