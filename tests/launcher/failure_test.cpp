// A rank that fails ends the job, and the first one that did is named.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>

#include "job.hpp"

namespace ff::test {
namespace {

void expect_in(const std::string& text, const std::string& what) {
  EXPECT_NE(text.find(what), std::string::npos) << "'" << what << "' in:\n" << text;
}

TEST(LauncherFailure, ExitCodeNamesTheRankAndShowsItsLastLines) {
  Job job({"-n", "4", "--", rank_program(), "victim", "2", "exit", "42"});
  EXPECT_EQ(job.wait().code, 42);
  expect_in(job.error(), ") exited with code 42; the job ends");
  expect_in(job.error(), "rank 2 (pid ");
  expect_in(job.error(), "ending rank 0 (pid ");
  expect_in(job.error(), "the last lines of rank 2 on standard error:");
  expect_in(job.error(), "| first line\n");
  expect_in(job.error(), "| about to fail: ?[31m42\n");  // no escape codes twice
  expect_in(job.error(), "was killed by SIGTERM: ranks 0-1, 3");
  EXPECT_TRUE(job.alive().empty());
}

TEST(LauncherFailure, SignalIsNamedAndCountsFrom128) {
  Job job({"-n", "3", "--", rank_program(), "victim", "0", "signal", std::to_string(SIGSEGV)});
  EXPECT_EQ(job.wait().code, 128 + SIGSEGV);
  expect_in(job.error(), ") was killed by SIGSEGV");
  EXPECT_TRUE(job.alive().empty());
}

TEST(LauncherFailure, ReportNamesThePid) {
  Job job({"-n", "2", "--", rank_program(), "hold"});
  job.wait_for_output("ready ", 2);
  const std::string pid = job.output().substr(6, job.output().find('\n') - 6);
  ASSERT_EQ(kill(std::stoi(pid), SIGKILL), 0);
  EXPECT_EQ(job.wait().code, 128 + SIGKILL);
  expect_in(job.error(), "(pid " + pid + ") was killed by SIGKILL");
}

TEST(LauncherFailure, FirstOfManyIsNamedAndTheSurvivorsSpeak) {
  constexpr int kRanks = 8, kVictim = 5, kTrials = 20;
  for (int trial = 0; trial < kTrials; ++trial) {
    const Directory directory;
    for (int rank = 0; rank < kRanks; ++rank) {
      if (rank != kVictim) directory.make_fifo("fifo." + std::to_string(rank));
    }
    Job job({"-n", std::to_string(kRanks), "--wdir", directory.path(), "--", rank_program(),
             "watch_victim", std::to_string(kVictim)});
    ASSERT_EQ(job.wait().code, 128 + SIGKILL) << job.error();
    ASSERT_EQ(count(job.error(), " lost its peer\n"), kRanks - 1) << job.error();
    expect_in(job.error(), "rank 5 (pid ");
    expect_in(job.error(), "the others: exited with code 5: ranks 0-4, 6-7");
  }
}

// All are dead before the launcher looks: only the order of their deaths tells.
TEST(LauncherFailure, FirstOfManyIsNamedEvenIfAllAreSeenAtOnce) {
  Job job({"-n", "8", "--", rank_program(), "hold"});
  job.wait_for_output("ready ", 8);
  job.wait_for_output("\n", 8);
  std::vector<pid_t> ranks;
  for (const std::string& line : job.output_lines()) ranks.push_back(std::stoi(line.substr(6)));
  std::sort(ranks.begin(), ranks.end());
  std::rotate(ranks.begin(), ranks.begin() + 5, ranks.end());  // not the order of their starts
  const pid_t warden = job.warden();
  kill(warden, SIGSTOP);
  job.wait_for_state(warden, "T");
  for (const pid_t rank : ranks) {
    kill(rank, SIGKILL);
    job.wait_for_state(rank, "Z");
  }
  kill(warden, SIGCONT);
  EXPECT_EQ(job.wait().code, 128 + SIGKILL);
  expect_in(job.error(),
            "(pid " + std::to_string(ranks.front()) + ") was killed by SIGKILL; the job");
}

TEST(LauncherFailure, LastWordsComeBeforeTheReport) {
  Job job({"-n", "1", "--", rank_program(), "last_words"});
  job.wait_for_output("ready ");
  job.wait_for_output("\n");
  const pid_t rank = std::stoi(job.output().substr(6)), warden = job.warden();
  kill(warden, SIGSTOP);
  job.wait_for_state(warden, "T");
  kill(rank, SIGUSR1);
  job.wait_for_state(rank, "Z");
  kill(warden, SIGCONT);
  EXPECT_EQ(job.wait().code, 3);
  const size_t words = job.error().find("last word\n");
  EXPECT_LT(words, job.error().find("exited with code 3; the job ends"));
}

TEST(LauncherFailure, SuccessOfSomeIsNoReasonToEnd) {
  Job job({"-n", "3", "--", "sh", "-c",
           "if [ $FF_RANK = 0 ]; then echo first $$; exit 0; fi; exec " + rank_program() +
               " catch " + std::to_string(SIGUSR1)});
  job.wait_for_output("ready", 2);
  job.wait_for_output("first ");
  job.wait_for_output("\n", 3);
  const pid_t first = std::stoi(job.output().substr(job.output().find("first ") + 6));
  job.wait_for_state(first, "");
  job.send_signal(SIGUSR1);
  EXPECT_EQ(job.wait().code, 0) << job.error();
  EXPECT_EQ(count(job.output(), "caught"), 2);
}

TEST(LauncherFailure, SurvivorDeafToTermIsKilledAfterTheGrace) {
  Job job({"-n", "3", "--grace", "0.3", "--", rank_program(), "ignore_term"});
  job.wait_for_output("ready ", 3);
  job.wait_for_output("\n", 3);
  kill(std::stoi(job.output_lines().front().substr(6)), SIGKILL);
  EXPECT_EQ(job.wait().code, 128 + SIGKILL);
  EXPECT_EQ(count(job.error(), "the others: was killed by SIGKILL: ranks"), 1) << job.error();
  EXPECT_TRUE(job.alive().empty());
}

TEST(LauncherFailure, StoppedSurvivorEndsToo) {
  Job job({"-n", "2", "--grace", "1000", "--", rank_program(), "hold"});
  job.wait_for_output("ready ", 2);
  const auto lines = job.output_lines();
  const pid_t first = std::stoi(lines[0].substr(6)), second = std::stoi(lines[1].substr(6));
  kill(first, SIGSTOP);
  kill(second, SIGKILL);
  EXPECT_EQ(job.wait().code, 128 + SIGKILL);  // long before the grace, or the deadline passes
  EXPECT_TRUE(job.alive().empty());
}

TEST(LauncherFailure, TimeoutNamesWhoStillRuns) {
  Job job({"-n", "3", "--timeout", "0.5", "--", "sh", "-c",
           "if [ $FF_RANK = 1 ]; then exit 0; fi; exec " + rank_program() + " hold"});
  EXPECT_EQ(job.wait().code, 124);
  expect_in(job.error(), "--timeout of 0.5 s has passed; ending rank 0 (pid ");
  expect_in(job.error(), "rank 2 (pid ");
  EXPECT_EQ(count(job.error(), "rank 1"), 0) << job.error();
  EXPECT_TRUE(job.alive().empty());
}

TEST(LauncherFailure, TimeoutThatIsNotReachedChangesNothing) {
  Job job({"-n", "2", "--timeout", "30", "--", rank_program(), "exit", "0"});
  EXPECT_EQ(job.wait().code, 0);
  EXPECT_EQ(job.error(), "");
}

}  // namespace
}  // namespace ff::test
