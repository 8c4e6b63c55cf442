// What is left behind (nothing), what earlier runs left, signals, forks, and PID namespaces.
#include <errno.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "bootstrap/entry.hpp"
#include "bootstrap_ranks.hpp"

namespace ff::testing_tools {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Child rank_of(const JoinOptions& options) {
  return Child([options](Child&) { return join_and_report(options); });
}

std::string fresh_path() {
  static int count = 0;
  return fmt::format("{}ff_bootstrap_{}_{}", testing::TempDir(), getpid(), count++);
}

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

void wait_for_file(const std::string& path) {
  for (int i = 0; i < 5000 && !exists(path); i++) (void)poll(nullptr, 0, 1);
  ASSERT_TRUE(exists(path));
}

// ---- nothing left -------------------------------------------------------------------------------

TEST(Leftovers, NoneAfterKillAtAnyMoment) {
  std::mt19937 random(3);
  const std::string name = fresh_rendezvous();
  const int before = open_rendezvous();
  for (int round = 0; round < 50; round++) {
    std::vector<Child> ranks;
    for (uint32_t r = 0; r < 2; r++)
      ranks.push_back(rank_of(options_of(r, 2, name, milliseconds(250))));
    (void)usleep(static_cast<useconds_t>(random() % 6000));
    const size_t victim = random() % 2;
    ranks[victim].send_signal(SIGKILL);
    ranks[1 - victim].wait();  // it either finished, or was told
    ranks[victim].wait();
    EXPECT_EQ(open_rendezvous(), before);
  }
  // And the same name works at once.
  std::vector<Child> ranks;
  for (uint32_t r = 0; r < 2; r++) ranks.push_back(rank_of(options_of(r, 2, name)));
  for (Child& rank : ranks) EXPECT_TRUE(says(report_of(rank), FF_OK, {}));
}

// ---- files of earlier runs ----------------------------------------------------------------------

TEST(File, AKilledRunIsReplacedThoughRank1ComesFirst) {
  const std::string path = fresh_path(), words = "file:" + path;
  {
    Child killed = rank_of(options_of(0, 2, words));
    wait_for_file(path);
    killed.send_signal(SIGKILL);
    killed.wait();
  }
  ASSERT_TRUE(exists(path)) << "the stale entry";
  Child rank_1 = rank_of(options_of(1, 2, words));
  std::this_thread::sleep_for(seconds(2));  // as the field case has it
  Child rank_0 = rank_of(options_of(0, 2, words));
  EXPECT_TRUE(says(report_of(rank_0), FF_OK, {}));
  EXPECT_TRUE(says(report_of(rank_1), FF_OK, {}));
  EXPECT_FALSE(exists(path));
  EXPECT_FALSE(exists(path + ".new"));
}

TEST(File, AStaleEntryIsNamedWhereNobodyReplacesIt) {
  const std::string path = fresh_path(), words = "file:" + path;
  Child killed = rank_of(options_of(0, 2, words));
  wait_for_file(path);
  killed.send_signal(SIGKILL);
  killed.wait();
  Child rank_1 = rank_of(options_of(1, 2, words, milliseconds(300)));
  EXPECT_TRUE(says(report_of(rank_1), FF_ERROR_UNREACHABLE,
                   {path, fmt::format("pid {} on", killed.pid()), "whose process is gone"}));
  std::filesystem::remove(path);
}

TEST(File, AnEntryFromBeforeARebootIsNamedAndReplaced) {
  const std::string path = fresh_path(), words = "file:" + path;
  auto entry = bootstrap::own_entry("fireflyer/0/0123/0");
  ASSERT_TRUE(entry.ok());
  entry->boot = "00000000-0000-0000-0000-000000000000";
  entry->host = "elsewhere";
  std::ofstream(path) << format_entry(*entry);
  Child alone = rank_of(options_of(1, 2, words, milliseconds(300)));
  EXPECT_TRUE(says(report_of(alone), FF_ERROR_UNREACHABLE,
                   {"on elsewhere, written on another host or before a reboot"}));
  Child rank_1 = rank_of(options_of(1, 2, words)), rank_0 = rank_of(options_of(0, 2, words));
  EXPECT_TRUE(says(report_of(rank_0), FF_OK, {}));
  EXPECT_TRUE(says(report_of(rank_1), FF_OK, {}));
}

TEST(File, OfAnotherKindIsNeverTouched) {
  const std::string path = fresh_path(), words = "file:" + path;
  std::ofstream(path) << "my thesis\n";
  Child rank_0 = rank_of(options_of(0, 2, words)),
        rank_1 = rank_of(options_of(1, 2, words, milliseconds(500)));
  EXPECT_TRUE(says(report_of(rank_0), FF_ERROR_ARGUMENT, {path, "holds something else"}));
  EXPECT_TRUE(says(report_of(rank_1), FF_ERROR_UNREACHABLE, {"no rendezvous entry"}));
  std::string text;
  std::getline(std::ifstream(path), text);
  EXPECT_EQ(text, "my thesis");
  std::filesystem::remove(path);
}

TEST(File, TwoRanks0MeetThere) {
  const std::string path = fresh_path(), words = "file:" + path;
  Child first = rank_of(options_of(0, 2, words)), second = rank_of(options_of(0, 2, words));
  for (Child* child : {&first, &second}) {
    EXPECT_TRUE(says(report_of(*child), FF_ERROR_ARGUMENT,
                     {"two processes claim rank 0", fmt::format("pid {}", first.pid()),
                      fmt::format("pid {}", second.pid())}));
  }
  EXPECT_FALSE(exists(path));
}

// ---- signals and forks --------------------------------------------------------------------------

TEST(Signals, AtAThousandAHertzDisturbNothing) {
  for (int round = 0; round < 20; round++) {
    const std::string name = fresh_rendezvous();
    std::vector<Child> ranks;
    for (uint32_t r = 0; r < 4; r++) {
      ranks.emplace_back([&](Child&) {
        struct sigaction action {};  // no SA_RESTART: every call is interrupted
        action.sa_handler = [](int) {};
        for (const int signal : {SIGALRM, SIGCHLD, SIGUSR1}) sigaction(signal, &action, nullptr);
        const itimerval timer = {{0, 1000}, {0, 1000}};
        setitimer(ITIMER_REAL, &timer, nullptr);
        std::this_thread::sleep_for(milliseconds(5 * r));  // so that the others wait
        return join_and_report(options_of(r, 4, name));
      });
    }
    for (Child& rank : ranks) EXPECT_TRUE(says(report_of(rank), FF_OK, {}));
  }
}

// A rank that forks while it waits, and dies: the child must not keep its connection open.
TEST(Forks, InTheMiddleOfAJoinShareNothing) {
  const std::string name = fresh_rendezvous();
  Child rank_0 = rank_of(options_of(0, 3, name, seconds(10)));
  Child rank_1([&](Child& self) {
    std::thread forker([&] {
      std::this_thread::sleep_for(milliseconds(300));  // rank 1 is seated and waits for rank 2
      if (fork() == 0) {
        self.forget_parent();
        alarm(8);  // ends it, long after the test
        pause();
        _exit(0);
      }
      self.arrive();
    });
    const std::string report = join_and_report(options_of(1, 3, name, seconds(10)));
    forker.join();
    return report;
  });
  rank_1.await_arrival();
  rank_1.send_signal(SIGKILL);
  const Report report = report_of(rank_0);
  EXPECT_TRUE(says(report, FF_ERROR_PEER_LOST, {"rank 1 ("}));
  EXPECT_LT(report.seconds, 6);
}

// ---- containers ---------------------------------------------------------------------------------

class PidNamespaces : public testing::TestWithParam<bool> {};

TEST_P(PidNamespaces, RanksInTheirOwnMeetAndSeeDeaths) {
  if (geteuid() != 0) GTEST_SKIP() << "needs a privilege: root, to make PID namespaces";
  const std::string name = fresh_rendezvous();
  std::vector<Child> ranks;
  for (uint32_t r = 0; r < 3; r++) {
    ranks.emplace_back([&](Child& self) -> std::string {
      int ready[2];
      if (unshare(CLONE_NEWPID) != 0 || pipe(ready) != 0) return "-1 0 no namespace or pipe";
      const pid_t inner = fork();  // is process 1 of its namespace
      if (inner == 0) {
        JoinOptions options = options_of(r, 3, name);
        options.try_pidfd = GetParam();
        self.say(join_and_report(options, [&](std::vector<Member>& members) -> std::string {
          for (const Member& member : members) {
            if (member.pid != 1) return fmt::format("pid {} is not 1", member.pid);
            if (member.pid_visible != (member.rank.value() == r)) return "wrong visibility";
          }
          if (r == 1) {
            if (write(ready[1], ".", 1) == 1) pause();
            return "not killed";
          }
          pollfd polled = {members[1].life.get(), POLLIN, 0};
          return poll(&polled, 1, 5000) == 1 ? "" : "nothing told of the death";
        }));
        _exit(0);
      }
      if (r == 1) {
        char byte = 0;
        if (read(ready[0], &byte, 1) != 1) return "-1 0 rank 1 did not get there";
        kill(inner, SIGKILL);
        self.say("0 0 killed");
      }
      waitpid(inner, nullptr, 0);
      return "";
    });
  }
  for (Child& rank : ranks) EXPECT_TRUE(says(report_of(rank), FF_OK, {}));
}
INSTANTIATE_TEST_SUITE_P(Containers, PidNamespaces, testing::Bool());

}  // namespace
}  // namespace ff::testing_tools
