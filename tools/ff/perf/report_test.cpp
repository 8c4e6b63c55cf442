// Lines against such as nccl-tests prints: scripts cut them by column.
#include "ff/perf/report.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace ff::tools::perf {
namespace {

Row example() {
  Row row;
  row.bytes = 2097152;
  row.count = 524288;
  row.out_of_place = {355.53e-6, 0, std::nullopt};
  row.in_place = {361.77e-6, 0, std::nullopt};
  return row;
}

std::vector<std::string> words(const std::string& line) {
  std::istringstream in(line);
  return {std::istream_iterator<std::string>(in), {}};
}

TEST(Report, RowHasTheWidthsOfNcclTests) {
  EXPECT_EQ(row_line(example(), 2),
            "     2097152        524288     float     sum      -1   355.53    5.90    5.90       0"
            "   361.77    5.80    5.80       0\n");
}

TEST(Report, RowHasThirteenFieldsAlways) {
  Row row = example();
  EXPECT_EQ(words(row_line(row, 4)).size(), 13u);
  row.out_of_place.wrong = row.in_place.wrong = std::nullopt;
  EXPECT_EQ(words(row_line(row, 4)).size(), 13u);
  EXPECT_EQ(words(row_line(row, 4)).back(), "N/A");
  row.bytes = row.count = 0;
  row.in_place.seconds = 123.4;
  EXPECT_EQ(words(row_line(row, 4)).size(), 13u);
}

TEST(Report, ScriptsFindBandwidthFromTheRight) {
  const auto fields = words(row_line(example(), 8));  // bus = algorithm x 7 / 4
  EXPECT_EQ(fields[fields.size() - 2], "10.14");      // in place
  EXPECT_EQ(fields[fields.size() - 6], "10.32");      // out of place
  EXPECT_EQ(fields[fields.size() - 4], "361.77");
  EXPECT_EQ(fields[fields.size() - 8], "355.53");
}

TEST(Report, TimeStampAddsTwoFields) {
  Row row = example();
  row.time_stamp = "2026-01-02 03:04:05";
  const auto fields = words(row_line(row, 2));
  ASSERT_EQ(fields.size(), 15u);
  EXPECT_EQ(fields[14], "03:04:05");
}

TEST(Report, NumbersLoseDigitsUntilTheyFit) {
  EXPECT_EQ(fit(355.53, 7), " 355.53");
  EXPECT_EQ(fit(27211.04, 7), "27211.0");
  EXPECT_EQ(fit(144724.4, 7), " 144724");
  EXPECT_EQ(fit(12345678.9, 7), "1.2e+07");
  EXPECT_EQ(fit(0, 6), "  0.00");
  EXPECT_EQ(fit(1234.56, 6), "1234.6");
  EXPECT_EQ(fit(1234567.0, 6), " 1e+06");
  EXPECT_EQ(fit(999.996, 6), "1000.0");  // rounding adds a digit
}

TEST(Report, HeaderLinesStandOverTheirColumns) {
  Options options;
  options.step_factor = 2;
  options.blocking = false;
  const std::string text = header(options, 102, {{1, 4711, "host", 1, "A CPU"}});
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 10u);
  for (const std::string& line : lines) EXPECT_EQ(line[0], '#') << line;
  EXPECT_EQ(lines[0], "# fireflyer version 0.1.2, columns as nccl-tests");
  EXPECT_EQ(lines[2],
            "# nThread 1 nGpus 1 minBytes 33554432 maxBytes 33554432 step: 2(factor) warmup iters: "
            "1 iters: 20 agg iters: 1 validation: 1 graph: 0 unalign: 0");
  EXPECT_EQ(lines[5], "#  Rank  1 Group  0 Pid   4711 on       host device  1 [0000:00:00] A CPU");
  EXPECT_EQ(
      lines[7],
      "#                                                              out-of-place            "
      "           in-place          ");
  EXPECT_EQ(
      lines[8],
      "#       size         count      type   redop    root     time   algbw   busbw  #wrong  "
      "   time   algbw   busbw  #wrong ");
  EXPECT_EQ(
      lines[9],
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)          "
      "   (us)  (GB/s)  (GB/s)         ");
}

TEST(Report, FooterAsNcclTests) {
  Summary summary;
  summary.average_bus_gbps = 14.9966;
  EXPECT_EQ(footer(summary),
            "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 14.9966 \n#\n"
            "# Collective test concluded: all_reduce_perf\n#\n");
  summary.wrong = 3;
  summary.required_bus_gbps = 20;
  EXPECT_NE(footer(summary).find("Out of bounds values : 3 FAILED"), std::string::npos);
  EXPECT_NE(footer(summary).find(": 14.9966 FAILED"), std::string::npos);
  EXPECT_FALSE(summary.good());
}

TEST(Report, SummaryFailsBelowNineTenthsOfWhatIsRequired) {
  Summary summary;
  summary.average_bus_gbps = 9.1;
  summary.required_bus_gbps = 10;
  EXPECT_TRUE(summary.good());
  summary.average_bus_gbps = 8.9;
  EXPECT_FALSE(summary.good());
}

TEST(Report, StatsStandBehindAHash) {
  Row row = example();
  row.in_place.spread = Percentiles{2.5e-6, 4e-6, 2e-6};
  row.model = Model{"direct", "least predicted time", 2.25e-6, 1};
  row.core_to_core_before_ns = 48.4;
  EXPECT_EQ(stats_line(row),
            "#  out - | in p50 2.50 p99 4.00 min 2.00 us | model 2.25 us, direct: least predicted "
            "time | core to core 48 -> - ns\n");
}

TEST(Report, CsvLineHasAFieldForEachName) {
  const auto commas = [](const std::string& text) {
    return std::count(text.begin(), text.end(), ',');
  };
  Row row = example();
  EXPECT_EQ(commas(csv_line(row, 2)), commas(csv_header()));
  row.out_of_place.spread = row.in_place.spread = Percentiles{1e-6, 2e-6, 3e-6};
  row.out_of_place.wrong = std::nullopt;
  row.model = Model{"ring", "it was asked for", 1e-6, 0};
  row.core_to_core_before_ns = row.core_to_core_after_ns = 50;
  EXPECT_EQ(commas(csv_line(row, 2)), commas(csv_header()));
}

}  // namespace
}  // namespace ff::tools::perf
