// On a terminal: tags, the keyboard's signals, input for rank 0.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "job.hpp"

namespace ff::test {
namespace {

JobOptions on_terminal() {
  JobOptions options;
  options.terminal = true;
  return options;
}

TEST(LauncherTerminal, LinesAreTagged) {
  Job job({"-n", "2", "--", "echo", "hello"}, on_terminal());
  EXPECT_EQ(job.wait().code, 0);
  EXPECT_EQ(count(job.output(), "[0] hello\r\n"), 1) << job.output();
  EXPECT_EQ(count(job.output(), "[1] hello\r\n"), 1) << job.output();
}

TEST(LauncherTerminal, TagsCanBeTurnedOff) {
  Job job({"-n", "2", "--tag", "no", "--", "echo", "hello"}, on_terminal());
  EXPECT_EQ(job.wait().code, 0);
  EXPECT_EQ(job.output(), "hello\r\nhello\r\n");
}

TEST(LauncherTerminal, RankZeroReadsTheKeyboard) {
  Job job({"-n", "2", "--", "sh", "-c", "read line; echo \"got:$line\""}, on_terminal());
  job.wait_for_output("[1] got:\r\n");  // /dev/null
  job.type("typed\n");
  job.wait_for_output("[0] got:typed\r\n");
  EXPECT_EQ(job.wait().code, 0) << job.output();
}

TEST(LauncherTerminal, CtrlCEndsEverything) {
  Job job({"-n", "3", "--grace", "0.3", "--", rank_program(), "daemon"}, on_terminal());
  job.wait_for_output("ready", 3);
  job.type("\x03");
  EXPECT_EQ(job.wait().signal, SIGINT) << job.output();
  EXPECT_TRUE(job.alive().empty());
}

TEST(LauncherTerminal, HangupEndsEverything) {
  Job job({"-n", "2", "--grace", "0.3", "--", rank_program(), "daemon"}, on_terminal());
  job.wait_for_output("ready", 2);
  job.close_output();  // the other side of the terminal
  EXPECT_EQ(job.wait_unread().signal, SIGHUP);
  EXPECT_TRUE(job.alive().empty());
}

// A shell with job control, reduced to what Ctrl-Z needs: starts the rest of this program as its
// foreground job; when that stops, says so and waits for a line before it continues it. Returns in
// the job only.
void be_shell() {
  const pid_t job = fork();
  if (job == 0) {
    setpgid(0, 0);
    signal(SIGTTOU, SIG_IGN);
    tcsetpgrp(STDIN_FILENO, getpid());
    signal(SIGTTOU, SIG_DFL);
    return;
  }
  signal(SIGTTOU, SIG_IGN);
  int status = 0;
  waitpid(job, &status, WUNTRACED);
  tcsetpgrp(STDIN_FILENO, getpgrp());
  if (WIFSTOPPED(status)) {
    dprintf(STDOUT_FILENO, "stopped\n");
    char line[16];
    if (read(STDIN_FILENO, line, sizeof line) < 1) _exit(99);
    tcsetpgrp(STDIN_FILENO, job);
    kill(-job, SIGCONT);
    waitpid(job, &status, 0);
  }
  _exit(WIFSIGNALED(status) ? 100 + WTERMSIG(status) : WEXITSTATUS(status));
}

TEST(LauncherTerminal, CtrlZStopsTheRanksAndForegroundContinuesThem) {
  JobOptions options = on_terminal();
  options.before_start = be_shell;
  Job job({"-n", "2", "--timeout", "30", "--", rank_program(), "hold"}, options);
  job.wait_for_output("ready ", 2);
  std::vector<pid_t> ranks;
  for (const std::string& line : job.output_lines()) ranks.push_back(std::stoi(line.substr(10)));
  job.type("\x1a");
  job.wait_for_output("stopped");
  for (const pid_t rank : ranks) job.wait_for_state(rank, "T");
  job.type("fg\n");
  for (const pid_t rank : ranks) job.wait_for_state(rank, "T", true);
  job.type("\x03");
  EXPECT_EQ(job.wait().code, 100 + SIGINT) << job.output();
  EXPECT_TRUE(job.alive().empty());
}

}  // namespace
}  // namespace ff::test
