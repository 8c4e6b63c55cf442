// What a rank is given: variables, secret, descriptors, CPU, directory, input. And what ff run
// refuses to start.
#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <set>

#include "job.hpp"

namespace ff::test {
namespace {

using Words = std::vector<std::string>;

// Runs to the end, expects success and nothing left; returns the sorted lines.
Words lines_of(const Words& arguments, const JobOptions& options = {}) {
  Job job(arguments, options);
  EXPECT_EQ(job.wait().code, 0) << job.error();
  EXPECT_TRUE(job.alive().empty());
  Words lines = job.output_lines();
  std::sort(lines.begin(), lines.end());
  return lines;
}

void expect_refused(const Words& arguments, int code, const Words& mentioned) {
  Job job(arguments);
  EXPECT_EQ(job.wait().code, code) << job.error();
  EXPECT_EQ(job.output(), "");
  for (const std::string& text : mentioned)
    EXPECT_NE(job.error().find(text), std::string::npos) << "'" << text << "' in:\n" << job.error();
  EXPECT_TRUE(job.alive().empty());
}

TEST(LauncherStart, RanksKnowTheirPlace) {
  EXPECT_EQ(lines_of({"-n", "3", "--", rank_program(), "variables", "FF_RANK", "FF_RANKS",
                      "FF_LOCAL_RANK", "FF_LOCAL_RANKS"}),
            (Words{"0 3 0 3 ", "1 3 1 3 ", "2 3 2 3 "}));
}

TEST(LauncherStart, MoreRanksThanCpus) {
  const Words lines = lines_of({"-n", "70", "--", rank_program(), "variables", "FF_RANK"});
  EXPECT_EQ(std::set<std::string>(lines.begin(), lines.end()).size(), 70u);
}

TEST(LauncherStart, RendezvousIsSharedInAJobAndNotBetweenJobs) {
  const Words arguments = {"-n", "4", "--", rank_program(), "variables", "FF_RENDEZVOUS"};
  const Words first = lines_of(arguments), second = lines_of(arguments);
  ASSERT_EQ(first.size(), 4u);
  EXPECT_EQ(first.front(), first.back());
  EXPECT_TRUE(first.front().starts_with("name:"));
  EXPECT_NE(first.front(), second.front());
}

TEST(LauncherStart, SecretIsSharedSealedAndReadableTwice) {
  const Words arguments = {"-n", "4", "--", rank_program(), "secret"};
  const Words first = lines_of(arguments), second = lines_of(arguments);
  ASSERT_EQ(first.size(), 4u);
  EXPECT_EQ(first.front().size(), 64u);
  EXPECT_EQ(first.front(), first.back());
  EXPECT_NE(first.front(), second.front());
}

TEST(LauncherStart, SecretIsInNoEnvironmentAndNoArgument) {
  Job job({"-n", "2", "--", "sh", "-c",
           "exec 2>&1; " + rank_program() + " secret; exec " + rank_program() + " hold"});
  job.wait_for_output("ready", 2);
  std::string secret;
  for (const std::string& line : job.output_lines()) {
    if (line.size() == 64) secret = line;
  }
  ASSERT_EQ(secret.size(), 64u);
  std::string raw;
  for (size_t i = 0; i < secret.size(); i += 2)
    raw += static_cast<char>(std::stoi(secret.substr(i, 2), nullptr, 16));
  for (const pid_t pid : job.alive()) {
    for (const char* const name : {"environ", "cmdline"}) {
      std::ifstream file("/proc/" + std::to_string(pid) + "/" + name, std::ios::binary);
      const std::string text{std::istreambuf_iterator<char>(file), {}};
      EXPECT_EQ(text.find(secret), std::string::npos);
      EXPECT_EQ(text.find(raw), std::string::npos);
    }
  }
  job.send_signal(SIGTERM);
  job.wait();
}

TEST(LauncherStart, OnlyStandardStreamsAndTheSecretAreInherited) {
  JobOptions options;
  options.before_start = [] {  // what a careless parent leaves open
    const int leaked = open("/dev/null", O_RDWR);
    for (const int fd : {7, 65, 200}) dup2(leaked, fd);
  };
  const Words lines = lines_of({"-n", "3", "--", rank_program(), "descriptors"}, options);
  EXPECT_EQ(lines, (Words{"0 1 2 64 ", "0 1 2 64 ", "0 1 2 64 "}));
}

TEST(LauncherStart, ClosedStandardStreamsAreNoDescriptorsForOthers) {
  JobOptions options;
  options.before_start = [] { close(STDIN_FILENO); };
  const Words lines = lines_of({"-n", "2", "--", rank_program(), "descriptors"}, options);
  EXPECT_EQ(lines, (Words{"0 1 2 64 ", "0 1 2 64 "}));
}

TEST(LauncherStart, ManyRanksUnderALowSoftLimitOfDescriptors) {
  JobOptions options;
  options.before_start = [] {
    rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = 40;
    setrlimit(RLIMIT_NOFILE, &limit);
  };
  Job job({"-n", "50", "--", rank_program(), "inherited"}, options);
  ASSERT_EQ(job.wait().code, 0) << job.error();
  EXPECT_EQ(count(job.output(), "40 blocked:"), 50);  // the ranks have the user's limit
}

TEST(LauncherStart, TooFewDescriptorsIsAnErrorThatNamesTheLimit) {
  JobOptions options;
  options.before_start = [] {
    const rlimit limit = {40, 40};
    setrlimit(RLIMIT_NOFILE, &limit);
  };
  {
    Job job({"-n", "4", "--", rank_program(), "secret"}, options);  // no number 64 for the secret
    EXPECT_EQ(job.wait().code, 0) << job.error();
  }
  Job job({"-n", "50", "--", rank_program(), "hold"}, options);
  EXPECT_EQ(job.wait().code, 1);
  EXPECT_NE(job.error().find("ulimit -n"), std::string::npos) << job.error();
  EXPECT_TRUE(job.alive().empty());
}

TEST(LauncherStart, SignalsAreAsTheLauncherFoundThem) {
  JobOptions options;
  options.before_start = [] {
    signal(SIGUSR2, SIG_IGN);
    signal(SIGPIPE, SIG_DFL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGWINCH);
    sigprocmask(SIG_SETMASK, &set, nullptr);
  };
  Job job({"-n", "1", "--", rank_program(), "inherited"}, options);
  ASSERT_EQ(job.wait().code, 0);
  EXPECT_NE(job.output().find(" blocked: 28 ignored: 12\n"), std::string::npos) << job.output();
}

TEST(LauncherStart, VariablesAreInheritedSetAndTheLastWins) {
  JobOptions options;
  options.before_start = [] {
    setenv("INHERITED", "yes", 1);
    setenv("CHANGED", "old", 1);
    setenv("FF_RANK", "17", 1);  // an outer job's
  };
  EXPECT_EQ(
      lines_of({"-n", "1", "-x", "CHANGED=a", "-x", "CHANGED=b", "-x", "EMPTY=", "-x", "INHERITED",
                "--", rank_program(), "variables", "INHERITED", "CHANGED", "EMPTY", "FF_RANK"},
               options),
      (Words{"yes b  0 "}));
}

TEST(LauncherStart, ExportOfAnUnsetVariableWarns) {
  Job job({"-n", "1", "-x", "NOT_SET_ANYWHERE", "--", rank_program(), "exit", "0"});
  EXPECT_EQ(job.wait().code, 0);
  EXPECT_NE(job.error().find("NOT_SET_ANYWHERE"), std::string::npos);
}

TEST(LauncherStart, ExportedPathIsSearched) {
  const std::string program = rank_program();
  const size_t slash = program.rfind('/');
  EXPECT_EQ(lines_of({"-n", "1", "-x", "PATH=" + program.substr(0, slash), "--",
                      program.substr(slash + 1), "variables", "FF_RANK"}),
            (Words{"0 "}));
}

TEST(LauncherStart, BindCoreGivesEachRankTheNextAllowedCpu) {
  cpu_set_t mask;
  ASSERT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
  Words expected;
  for (int cpu = 0; cpu < CPU_SETSIZE && expected.size() < 10; ++cpu) {
    if (CPU_ISSET(cpu, &mask))
      expected.push_back(std::to_string(expected.size()) + ": " + std::to_string(cpu));
  }
  const std::string ranks = std::to_string(expected.size());
  EXPECT_EQ(lines_of({"-n", ranks, "--bind", "core", "--", rank_program(), "cpus"}), expected);
}

TEST(LauncherStart, BindCoreStaysInsideTheLaunchersMask) {
  cpu_set_t mask;
  ASSERT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
  int last = CPU_SETSIZE - 1;
  while (!CPU_ISSET(last, &mask)) --last;
  JobOptions options;
  options.before_start = [last] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    sched_setaffinity(0, sizeof one, &one);
  };
  EXPECT_EQ(lines_of({"-n", "1", "--bind", "core", "--", rank_program(), "cpus"}, options),
            Words{"0: " + std::to_string(last)});
  Job job({"-n", "2", "--bind", "core", "--", rank_program(), "cpus"}, options);
  EXPECT_EQ(job.wait().code, 2);
  EXPECT_NE(job.error().find("2 ranks need as many CPUs"), std::string::npos) << job.error();
}

TEST(LauncherStart, WorkingDirectoryAndNoFileLeft) {
  const Directory directory;
  EXPECT_EQ(lines_of({"-n", "2", "--wdir", directory.path(), "-x", "TMPDIR=" + directory.path(),
                      "--", rank_program(), "directory"}),
            (Words{directory.path(), directory.path()}));
  EXPECT_TRUE(directory.files().empty());
}

TEST(LauncherStart, InputGoesToRankZero) {
  JobOptions options;
  options.input = "some\n";
  const Words lines = lines_of({"-n", "3", "--", rank_program(), "echo_input"}, options);
  EXPECT_EQ(lines, (Words{"end of input 0", "end of input 1", "end of input 2", "some"}));
}

TEST(LauncherStart, InputNobodyReadsStaysThere) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "kept", 4), 4);
  JobOptions options;
  options.before_start = [&ends] { dup2(ends[0], STDIN_FILENO); };
  lines_of({"-n", "2", "--", rank_program(), "exit", "0"}, options);
  char kept[4];
  EXPECT_EQ(read(ends[0], kept, 4), 4);
  close(ends[0]);
  close(ends[1]);
}

TEST(LauncherStart, ArgumentsArriveUntouched) {
  for (const Words& dashes : {Words{"--"}, Words{}}) {
    for (const char* const text : {"[1,2]", "", "-n", "--help", "--", "{}", "%%", "a b\tc\\ '\""}) {
      Words arguments = {"-n", "1"};
      arguments.insert(arguments.end(), dashes.begin(), dashes.end());
      for (const std::string& word : {rank_program(), std::string("text"), std::string("1")})
        arguments.push_back(word);
      arguments.push_back(text);
      Job job(arguments);
      ASSERT_EQ(job.wait().code, 0) << job.error();
      EXPECT_EQ(job.output(), text);
    }
  }
}

TEST(LauncherStart, WorksWithoutTheLibrary) { EXPECT_EQ(lines_of({"-n", "2", "true"}), Words{}); }

TEST(LauncherStart, WrongUseIsRefusedBeforeAnythingStarts) {
  const std::string program = rank_program();
  expect_refused({"-n", "0", "--", program}, 2, {"-n 0", "at least one rank"});
  expect_refused({"-n", "-3", "--", program}, 2, {"-n -3"});
  expect_refused({"-n", "many", "--", program}, 2, {"many"});
  expect_refused({"--", program}, 2, {"-n"});
  expect_refused({"-n", "2"}, 2, {"no program"});
  expect_refused({"-n", "2", "--"}, 2, {"no program"});
  expect_refused({"-n", "2", "--bogus", "--", program}, 2, {"unknown option --bogus"});
  expect_refused({"-n", "2", "--bind", "socket", "--", program}, 2, {"--bind", "socket"});
  expect_refused({"-n", "2", "--tag", "maybe", "--", program}, 2, {"--tag", "maybe"});
  expect_refused({"-n", "2", "--timeout", "0", "--", program}, 2, {"--timeout"});
  expect_refused({"-n", "2", "--timeout", "-1", "--", program}, 2, {"--timeout"});
  expect_refused({"-n", "2", "-x", "=1", "--", program}, 2, {"-x =1"});
  expect_refused({"-n", "2", "-x", "FF_RANK=1", "--", program}, 2, {"FF_RANK"});
  expect_refused({"-n", "2", "--wdir", "/no/such", "--", program}, 2, {"--wdir /no/such"});
  expect_refused({"-n", "2", "--wdir", "/dev/null", "--", program}, 2, {"not a directory"});
}

TEST(LauncherStart, ProgramThatCannotRunIsNamedWithTheReason) {
  expect_refused({"-n", "3", "--", "no-such-program"}, 127, {"'no-such-program'", "PATH (/"});
  expect_refused({"-n", "3", "--", "./no-such"}, 127, {"'./no-such' does not exist"});
  expect_refused({"-n", "3", "--", "/etc/passwd"}, 126, {"/etc/passwd", "Permission denied"});
  const Directory directory;
  const std::string script = directory.path() + "/script";
  std::ofstream(script) << "#!/no/such/interpreter\n";
  ASSERT_EQ(chmod(script.c_str(), 0700), 0);
  expect_refused({"-n", "2", "--", script}, 127, {script, "interpreter"});
}

TEST(LauncherStart, RelativeProgramIsLookedUpInTheWorkingDirectory) {
  const Directory directory;
  ASSERT_EQ(symlink(rank_program().c_str(), (directory.path() + "/here").c_str()), 0);
  EXPECT_EQ(lines_of({"-n", "1", "--wdir", directory.path(), "./here", "variables", "FF_RANK"}),
            Words{"0 "});
}

TEST(LauncherStart, WorksWithoutPidfds) {
  JobOptions options;
  options.before_start = [] {  // as some container runtimes do it
    sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program = {4, filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) _exit(125);
  };
  lines_of({"-n", "4", "--", rank_program(), "exit", "0"}, options);
  Job job({"-n", "4", "--grace", "0.2", "--", rank_program(), "victim", "2", "exit", "9"}, options);
  EXPECT_EQ(job.wait().code, 9) << job.error();
  EXPECT_TRUE(job.alive().empty());
  Job daemons({"-n", "2", "--", rank_program(), "daemon"}, options);
  daemons.wait_for_output("ready", 2);
  daemons.send_signal(SIGKILL);
  daemons.wait();
  EXPECT_TRUE(daemons.alive().empty());
}

TEST(LauncherStart, WorksWithoutRoot) {
  if (geteuid() != 0)
    GTEST_SKIP() << "needs surroundings: there is no root to give up, and all other tests prove it";
  constexpr uid_t kNobody = 65534;
  const pid_t can_reach = fork();
  if (can_reach == 0) {
    if (setgid(kNobody) != 0 || setuid(kNobody) != 0) _exit(1);
    _exit(access(rank_program().c_str(), X_OK) == 0 ? 0 : 1);
  }
  int status = 0;
  waitpid(can_reach, &status, 0);
  if (status != 0)
    GTEST_SKIP() << "needs surroundings: this build directory is closed to other users";
  JobOptions options;
  options.before_start = [] {
    if (setgroups(0, nullptr) != 0 || setgid(kNobody) != 0 || setuid(kNobody) != 0) _exit(125);
  };
  lines_of({"-n", "3", "--", rank_program(), "secret"}, options);
  Job job({"-n", "2", "--", rank_program(), "daemon"}, options);
  job.wait_for_output("ready", 2);
  job.send_signal(SIGKILL);
  job.wait();
  EXPECT_TRUE(job.alive().empty());
}

}  // namespace
}  // namespace ff::test
