// The ranks' output: whole lines, no byte lost or changed, no deadlock.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <map>

#include "job.hpp"

namespace ff::test {
namespace {

// Every line of `job` consists of one letter, which tells its rank; counts them. `tagged`: behind
// "[rank] ".
std::map<char, int> count_whole_lines(const Job& job, size_t length, bool tagged) {
  std::map<char, int> counts;
  for (std::string line : job.output_lines()) {
    if (tagged) {
      const size_t end = line.find("] ");
      EXPECT_NE(end, std::string::npos);
      EXPECT_EQ(line.substr(0, end), "[" + std::to_string(line.back() - 'a'));
      line.erase(0, end + 2);
    }
    EXPECT_EQ(line.size(), length);
    EXPECT_EQ(line.find_first_not_of(line.front()), std::string::npos);
    ++counts[line.front()];
  }
  return counts;
}

void expect_whole_lines(int lines, size_t length, bool tagged) {
  Job job({"-n", "8", "--tag", tagged ? "yes" : "no", "--", rank_program(), "lines",
           std::to_string(lines), std::to_string(length)});
  ASSERT_EQ(job.wait().code, 0) << job.error();
  const std::map<char, int> counts = count_whole_lines(job, length, tagged);
  EXPECT_EQ(counts.size(), 8u);
  for (const auto& [letter, seen] : counts) EXPECT_EQ(seen, lines) << letter;
}

TEST(LauncherOutput, LinesOfEightRanksStayWhole) { expect_whole_lines(500, 100, false); }
TEST(LauncherOutput, TaggedLinesStayWhole) { expect_whole_lines(500, 100, true); }
TEST(LauncherOutput, LinesLongerThanAnyPipeStayWhole) { expect_whole_lines(5, 700'000, false); }
TEST(LauncherOutput, LongTaggedLinesStayWhole) { expect_whole_lines(5, 700'000, true); }

TEST(LauncherOutput, BothStreamsOnOneDestinationStayWhole) {
  JobOptions options;
  options.merge_streams = true;
  Job job({"-n", "8", "--tag", "no", "--", "sh", "-c",
           rank_program() + " lines 4 700000 1 & " + rank_program() + " lines 4 700000 2; wait"},
          options);
  ASSERT_EQ(job.wait().code, 0) << job.error();
  for (const auto& [letter, seen] : count_whole_lines(job, 700'000, false))
    EXPECT_EQ(seen, 8) << letter;
}

TEST(LauncherOutput, StreamsAreNotConfused) {
  Job job({"-n", "2", "--", "sh", "-c", "echo to output; echo to error >&2"});
  ASSERT_EQ(job.wait().code, 0);
  EXPECT_EQ(job.output(), "to output\nto output\n");
  EXPECT_EQ(job.error(), "to error\nto error\n");
}

TEST(LauncherOutput, TagsOnDemandOnly) {
  Job with({"-n", "2", "--tag", "yes", "--", "sh", "-c", "echo a; echo b >&2"});
  ASSERT_EQ(with.wait().code, 0);
  EXPECT_EQ(count(with.output(), "[0] a\n") + count(with.output(), "[1] a\n"), 2);
  EXPECT_EQ(count(with.error(), "[0] b\n") + count(with.error(), "[1] b\n"), 2);
  Job without({"-n", "2", "--", "sh", "-c", "echo a"});
  ASSERT_EQ(without.wait().code, 0);
  EXPECT_EQ(without.output(), "a\na\n");
}

TEST(LauncherOutput, UnfinishedLastLinesDoNotRunTogether) {
  Job job({"-n", "3", "--tag", "yes", "--", rank_program(), "text", "1", "no newline"});
  ASSERT_EQ(job.wait().code, 0);
  std::string all = job.output() + "\n";
  for (int rank = 0; rank < 3; ++rank)
    EXPECT_EQ(count(all, "[" + std::to_string(rank) + "] no newline\n"), 1) << job.output();
  EXPECT_EQ(all.size(), 3 * std::string("[0] no newline\n").size());
}

TEST(LauncherOutput, OneRankIsRelayedByteForByte) {
  constexpr size_t kBytes = 3'000'000;
  Job job({"-n", "1", "--", rank_program(), "bytes", std::to_string(kBytes)});
  ASSERT_EQ(job.wait().code, 0);
  std::string expected(kBytes, '\0');
  uint32_t state = 1;
  for (char& byte : expected)
    byte = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  EXPECT_TRUE(job.output() == expected);
}

TEST(LauncherOutput, OneRanksPromptIsSeenAtOnce) {
  Job job({"-n", "1", "--", "sh", "-c", "printf 'name? '; exec sleep 1000"});
  job.wait_for_output("name? ");
  job.send_signal(SIGTERM);
  job.wait();
}

TEST(LauncherOutput, BinaryLinesOfManyRanksKeepAllBytes) {
  Job job({"-n", "4", "--", "sh", "-c", rank_program() + " bytes 300000; echo"});
  ASSERT_EQ(job.wait().code, 0);
  std::map<char, size_t> histogram;
  for (const char byte : job.output()) ++histogram[byte];
  std::map<char, size_t> expected;
  uint32_t state = 1;
  for (int i = 0; i < 300'000; ++i)
    expected[static_cast<char>((state = state * 1664525 + 1013904223) >> 24)] += 4;
  expected['\n'] += 4;
  EXPECT_TRUE(histogram == expected);
}

// Longer than what the launcher keeps: it may be cut, but no byte is lost, and nobody waits for
// its end.
TEST(LauncherOutput, EndlessLineIsNeitherKeptNorLost) {
  Job job({"-n", "2", "--", rank_program(), "lines", "1", "10000000"});
  ASSERT_EQ(job.wait().code, 0);
  EXPECT_EQ(count(job.output(), "a"), 10'000'000);
  EXPECT_EQ(count(job.output(), "b"), 10'000'000);
}

TEST(LauncherOutput, ARankMayCloseItsOutput) {
  Job job({"-n", "2", "--", rank_program(), "close_output"});
  EXPECT_EQ(job.wait().code, 0);
  EXPECT_EQ(count(job.error(), "output is closed\n"), 2);
}

TEST(LauncherOutput, UnreadOutputHoldsTheWriterBackAndNothingElse) {
  Job job({"-n", "2", "--", rank_program(), "flood"});
  job.read_error_only_until("held back\n");
  EXPECT_EQ(count(job.error(), "never"), 0);
  job.send_signal(SIGTERM);
  EXPECT_EQ(job.wait().signal, SIGTERM);  // reads what is left, so that the end is the end
  EXPECT_LT(job.output().size(), size_t{8} << 20);
  EXPECT_TRUE(job.alive().empty());
}

TEST(LauncherOutput, SecondSignalDropsWhatNobodyReads) {
  Job job({"-n", "1", "--", rank_program(), "flood"});
  job.read_error_only_until("held back\n");
  job.send_signal(SIGTERM);
  job.read_error_only_until("got SIGTERM");
  job.send_signal(SIGTERM);
  EXPECT_EQ(job.wait_unread().signal, SIGTERM);
  EXPECT_TRUE(job.alive().empty());
}

TEST(LauncherOutput, SlowReaderGetsEverything) {
  Job job({"-n", "4", "--", rank_program(), "lines", "3000", "1000"});
  ASSERT_EQ(job.wait().code, 0);
  for (const auto& [letter, seen] : count_whole_lines(job, 1000, false)) EXPECT_EQ(seen, 3000);
}

TEST(LauncherOutput, ReaderThatLeavesEndsTheWriters) {
  Job job({"-n", "2", "--", rank_program(), "write_until_broken"});
  job.wait_for_output("more\n", 10);
  job.close_output();
  const JobEnd end = job.wait();
  EXPECT_TRUE(end.code == 128 + SIGPIPE) << end.code << job.error();
  EXPECT_TRUE(job.alive().empty());
}

TEST(LauncherOutput, FullDiskIsAnError) {
  JobOptions options;
  options.before_start = [] { dup2(open("/dev/full", O_WRONLY), STDOUT_FILENO); };
  Job job({"-n", "2", "--", rank_program(), "text", "1", "lost\n"}, options);
  EXPECT_EQ(job.wait().code, 1);
  EXPECT_NE(job.error().find("No space left on device"), std::string::npos) << job.error();
}

TEST(LauncherOutput, FilesAreAppendedTo) {
  const Directory directory;
  const std::string path = directory.path() + "/log";
  JobOptions options;
  options.before_start = [&path] {
    const int file = open(path.c_str(), O_WRONLY | O_CREAT, 0600);
    if (write(file, "before\n", 7) != 7) _exit(125);
    dup2(file, STDOUT_FILENO);
  };
  Job job({"-n", "2", "--", rank_program(), "text", "1", "line\n"}, options);
  EXPECT_EQ(job.wait().code, 0) << job.error();
  char text[64] = {};
  const int file = open(path.c_str(), O_RDONLY);
  EXPECT_EQ(read(file, text, sizeof text), 17);
  EXPECT_STREQ(text, "before\nline\nline\n");
  close(file);
}

}  // namespace
}  // namespace ff::test
