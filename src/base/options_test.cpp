#include "base/options.hpp"

#include <gtest/gtest.h>

namespace ff {
namespace {

std::string error_of(std::string_view text) { return parse_options(text).status().message(); }

TEST(Options, EveryKey) {
  const Result<Options> options = parse_options(
      "algorithm=ring; chunk = 64K;slots=2;constants=/etc/ff.json;isa=avx2;verify=1;"
      "spins=0;yields=200;shuffle=18446744073709551615;");
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ(options->algorithm, "ring");
  EXPECT_EQ(options->chunk_bytes, 65536u);
  EXPECT_EQ(options->slots, 2u);
  EXPECT_EQ(options->constants, "/etc/ff.json");
  EXPECT_EQ(options->isa, "avx2");
  EXPECT_EQ(options->verify, true);
  EXPECT_EQ(options->spins, 0u);
  EXPECT_EQ(options->yields, 200u);
  EXPECT_EQ(options->shuffle, UINT64_MAX);
}

TEST(Options, NothingSetIsTheDefault) {
  for (const char* text : {"", " ", ";", " ;; "}) {
    const Result<Options> options = parse_options(text);
    ASSERT_TRUE(options.ok()) << '"' << text << '"';
    EXPECT_EQ(*options, Options());
  }
}

TEST(Options, WhatIsNotSetStays) {
  Options base;
  base.algorithm = "direct";
  base.slots = 3;
  const Result<Options> options = parse_options("slots=4", base);
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->algorithm, "direct");
  EXPECT_EQ(options->slots, 4u);
}

TEST(Options, NothingIsGuessed) {
  EXPECT_EQ(error_of("algoritm=ring"),
            "unknown option 'algoritm', nearest is 'algorithm'; known are algorithm, chunk, slots, "
            "constants, isa, verify, spins, yields, shuffle");
  EXPECT_EQ(error_of("algorithm"), "'algorithm' is no setting; write key=value, separated by ';'");
  EXPECT_EQ(error_of("slots=2;slots=2"), "option 'slots' is set twice");
  EXPECT_EQ(error_of("slots=0"), "option 'slots': '0' is no whole number from 1 to 64");
  EXPECT_EQ(error_of("slots=2 3"), "option 'slots': '2 3' is no whole number from 1 to 64");
  EXPECT_EQ(error_of("slots=-1"), "option 'slots': '-1' is no whole number from 1 to 64");
  EXPECT_EQ(error_of("chunk=32"), "option 'chunk': '32' is not between 64 B and 256 MiB");
  EXPECT_EQ(error_of("chunk=1G"), "option 'chunk': '1G' is not between 64 B and 256 MiB");
  EXPECT_EQ(error_of("verify=yes"), "option 'verify': 'yes' is neither 0 nor 1");
  EXPECT_EQ(error_of("algorithm="), "option 'algorithm': has no value");
  EXPECT_EQ(error_of("shuffle=18446744073709551616"),
            "option 'shuffle': '18446744073709551616' is no whole number from 0 to "
            "18446744073709551615");
}

TEST(Options, TheCommunicatorsOwnWin) {
  const Environment environment({{"FF_OPTIONS", "algorithm=ring;isa=avx512;verify=0;slots=2"},
                                 {"FF_ISA", "avx2"},
                                 {"FF_VERIFY", "1"}});
  const Result<Options> options = read_options(environment, "slots=4");
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ(options->algorithm, "ring");
  EXPECT_EQ(options->isa, "avx2");
  EXPECT_EQ(options->verify, true);
  EXPECT_EQ(options->slots, 4u);
}

TEST(Options, AnErrorSaysWhereItIs) {
  EXPECT_EQ(read_options(Environment(Environment::Values{{"FF_OPTIONS", "slots=x"}}), "")
                .status()
                .message(),
            "FF_OPTIONS: option 'slots': 'x' is no whole number from 1 to 64");
  EXPECT_EQ(
      read_options(Environment(Environment::Values{{"FF_VERIFY", "x"}}), "").status().message(),
      "FF_VERIFY: 'x' is neither 0 nor 1");
  EXPECT_EQ(read_options(Environment(Environment::Values()), "x=1").status().code(),
            FF_ERROR_ARGUMENT);
}

TEST(Options, LogLevels) {
  EXPECT_EQ(*parse_log_level("debug"), LogLevel::kDebug);
  EXPECT_EQ(parse_log_level("INFO").status().message(),
            "'INFO' is no log level; known are error, warning, info, debug");
}

}  // namespace
}  // namespace ff
