#include "ff/perf/options.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace ff::tools::perf {
namespace {

Options parse(std::vector<std::string> words) {
  CLI::App app("", "all_reduce");
  Options options;
  add_flags(app, &options);
  std::reverse(words.begin(), words.end());  // as CLI11 wants a vector
  app.parse(words);
  // The callbacks point to this frame's options; what they filled in is what is returned.
  return options;
}

std::string refusal(const std::vector<std::string>& words) {
  try {
    parse(words);
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return "";
}

TEST(Options, DefaultsAreThoseOfNcclTests) {
  const Options options = parse({});
  EXPECT_EQ(options.min_bytes, 32u << 20);
  EXPECT_EQ(options.max_bytes, 32u << 20);
  EXPECT_EQ(options.iterations, 20);
  EXPECT_EQ(options.warmup_iterations, 1);
  EXPECT_EQ(options.calls_per_iteration, 1);
  EXPECT_EQ(options.cycles, 1);
  EXPECT_EQ(options.checks, 1);
  EXPECT_EQ(options.average, Average::kMean);
  EXPECT_EQ(options.types, std::vector<ff_type>{FF_FLOAT32});
  EXPECT_EQ(options.ops, std::vector<ff_reduce_op>{FF_SUM});
  EXPECT_TRUE(options.notes.empty());
}

// One line of scripts in use, short and long.
TEST(Options, TakesEveryFlagShort) {
  const Options options =
      parse({"-t", "2",   "-g", "1",        "-b", "8",  "-e", "1G", "-i", "2M", "-f", "2",
             "-n", "7",   "-m", "3",        "-w", "5",  "-N", "2",  "-p", "1",  "-c", "0",
             "-o", "max", "-d", "half",     "-r", "-1", "-z", "0",  "-y", "0",  "-T", "9",
             "-G", "0",   "-C", "1",        "-a", "3",  "-R", "0",  "-x", "0",  "-D", "0",
             "-S", "1",   "-J", "out.json", "-M", "0",  "-u", "3",  "-I", "1",  "-K", "4"});
  EXPECT_EQ(options.threads, 2);
  EXPECT_EQ(options.min_bytes, 8u);
  EXPECT_EQ(options.max_bytes, 1u << 30);
  EXPECT_EQ(options.step_bytes, 2u << 20);
  EXPECT_EQ(options.step_factor, 2);
  EXPECT_EQ(options.iterations, 7);
  EXPECT_EQ(options.calls_per_iteration, 3);
  EXPECT_EQ(options.warmup_iterations, 5);
  EXPECT_EQ(options.cycles, 2);
  EXPECT_EQ(options.checks, 0);
  EXPECT_EQ(options.ops, std::vector<ff_reduce_op>{FF_MAX});
  EXPECT_EQ(options.types, std::vector<ff_type>{FF_FLOAT16});
  EXPECT_FALSE(options.blocking);
  EXPECT_EQ(options.timeout_seconds, 9);
  EXPECT_TRUE(options.cpu_time);
  EXPECT_EQ(options.average, Average::kMax);
  EXPECT_TRUE(options.timestamps);
  EXPECT_EQ(options.json_path, "out.json");
  EXPECT_EQ(options.misaligned_elements, 3);
  EXPECT_TRUE(options.stats);
  EXPECT_EQ(options.skipped_samples, 4);
  EXPECT_TRUE(options.notes.empty()) << options.notes.front();
}

TEST(Options, TakesEveryFlagLong) {
  for (const char* flag : {"--nthreads",
                           "--ngpus",
                           "--minbytes",
                           "--maxbytes",
                           "--stepbytes",
                           "--stepfactor",
                           "--iters",
                           "--agg_iters",
                           "--warmup_iters",
                           "--run_cycles",
                           "--parallel_init",
                           "--check",
                           "--root",
                           "--blocking",
                           "--stream_null",
                           "--timeout",
                           "--cudagraph",
                           "--report_cputime",
                           "--report_timestamps",
                           "--average",
                           "--local_register",
                           "--cta_policy",
                           "--device_implementation",
                           "--device_cta_count",
                           "--memory",
                           "--unalign",
                           "--per_iter_timing",
                           "--per_iter_skip"}) {
    EXPECT_EQ(refusal({"-b", "1", flag, "1"}), "") << flag;
    EXPECT_EQ(refusal({"-b", "1", std::string(flag) + "=1"}), "") << flag;
  }
  EXPECT_EQ(refusal({"--minbytes", "1"}), "");
  EXPECT_EQ(refusal({"--op", "prod", "--datatype", "double", "--output_file", "x.json"}), "");
}

TEST(Options, NamesTheDeviceFlagsThatChangeNothing) {
  const Options options = parse({"-G", "4", "-R", "1", "-g", "2"});
  ASSERT_EQ(options.notes.size(), 3u);
  EXPECT_EQ(options.notes[0].find("-G,--cudagraph 4"), 0u) << options.notes[0];
  EXPECT_EQ(options.notes[1].find("-R,--local_register 1"), 0u) << options.notes[1];
  EXPECT_EQ(options.notes[2].find("-g 2"), 0u) << options.notes[2];
}

TEST(Options, RefusesUnknownNamesAndListsTheKnown) {
  EXPECT_NE(refusal({"-d", "floot"}).find("unknown type 'floot'; known are: int8"),
            std::string::npos);
  EXPECT_NE(refusal({"-o", "mulsum"}).find("unknown operation 'mulsum'; known are: sum"),
            std::string::npos);
  EXPECT_NE(refusal({"--no_such_flag", "1"}), "");
  EXPECT_NE(refusal({"word"}), "");
}

TEST(Options, RefusesWhatMakesNoSense) {
  EXPECT_NE(refusal({"-b", "2", "-e", "1"}).find("2 is above -e,--maxbytes 1"), std::string::npos);
  EXPECT_NE(refusal({"-b", "64M"}), "");  // above the default -e, as in nccl-tests
  EXPECT_NE(refusal({"-b", "4X", "-e", "1G"}).find("'4X' is no size"), std::string::npos);
  EXPECT_NE(refusal({"-b", "-4"}), "");
  EXPECT_NE(refusal({"-b", "4KK"}), "");
  EXPECT_NE(refusal({"-b", "0", "-f", "2"}), "");
  EXPECT_NE(refusal({"-b", "1", "-i", "0"}), "");
  EXPECT_NE(refusal({"-n", "0"}), "");
  EXPECT_NE(refusal({"-a", "4"}), "");
  EXPECT_NE(refusal({"-o", "avg", "-d", "int32"}).find("avg is not defined for int32"),
            std::string::npos);
  EXPECT_NE(refusal({"-o", "bxor"}), "");  // of float
}

TEST(Options, TheLastOfTwoWins) {
  const Options options = parse({"-b", "4", "-e", "8", "-b", "6", "-o", "max", "-o", "min"});
  EXPECT_EQ(options.min_bytes, 6u);
  EXPECT_EQ(options.ops, std::vector<ff_reduce_op>{FF_MIN});
}

TEST(Options, AllMeansEveryTypeAndOperation) {
  const Options options = parse({"-d", "all", "-o", "all"});
  EXPECT_EQ(options.types.size(), static_cast<size_t>(FF_TYPE_COUNT));
  EXPECT_EQ(options.ops.size(), static_cast<size_t>(FF_BUILTIN_OPS));
}

TEST(Sizes, FollowFactorOrStep) {
  EXPECT_EQ(sizes(parse({"-b", "4", "-e", "1k", "-f", "4"})),
            (std::vector<uint64_t>{4, 16, 64, 256, 1024}));
  EXPECT_EQ(sizes(parse({"-b", "1M", "-e", "4M", "-i", "1.5M"})),
            (std::vector<uint64_t>{1 << 20, 5 << 19, 1 << 22}));
  EXPECT_EQ(sizes(parse({"-b", "0", "-e", "0"})), std::vector<uint64_t>{0});
  EXPECT_EQ(sizes(parse({"-b", "1", "-e", "4", "-f", "1.1"})),
            (std::vector<uint64_t>{1, 2, 3, 4}));  // never stands still
}

}  // namespace
}  // namespace ff::tools::perf
