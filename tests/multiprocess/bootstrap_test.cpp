// The bootstrap with ranks as processes: how it goes, how it goes wrong, and who hears what.
#include <errno.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "bootstrap_ranks.hpp"

namespace ff::testing_tools {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class Group {
 public:
  void add(const JoinOptions& options,
           const std::function<std::string(std::vector<Member>&)>& then = {}) {
    add_child([&](Child&) { return join_and_report(options, then); });
  }
  void add_child(const std::function<std::string(Child&)>& body) { children_.emplace_back(body); }
  std::vector<Report> reports() {
    std::vector<Report> reports;
    for (Child& child : children_) reports.push_back(report_of(child));
    return reports;
  }
  Child& operator[](size_t i) { return children_[i]; }
  std::string pid(size_t i) const { return fmt::format("pid {}", children_[i].pid()); }

 private:
  std::vector<Child> children_;
};

// Waits until the member's process is gone; an empty text if that is within 2 s.
std::string watch_die(const Member& member) {
  pollfd polled = {member.life.get(), POLLIN, 0};
  return poll(&polled, 1, 2000) == 1 ? "" : "nothing told of the death";
}

struct Shape {
  uint32_t ranks;
  bool try_pidfd;
};
class Shapes : public testing::TestWithParam<Shape> {};

TEST_P(Shapes, EverybodyGetsWhatEverybodyBrought) {
  const std::string name = fresh_rendezvous();
  Group group;
  for (uint32_t r = 0; r < GetParam().ranks; r++) {
    JoinOptions options = options_of(r, GetParam().ranks, name);
    options.try_pidfd = GetParam().try_pidfd;
    // All stay until the others have looked at their descriptors: a barrier of deaths, highest
    // rank first.
    group.add(options, [r, n = GetParam().ranks](std::vector<Member>& members) {
      return r + 1 < n ? watch_die(members[r + 1]) : "";
    });
  }
  for (const Report& report : group.reports()) EXPECT_TRUE(says(report, FF_OK, {}));
}
INSTANTIATE_TEST_SUITE_P(Bootstrap, Shapes,
                         testing::Values(Shape{1, true}, Shape{2, true}, Shape{2, false},
                                         Shape{3, true}, Shape{4, false}, Shape{7, true},
                                         Shape{16, false}, Shape{64, true}),
                         [](const testing::TestParamInfo<Shape>& shape) {
                           return fmt::format("{}_{}", shape.param.ranks,
                                              shape.param.try_pidfd ? "pidfd" : "pipe");
                         });

class Deaths : public testing::TestWithParam<bool> {};

// The killed rank has a child that lives on: its descriptors must not count as the rank's life.
TEST_P(Deaths, NeighboursSeeAKilledRankThatLeavesAChild) {
  const std::string name = fresh_rendezvous();
  Group group;
  for (uint32_t r = 0; r < 3; r++) {
    JoinOptions options = options_of(r, 3, name);
    options.try_pidfd = GetParam();
    if (r != 1) {
      group.add(options, [](std::vector<Member>& members) { return watch_die(members[1]); });
      continue;
    }
    group.add_child([&](Child& self) {
      return join_and_report(options, [&](std::vector<Member>&) {
        if (fork() == 0) {
          self.forget_parent();
          alarm(3);  // ends it
          pause();
          _exit(0);
        }
        self.arrive();
        pause();
        return std::string();
      });
    });
  }
  group[1].await_arrival();
  group[1].send_signal(SIGKILL);
  const std::vector<Report> reports = group.reports();
  for (const size_t r : {0U, 2U}) {
    EXPECT_TRUE(says(reports[r], FF_OK, {}));
    EXPECT_LT(reports[r].seconds, 1.9);
  }
}
INSTANTIATE_TEST_SUITE_P(Bootstrap, Deaths, testing::Bool());

// ---- wrong use ----------------------------------------------------------------------------------

class Claims : public testing::TestWithParam<uint32_t> {};

TEST_P(Claims, TwoProcessesWithOneRankAreNamedToAll) {
  const uint32_t claimed = GetParam();
  const std::string name = fresh_rendezvous();
  Group group;  // of 4, without rank 3, so that it cannot be complete before both claim
  for (const uint32_t r : {0U, 1U, 2U, claimed}) group.add(options_of(r, 4, name));
  for (const Report& report : group.reports()) {
    EXPECT_TRUE(says(report, FF_ERROR_ARGUMENT,
                     {fmt::format("two processes claim rank {}: ", claimed), group.pid(claimed),
                      group.pid(3), "FF_RANK"}));
    EXPECT_LT(report.seconds, 10);
  }
}
INSTANTIATE_TEST_SUITE_P(Bootstrap, Claims, testing::Values(0, 1));

TEST(Bootstrap, ALatecomerHearsOfTheFailure) {
  const std::string name = fresh_rendezvous();
  Group group;
  for (const uint32_t r : {0U, 1U, 1U}) group.add(options_of(r, 3, name));
  group[1].wait();  // rank 0 has failed
  group.add(options_of(2, 3, name));
  const std::vector<Report> reports = group.reports();
  EXPECT_TRUE(says(reports[3], FF_ERROR_ARGUMENT, {"two processes claim rank 1"}));
  EXPECT_LT(reports[3].seconds, 2);
}

struct Secrets {
  std::string good, bad, difference;
};
class WrongSecret : public testing::TestWithParam<Secrets> {};

TEST_P(WrongSecret, IsToldAtOnceAndTheOthersAtTheDeadline) {
  const std::string name = fresh_rendezvous();
  Group group;
  for (uint32_t r = 0; r < 3; r++) {
    JoinOptions options = options_of(r, 3, name, milliseconds(1500));
    options.secret = r == 1 ? GetParam().bad : GetParam().good;
    group.add(options);
  }
  const std::vector<Report> reports = group.reports();
  EXPECT_TRUE(says(reports[1], FF_ERROR_ARGUMENT, {"turned this process away", "FF_SECRET"}));
  EXPECT_TRUE(says(reports[1], FF_ERROR_ARGUMENT, {GetParam().difference}));
  EXPECT_LT(reports[1].seconds, 1.2);
  for (const size_t r : {0U, 2U}) {
    EXPECT_TRUE(
        says(reports[r], FF_ERROR_UNREACHABLE,
             {"rank 1 of 3 did not arrive", "1 stranger was turned away: last " + group.pid(1) +
                                                ": asked for rank 1 with the wrong secret"}));
  }
  for (const Report& report : reports) EXPECT_EQ(report.text.find("sesame"), std::string::npos);
}
INSTANTIATE_TEST_SUITE_P(
    Bootstrap, WrongSecret,
    testing::Values(Secrets{"open sesame", "close sesame", "both have a secret, but not the same"},
                    Secrets{"open sesame", "", "this process has none, rank 0 has a secret"},
                    Secrets{"", "open sesame", "this process has a secret, rank 0 has none"}));

TEST(Bootstrap, DifferentSizesAreNamed) {
  const std::string name = fresh_rendezvous();
  Group group;
  group.add(options_of(0, 3, name));
  group.add(options_of(1, 4, name));
  group.add(options_of(2, 3, name));
  for (const Report& report : group.reports()) {
    EXPECT_TRUE(says(report, FF_ERROR_ARGUMENT,
                     {"rank 1 (" + group.pid(1), "says that the group has 4 ranks",
                      "rank 0 (" + group.pid(0), "says 3"}));
  }
}

TEST(Bootstrap, DifferentGroupsAreNamed) {
  const std::string name = fresh_rendezvous();
  Group group;
  for (uint32_t r = 0; r < 2; r++) {
    JoinOptions options = options_of(r, 2, name);
    options.group = r == 0 ? "data" : "pipeline";
    group.add(options);
  }
  for (const Report& report : group.reports()) {
    EXPECT_TRUE(says(report, FF_ERROR_ARGUMENT, {"group 'pipeline'", "group 'data'"}));
  }
}

// ---- absence and death --------------------------------------------------------------------------

TEST(Bootstrap, MissingRanksAreNamedOnAllThatCame) {
  const std::string name = fresh_rendezvous();
  Group group;
  for (const uint32_t r : {0U, 1U, 5U}) group.add(options_of(r, 8, name, milliseconds(500)));
  for (const Report& report : group.reports()) {
    EXPECT_TRUE(says(report, FF_ERROR_UNREACHABLE,
                     {"ranks 2-4, 6, 7 of 8 did not arrive within 0.5 s", name}));
  }
}

TEST(Bootstrap, WhoseDeadlineComesFirstHearsWhoIsMissing) {
  const std::string name = fresh_rendezvous();
  Group group;
  group.add(options_of(0, 4, name, seconds(60)));
  group.add(options_of(1, 4, name, milliseconds(300)));
  group.add(options_of(2, 4, name, seconds(60)));
  for (const Report& report : group.reports()) {
    EXPECT_TRUE(says(report, FF_ERROR_UNREACHABLE, {"rank 3 of 4 did not arrive"}));
    EXPECT_LT(report.seconds, 10);
  }
}

TEST(Bootstrap, WithoutRank0TheRendezvousIsNamed) {
  const std::string name = fresh_rendezvous();
  Group group;
  for (const uint32_t r : {1U, 2U}) group.add(options_of(r, 3, name, milliseconds(300)));
  for (const Report& report : group.reports()) {
    EXPECT_TRUE(says(report, FF_ERROR_UNREACHABLE,
                     {"rank 0 has not opened the rendezvous", name, "after 0.3 s"}));
  }
}

class Killed : public testing::TestWithParam<uint32_t> {};

TEST_P(Killed, WhileOthersAreStillMissing) {
  const uint32_t victim = GetParam();
  const std::string name = fresh_rendezvous();
  Group group;  // rank 3 never comes
  for (uint32_t r = 0; r < 3; r++) group.add(options_of(r, 4, name, seconds(5)));
  // Long enough to be seated; if it is not, the others miss it at the deadline and the test fails.
  std::this_thread::sleep_for(milliseconds(300));
  group[victim].send_signal(SIGKILL);
  const std::vector<Report> reports = group.reports();
  for (uint32_t r = 0; r < 3; r++) {
    if (r == victim) continue;
    EXPECT_TRUE(says(reports[r], FF_ERROR_PEER_LOST,
                     {fmt::format("rank {} ({}", victim, group.pid(victim)), "it died"}));
    EXPECT_LT(reports[r].seconds, 4.5);
  }
}
INSTANTIATE_TEST_SUITE_P(Bootstrap, Killed, testing::Values(0, 1));

TEST(Bootstrap, KilledBetweenTheTwoAgreements) {
  const std::string name = fresh_rendezvous();
  Group group;
  for (uint32_t r = 0; r < 3; r++) {
    group.add_child([&](Child& self) {
      return join_and_report(options_of(r, 3, name), {}, [&] {
        if (r != 2) return;
        self.arrive();
        pause();
      });
    });
  }
  group[2].await_arrival();
  group[2].send_signal(SIGKILL);
  const std::vector<Report> reports = group.reports();
  for (const size_t r : {0U, 1U}) {
    EXPECT_TRUE(says(reports[r], FF_ERROR_PEER_LOST, {"rank 2 (" + group.pid(2), "it died"}));
    EXPECT_LT(reports[r].seconds, 5);
  }
}

TEST(Bootstrap, AFrozenRank0IsNamed) {
  const std::string name = fresh_rendezvous();
  Group group;
  group.add(options_of(0, 3, name, seconds(30)));
  group.add(options_of(1, 3, name, milliseconds(800)));
  std::this_thread::sleep_for(milliseconds(300));
  group[0].send_signal(SIGSTOP);
  const Report report = report_of(group[1]);
  EXPECT_TRUE(says(report, FF_ERROR_UNREACHABLE, {"rank 0 (" + group.pid(0), "does not answer"}));
  EXPECT_LT(report.seconds, 5);
  group[0].send_signal(SIGKILL);
}

class Descriptors : public testing::TestWithParam<uint32_t> {};

TEST_P(Descriptors, TooFewOnOneRankIsAnErrorOnAll) {
  const uint32_t poor = GetParam();
  const std::string name = fresh_rendezvous();
  Group group;
  for (uint32_t r = 0; r < 24; r++) {
    group.add_child([&](Child&) {
      if (r == poor) {
        const rlimit few = {32, 32};
        if (setrlimit(RLIMIT_NOFILE, &few) != 0) return std::string("-1 0 setrlimit failed");
      }
      return join_and_report(options_of(r, 24, name));
    });
  }
  for (const Report& report : group.reports()) {
    EXPECT_TRUE(says(report, FF_ERROR_RESOURCE,
                     {fmt::format("rank {} ", poor), "may open 32 (RLIMIT_NOFILE)", "ulimit -n"}));
    EXPECT_LT(report.seconds, 10);
  }
}
INSTANTIATE_TEST_SUITE_P(Bootstrap, Descriptors, testing::Values(0, 5));

}  // namespace
}  // namespace ff::testing_tools
