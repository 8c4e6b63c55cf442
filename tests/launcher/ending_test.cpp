// Whatever ends the job ends all of it: daemons, the deaf, and what only kill -9 reaches.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "job.hpp"

namespace ff::test {
namespace {

// A launcher, a warden, and per rank a process and a daemon.
size_t processes_with_daemons(size_t ranks) { return 2 + 2 * ranks; }

class LauncherEnding : public testing::TestWithParam<int> {};

TEST_P(LauncherEnding, SignalEndsRanksAndDaemons) {
  Job job({"-n", "3", "--grace", "0.3", "--", rank_program(), "daemon"});
  job.wait_for_output("ready", 3);
  ASSERT_EQ(job.alive().size(), processes_with_daemons(3));
  job.send_signal(GetParam());
  EXPECT_EQ(job.wait().signal, GetParam()) << job.error();
  EXPECT_TRUE(job.alive().empty());
}

INSTANTIATE_TEST_SUITE_P(Signals, LauncherEnding, testing::Values(SIGINT, SIGTERM, SIGHUP));

TEST(LauncherEnd, QuitIsAnExitCode) {  // dying of it would leave a core file
  Job job({"-n", "2", "--", rank_program(), "hold"});
  job.wait_for_output("ready", 2);
  job.send_signal(SIGQUIT);
  EXPECT_EQ(job.wait().code, 128 + SIGQUIT);
}

TEST(LauncherEnd, NohupIsRespected) {
  JobOptions options;
  options.before_start = [] { signal(SIGHUP, SIG_IGN); };
  Job job({"-n", "1", "--", rank_program(), "catch", std::to_string(SIGUSR1)}, options);
  job.wait_for_output("ready");
  job.send_signal(SIGHUP);
  job.send_signal(SIGUSR1);
  EXPECT_EQ(job.wait().code, 0) << job.error();
}

TEST(LauncherEnd, UserSignalsReachEveryRank) {
  for (const int signal : {SIGUSR1, SIGUSR2}) {
    Job job({"-n", "4", "--", rank_program(), "catch", std::to_string(signal)});
    job.wait_for_output("ready", 4);
    job.send_signal(signal);
    EXPECT_EQ(job.wait().code, 0) << job.error();
    EXPECT_EQ(count(job.output(), "caught\n"), 4);
  }
}

TEST(LauncherEnd, SecondInterruptDoesNotWaitForTheGrace) {
  Job job({"-n", "2", "--grace", "1000", "--", rank_program(), "ignore_term"});
  job.wait_for_output("ready", 2);
  job.send_signal(SIGINT);
  job.wait_for_error("got SIGINT");
  job.send_signal(SIGINT);
  EXPECT_EQ(job.wait().signal, SIGINT);
  EXPECT_TRUE(job.alive().empty());
}

TEST(LauncherEnd, DaemonsOfASuccessfulJobEndAndAreNamed) {
  Job job({"-n", "2", "--grace", "0.3", "--", rank_program(), "leave_daemon"});
  EXPECT_EQ(job.wait().code, 0) << job.error();
  EXPECT_EQ(count(job.error(), "ending what ranks left behind: "), 1) << job.error();
  EXPECT_EQ(count(job.error(), "ff_launcher_ran (pid "), 2) << job.error();  // 15 bytes of name
  EXPECT_TRUE(job.alive().empty());
}

// `prog > >(tee log)`: the helper ends by itself a moment after the rank.
TEST(LauncherEnd, HelperThatIsAboutToEndIsNotDisturbed) {
  Job job({"-n", "2", "--", rank_program(), "outlived_by_helper"});
  EXPECT_EQ(job.wait().code, 0);
  EXPECT_EQ(job.error(), "");
  EXPECT_EQ(count(job.output(), "the helper's last word\n"), 2);
}

// ---- the launcher, the warden, or both groups are killed

TEST(LauncherEnd, LauncherKilled) {
  for (int trial = 0; trial < 5; ++trial) {
    Job job({"-n", "4", "--", rank_program(), "daemon"});
    job.wait_for_output("ready", 4);
    ASSERT_EQ(job.alive().size(), processes_with_daemons(4));
    job.send_signal(SIGKILL);
    EXPECT_EQ(job.wait().signal, SIGKILL);  // the output's end is the end of the warden
    EXPECT_TRUE(job.alive().empty());
  }
}

TEST(LauncherEnd, LaunchersGroupKilled) {
  JobOptions options;
  options.before_start = [] { setpgid(0, 0); };
  Job job({"-n", "2", "--", rank_program(), "daemon"}, options);
  job.wait_for_output("ready", 2);
  kill(-job.pid(), SIGKILL);
  job.wait();
  EXPECT_TRUE(job.alive().empty());
}

TEST(LauncherEnd, LauncherKilledWhileItsOutputIsStuck) {
  Job job({"-n", "2", "--", rank_program(), "flood"});
  job.read_error_only_until("held back\n");
  job.send_signal(SIGKILL);
  job.read_error_only_to_end();  // the warden holds it until all is over
  EXPECT_EQ(job.wait_unread().signal, SIGKILL);
  EXPECT_TRUE(job.alive().empty());
}

TEST(LauncherEnd, WardenKilled) {
  for (int trial = 0; trial < 5; ++trial) {
    Job job({"-n", "4", "--", rank_program(), "daemon"});
    job.wait_for_output("ready", 4);
    kill(job.warden(), SIGKILL);
    EXPECT_EQ(job.wait().code, 128 + SIGKILL);
    EXPECT_NE(job.error().find("the warden (pid "), std::string::npos) << job.error();
    EXPECT_TRUE(job.alive().empty());
  }
}

TEST(LauncherEnd, WardenStoppedIsOvercomeByTheThirdInterrupt) {
  Job job({"-n", "2", "--", rank_program(), "daemon"});
  job.wait_for_output("ready", 2);
  kill(job.warden(), SIGSTOP);
  for (int i = 0; i < 3; ++i) job.send_signal(i == 0 ? SIGINT : i == 1 ? SIGTERM : SIGHUP);
  EXPECT_EQ(job.wait().code, 128 + SIGKILL);
  EXPECT_TRUE(job.alive().empty());
}

// "sleep 9 & exec ff run ...": a child of ours that is not the job's.
TEST(LauncherEnd, ChildrenThatAreNotTheJobsAreLeftAlone) {
  JobOptions options;
  options.before_start = [] {
    if (fork() != 0) return;
    close_range(0, ~0U, 0);  // the test waits for the end of its pipes
    execlp("sleep", "sleep", "60", nullptr);
  };
  Job job({"-n", "1", "--", "true"}, options);
  EXPECT_EQ(job.wait().code, 0);
  const std::vector<pid_t> left = job.alive();
  EXPECT_EQ(left.size(), 1u);
}

TEST(LauncherEnd, RanksKillOfItsGroupStaysWithinTheRank) {
  Job job({"-n", "3", "--", rank_program(), "kill_group"});
  EXPECT_EQ(job.wait().code, 0) << job.error();
}

TEST(LauncherEnd, HundredJobsLeaveNothing) {
  for (int i = 0; i < 100; ++i) {
    Job job({"-n", "2", "--", "true"});
    ASSERT_EQ(job.wait().code, 0) << i << job.error();
    ASSERT_EQ(job.error(), "");
    ASSERT_TRUE(job.alive().empty());
  }
}

}  // namespace
}  // namespace ff::test
