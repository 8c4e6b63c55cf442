// A rank that is killed, frozen, gone or wrong: every survivor gets the same error, soon, and
// nothing is left behind.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <random>

#include "group.hpp"

namespace ff::testing_tools {
namespace {

int trials(int standard) {
  const char* wanted = std::getenv("FF_TEST_TRIALS");
  return wanted == nullptr ? standard : std::atoi(wanted);
}

// Threads, descriptors and shared mappings of this process.
std::string belongings() {
  size_t threads = 0, descriptors = 0, mappings = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    (void)entry;
    threads++;
  }
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    (void)entry;
    descriptors++;
  }
  FILE* maps = std::fopen("/proc/self/maps", "r");
  char line[512];
  while (std::fgets(line, sizeof line, maps) != nullptr) {
    if (std::string(line).find("memfd:fireflyer") != std::string::npos) mappings++;
  }
  std::fclose(maps);
  return fmt::format("{} threads, {} descriptors, {} mappings", threads, descriptors, mappings);
}

// Loops all-reduces until one fails; says when, and what the failure is.
std::string loop_until_failure(ff_comm* comm, size_t count) {
  std::vector<float> data(count, 1.0f);
  for (;;) {
    const ff_status status =
        ff_all_reduce(comm, nullptr, data.data(), count, FF_FLOAT32, FF_MAX, nullptr, nullptr);
    if (status != FF_OK) break;
  }
  return fmt::format("{:.6f} {}", seconds(), failure_line(comm));
}

struct Verdict {
  double when = 0;
  std::string text;
};
Verdict parse(const std::string& output) {
  const size_t space = output.find(' ');
  if (space == std::string::npos) return {0, output};
  return {std::atof(output.c_str()), output.substr(space + 1)};
}

class Killed : public testing::TestWithParam<size_t> {};

TEST_P(Killed, SurvivorsNameTheDeadRankWithinASecond) {
  std::mt19937 random(7);
  for (int trial = 0; trial < trials(15); trial++) {
    std::vector<Child> ranks =
        start_group(4, {.call_timeout = 30}, [&](Child& self, ff_comm* comm, int) {
          self.arrive();
          return loop_until_failure(comm, GetParam() / sizeof(float));
        });
    for (Child& rank : ranks) rank.await_arrival();
    usleep(static_cast<useconds_t>(random() % 100'000));  // somewhere inside a call
    const size_t victim = random() % 4;
    const double killed_at = seconds();
    ranks[victim].send_signal(SIGKILL);
    for (Child& rank : ranks) rank.wait();
    for (size_t r = 0; r < 4; r++) {
      if (r == victim) continue;
      const Verdict verdict = parse(ranks[r].output());
      EXPECT_EQ(
          verdict.text.rfind(
              fmt::format("FF_ERROR_PEER_LOST rank {} pid {}:", victim, ranks[victim].pid()), 0),
          0u)
          << "rank " << r << " said: " << ranks[r].output();
      EXPECT_LT(verdict.when - killed_at, 1.0) << "rank " << r;
      EXPECT_EQ(ranks[r].status(), 0);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(, Killed, testing::Values(size_t{64} << 20, size_t{64}));

TEST(Failure, TwoKilledAtOnceAllNameTheSameOne) {
  std::mt19937 random(11);
  for (int trial = 0; trial < trials(10); trial++) {
    std::vector<Child> ranks =
        start_group(5, {.call_timeout = 30}, [](Child& self, ff_comm* comm, int) {
          self.arrive();
          return loop_until_failure(comm, 1 << 18);
        });
    for (Child& rank : ranks) rank.await_arrival();
    usleep(static_cast<useconds_t>(random() % 50'000));
    ranks[1].send_signal(SIGKILL);
    ranks[3].send_signal(SIGKILL);
    for (Child& rank : ranks) rank.wait();
    const std::string first = parse(ranks[0].output()).text;
    EXPECT_EQ(first.rfind("FF_ERROR_PEER_LOST rank ", 0), 0u) << first;
    EXPECT_EQ(parse(ranks[2].output()).text, first);
    EXPECT_EQ(parse(ranks[4].output()).text, first);
  }
}

TEST(Failure, AFrozenRankIsNamedAtTheTimeout) {
  std::vector<Child> ranks =
      start_group(3, {.call_timeout = 1}, [](Child& self, ff_comm* comm, int) {
        self.arrive();
        return loop_until_failure(comm, 1 << 18);
      });
  for (Child& rank : ranks) rank.await_arrival();
  usleep(50'000);
  const double frozen_at = seconds();
  ranks[1].send_signal(SIGSTOP);
  ranks[0].wait();
  ranks[2].wait();
  for (const size_t r : {0, 2}) {
    const Verdict verdict = parse(ranks[r].output());
    EXPECT_EQ(verdict.text.rfind("FF_ERROR_TIMEOUT rank 1 ", 0), 0u) << ranks[r].output();
    EXPECT_LT(verdict.when - frozen_at, 3.0);
    EXPECT_GT(verdict.when - frozen_at, 0.9);
  }
  // Woken again, it learns what the others decided.
  ranks[1].send_signal(SIGCONT);
  ranks[1].wait();
  EXPECT_EQ(parse(ranks[1].output()).text.rfind("FF_ERROR_TIMEOUT rank 1 ", 0), 0u)
      << ranks[1].output();
}

TEST(Failure, ATimeoutFiresEvenIfNobodyWaits) {
  std::vector<Child> ranks =
      start_group(2, {.call_timeout = 30}, [](Child& self, ff_comm* comm, int rank) -> std::string {
        if (rank == 1) {  // never calls
          self.arrive();
          while (failure_line(comm).rfind("FF_OK", 0) == 0) usleep(10'000);
          return failure_line(comm);
        }
        float x = 1;
        ff_call call = ff_call_init();
        call.timeout_ns = 500'000'000;
        call.name = "layer7.weight";
        ff_operation* operation = nullptr;
        if (ff_all_reduce(comm, nullptr, &x, 1, FF_FLOAT32, FF_SUM, &call, &operation) != FF_OK) {
          return std::string(ff_last_error());
        }
        const double began = seconds();
        // Only looks; does not drive.
        ff_status status = FF_OK;
        static volatile sig_atomic_t called = 0;
        if (ff_operation_on_done(
                operation, [](void*, ff_status s) { called = static_cast<int>(s); }, nullptr) !=
            FF_OK) {
          return std::string(ff_last_error());
        }
        while (called == 0 && seconds() - began < 10) usleep(1000);
        const double took = seconds() - began;
        status = ff_operation_test(operation);
        std::string said =
            fmt::format("{} {} {}", ff_status_name(status),
                        took > 0.4 && took < 3 ? "in time" : "late", ff_last_error());
        ff_operation_release(operation);
        // The next use raises the stored error.
        if (ff_all_reduce(comm, nullptr, &x, 1, FF_FLOAT32, FF_SUM, nullptr, nullptr) !=
            FF_ERROR_TIMEOUT) {
          said += " and the next call did not fail";
        }
        return said;
      });
  ranks[0].wait();
  const std::string& said = ranks[0].output();
  EXPECT_EQ(said.rfind("FF_ERROR_TIMEOUT in time rank 1 ", 0), 0u) << said;
  EXPECT_NE(said.find("has not made this call"), std::string::npos) << said;
  EXPECT_NE(said.find("layer7.weight"), std::string::npos) << said;
  EXPECT_EQ(said.find("did not fail"), std::string::npos) << said;
  ranks[1].send_signal(SIGKILL);
}

struct Wrong {
  const char* what;
  size_t count;
  ff_type type;
  ff_reduce_op op;
  const char* says;
};
class Mismatch : public testing::TestWithParam<Wrong> {};

TEST_P(Mismatch, EveryRankGetsTheSameErrorThatNamesTheOddOne) {
  for (const int n : {2, 3}) {
    std::vector<Child> ranks =
        start_group(n, {.call_timeout = 10}, [&](Child&, ff_comm* comm, int rank) -> std::string {
          std::vector<double> data(1 << 20);
          std::string before = sum_and_check(comm, 100, 0);
          if (!before.empty()) return before;
          const bool odd = rank == n - 1;
          const ff_status status =
              ff_all_reduce(comm, nullptr, data.data(), odd ? GetParam().count : 8,
                            odd ? GetParam().type : FF_FLOAT32,
                            odd ? GetParam().op : ff_reduce_op{FF_SUM}, nullptr, nullptr);
          return fmt::format("{} {}", ff_status_name(status), failure_line(comm));
        });
    for (Child& rank : ranks) rank.wait();
    for (const Child& rank : ranks) {
      EXPECT_EQ(rank.output(), ranks[0].output());
      EXPECT_EQ(rank.output().rfind(
                    fmt::format("FF_ERROR_MISMATCH FF_ERROR_MISMATCH rank {} pid {}:", n - 1,
                                ranks.back().pid()),
                    0),
                0u)
          << rank.output();
      EXPECT_NE(rank.output().find(GetParam().says), std::string::npos) << rank.output();
      EXPECT_NE(rank.output().find("all_reduce of 8 float32, sum"), std::string::npos)
          << rank.output();
    }
  }
}
INSTANTIATE_TEST_SUITE_P(
    , Mismatch,
    testing::Values(Wrong{"count", 10, FF_FLOAT32, FF_SUM, "all_reduce of 10 float32, sum"},
                    Wrong{"zero", 0, FF_FLOAT32, FF_SUM, "all_reduce of 0 float32, sum"},
                    Wrong{"large", 1 << 20, FF_FLOAT32, FF_SUM, "all_reduce of 1048576 float32"},
                    Wrong{"type", 16, FF_FLOAT16, FF_SUM, "all_reduce of 16 float16, sum"},
                    Wrong{"op", 8, FF_FLOAT32, FF_MAX, "all_reduce of 8 float32, max"}),
    [](const auto& test) { return std::string(test.param.what); });

TEST(Failure, ARankThatLeavesEarlyIsMissed) {
  std::vector<Child> ranks =
      start_group(3, {.call_timeout = 20}, [](Child&, ff_comm* comm, int rank) -> std::string {
        const std::string first = sum_and_check(comm, 1000, 1);
        if (rank == 2 || !first.empty()) return first;
        return sum_and_check(comm, 1000, 2);
      });
  for (Child& rank : ranks) rank.wait();
  EXPECT_EQ(ranks[2].output(), "");
  for (const size_t r : {0, 1}) {
    EXPECT_NE(ranks[r].output().find("rank 2 "), std::string::npos) << ranks[r].output();
  }
}

TEST(Failure, AbortReachesEveryRankWithItsReason) {
  std::vector<Child> ranks =
      start_group(3, {.call_timeout = 20}, [](Child&, ff_comm* comm, int rank) -> std::string {
        if (rank == 1) {
          if (ff_comm_abort(comm, "loss is NaN") != FF_OK) return ff_last_error();
        }
        float x = 1;
        const ff_status status =
            ff_all_reduce(comm, nullptr, &x, 1, FF_FLOAT32, FF_SUM, nullptr, nullptr);
        return fmt::format("{} {}", ff_status_name(status), ff_last_error());
      });
  for (Child& rank : ranks) rank.wait();
  for (const Child& rank : ranks) {
    EXPECT_EQ(rank.output().rfind("FF_ERROR_ABORTED", 0), 0u) << rank.output();
    EXPECT_NE(rank.output().find("loss is NaN"), std::string::npos) << rank.output();
  }
}

TEST(Failure, NothingIsLeftAfterAPeerDied) {
  std::vector<Child> ranks;
  ranks.reserve(3);
  const std::string name = fmt::format("left-{}", getpid());
  for (int rank = 0; rank < 3; rank++) {
    ranks.emplace_back([&, rank](Child& self) -> std::string {
      // The helper thread, doorbell and epoll of the process come with its first communicator.
      ff_comm* comm = nullptr;
      if (join(name + "a", rank, 3, {}, &comm) != FF_OK) return ff_last_error();
      std::string wrong = sum_and_check(comm, 1 << 20, 0);
      if (ff_comm_destroy(comm) != FF_OK || !wrong.empty()) return "first group: " + wrong;
      const std::string before = belongings();
      if (join(name + "b", rank, 3, {}, &comm) != FF_OK) return ff_last_error();
      self.arrive();
      loop_until_failure(comm, 1 << 20);
      if (ff_comm_destroy(comm) != FF_OK) return ff_last_error();
      const std::string after = belongings();
      return before == after ? "clean" : before + " became " + after;
    });
  }
  for (Child& rank : ranks) rank.await_arrival();
  ranks[2].send_signal(SIGKILL);
  ranks[0].wait();
  ranks[1].wait();
  EXPECT_EQ(ranks[0].output(), "clean");
  EXPECT_EQ(ranks[1].output(), "clean");
}

TEST(Failure, AForkedChildIsToldThatItHasNoCommunicator) {
  std::vector<Child> ranks = start_group(2, {}, [](Child&, ff_comm* comm, int) -> std::string {
    const std::string wrong = sum_and_check(comm, 100, 0);
    if (!wrong.empty()) return wrong;
    Child grandchild([&](Child&) -> std::string {
      float x = 0;
      const ff_status status =
          ff_all_reduce(comm, nullptr, &x, 1, FF_FLOAT32, FF_SUM, nullptr, nullptr);
      return fmt::format("{} {}", ff_status_name(status), ff_last_error());
    });
    grandchild.wait();
    // The parent goes on as before.
    return grandchild.output() + sum_and_check(comm, 100, 1);
  });
  for (Child& rank : ranks) {
    rank.wait();
    EXPECT_EQ(rank.output().rfind("FF_ERROR_STATE ff_all_reduce: this process was forked", 0), 0u)
        << rank.output();
    EXPECT_EQ(rank.output().find("element"), std::string::npos) << rank.output();
  }
}

}  // namespace
}  // namespace ff::testing_tools
