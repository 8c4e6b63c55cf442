// Ranks as threads of one process; tests/multiprocess/bootstrap_test.cpp has them as processes.
#include "bootstrap/rendezvous.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

namespace ff {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::string fresh_name() {
  static std::atomic<int> count{0};
  return fmt::format("name:rendezvous_test.{}.{}", getpid(), count++);
}

FileDescriptor make_arena(const std::string& text) {
  FileDescriptor fd(memfd_create("arena", MFD_CLOEXEC));
  EXPECT_EQ(write(fd.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  return fd;
}

std::string arena_text(int fd) {
  char text[64] = {};
  return std::string(text, static_cast<size_t>(std::max<ssize_t>(0, pread(fd, text, 64, 0))));
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// The status has this code, and its text all of these parts.
testing::AssertionResult says(const Status& status, ff_status code,
                              std::initializer_list<std::string> parts) {
  if (status.code() != code) {
    return testing::AssertionFailure() << "code " << status.code() << ": " << status.message();
  }
  for (const std::string& part : parts) {
    if (status.message().find(part) == std::string::npos) {
      return testing::AssertionFailure() << "no '" << part << "' in: " << status.message();
    }
  }
  return testing::AssertionSuccess();
}

struct Outcome {
  Status joined, concluded;
  std::vector<Member> members;
};

struct Ranks {
  explicit Ranks(uint32_t n) : options(n), mine(n), outcomes(n) {
    const std::string name = fresh_name();
    for (uint32_t r = 0; r < n; r++) {
      options[r].rank = Rank(r);
      options[r].ranks = n;
      options[r].rendezvous = name;
      options[r].timeout = seconds(20);
    }
  }
  void run() {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < options.size(); i++) {
      threads.emplace_back([this, i] {
        const std::string text = fmt::format("rank {}", options[i].rank.value());
        const FileDescriptor arena = make_arena("arena of " + text);
        auto gathering = Gathering::join(options[i], bytes_of("blob of " + text), arena.get());
        outcomes[i].joined = gathering.status();
        if (!gathering.ok()) return;
        outcomes[i].members = std::move((*gathering)->members());
        outcomes[i].concluded = (*gathering)->conclude(mine[i]);
      });
    }
  }
  std::vector<JoinOptions> options;
  std::vector<Status> mine;
  std::vector<Outcome> outcomes;
};

class Sizes : public testing::TestWithParam<uint32_t> {};

TEST_P(Sizes, EverybodyGetsWhatEverybodyBrought) {
  const uint32_t n = GetParam();
  Ranks ranks(n);
  ranks.run();
  for (uint32_t r = 0; r < n; r++) {
    const Outcome& outcome = ranks.outcomes[r];
    ASSERT_TRUE(outcome.joined.ok()) << outcome.joined.message();
    ASSERT_TRUE(outcome.concluded.ok()) << outcome.concluded.message();
    ASSERT_EQ(outcome.members.size(), n);
    for (uint32_t s = 0; s < n; s++) {
      const Member& member = outcome.members[s];
      EXPECT_EQ(member.rank, Rank(s));
      EXPECT_EQ(member.pid, getpid());
      EXPECT_TRUE(member.pid_visible);
      EXPECT_GT(member.start_time, 0u);
      EXPECT_FALSE(member.cpus.empty());
      EXPECT_FALSE(member.node.empty());
      const std::string blob = fmt::format("blob of rank {}", s);
      EXPECT_TRUE(std::ranges::equal(member.blob, bytes_of(blob)));
      EXPECT_EQ(arena_text(member.arena.get()), fmt::format("arena of rank {}", s));
      const bool next_to = r != s && ((r + 1) % n == s || (s + 1) % n == r);
      EXPECT_EQ(member.life.valid(), next_to) << r << " watches " << s;
      if (member.life.valid()) {
        pollfd polled = {member.life.get(), POLLIN, 0};
        EXPECT_EQ(poll(&polled, 1, 0), 0) << "a living rank's descriptor says nothing";
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Rendezvous, Sizes, testing::Values(1, 2, 3, 4, 7, 16));

TEST(Rendezvous, TheFirstFailureIsEverybodys) {
  Ranks ranks(4);
  ranks.mine[2] = Status(FF_ERROR_RESOURCE, "no room for 64 MiB");
  ranks.run();
  for (const Outcome& outcome : ranks.outcomes) {
    ASSERT_TRUE(outcome.joined.ok()) << outcome.joined.message();
    EXPECT_TRUE(says(outcome.concluded, FF_ERROR_RESOURCE, {"rank 2 (pid", "64 MiB"}));
  }
}

TEST(Rendezvous, AMissingRankIsNamedOnAllThatCame) {
  Ranks ranks(4);
  ranks.options.erase(ranks.options.begin() + 2);
  for (JoinOptions& options : ranks.options) options.timeout = milliseconds(300);
  ranks.run();
  for (size_t i = 0; i < 3; i++) {
    EXPECT_TRUE(says(ranks.outcomes[i].joined, FF_ERROR_UNREACHABLE,
                     {"rank 2 of 4 did not arrive within 0.3 s"}));
  }
}

// A store in memory that keeps its values, as a key-value server does.
Store memory_store() {
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::map<std::string, std::vector<std::byte>> values;
  };
  const auto state = std::make_shared<State>();
  Store store;
  store.set = [state](const std::string& key, std::span<const std::byte> value) {
    const std::lock_guard lock(state->mutex);
    state->values[key].assign(value.begin(), value.end());
    state->changed.notify_all();
    return 0;
  };
  store.get = [state](const std::string& key, std::span<std::byte> value, size_t* bytes,
                      std::chrono::nanoseconds timeout) {
    std::unique_lock lock(state->mutex);
    if (!state->changed.wait_for(lock, timeout, [&] { return state->values.contains(key); })) {
      return ETIMEDOUT;
    }
    const auto& found = state->values[key];
    *bytes = found.size();
    std::ranges::copy(std::span(found).first(std::min(found.size(), value.size())), value.begin());
    return 0;
  };
  return store;
}

void expect_all_ok(const Ranks& ranks) {
  for (const Outcome& outcome : ranks.outcomes) {
    EXPECT_TRUE(outcome.joined.ok()) << outcome.joined.message();
    EXPECT_TRUE(outcome.concluded.ok()) << outcome.concluded.message();
  }
}

TEST(Rendezvous, ByFileWhichIsGoneAfterwards) {
  const std::string path = fmt::format("{}ff_rendezvous_{}", testing::TempDir(), getpid());
  for (int round = 0; round < 3; round++) {
    Ranks ranks(3);
    for (JoinOptions& options : ranks.options) options.rendezvous = "file:" + path;
    ranks.run();
    expect_all_ok(ranks);
    EXPECT_NE(access(path.c_str(), F_OK), 0);
  }
}

TEST(Rendezvous, ByStoreAgainAndAgain) {
  const Store store = memory_store();
  for (int round = 0; round < 3; round++) {
    Ranks ranks(3);
    for (JoinOptions& options : ranks.options) options.rendezvous = store;
    ranks.run();
    expect_all_ok(ranks);
  }
}

TEST(Rendezvous, ByIdWithItsOwnSecret) {
  const auto id = create_rendezvous_id();
  ASSERT_TRUE(id.ok());
  Ranks ranks(3);
  for (JoinOptions& options : ranks.options) options.rendezvous = *id;
  ranks.run();
  expect_all_ok(ranks);
}

}  // namespace
}  // namespace ff
