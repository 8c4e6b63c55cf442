#include "ff/perf/json.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace ff::tools::perf {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> keys(const Json& json) {
  std::vector<std::string> all;
  for (const auto& [key, value] : json.items()) all.push_back(key);
  return all;
}

RunInfo info() {
  return {{"ff", "perf", "all_reduce", "-b", "4"},
          {"FF_LOG=3"},
          100,
          "2026-01-02 03:04:05",
          "2026-01-02 03:04:06",
          {{0, 10, "a", 0, "cpu"}, {1, 11, "a", 1, "cpu"}}};
}

Row example() {
  Row row;
  row.bytes = 1 << 20;
  row.count = 1 << 18;
  row.out_of_place = {1e-3, 0, std::nullopt};
  row.in_place = {2e-3, std::nullopt, std::nullopt};
  return row;
}

TEST(Json, HasTheKeysOfNcclTestsInTheirOrder) {
  Options options;
  options.step_factor = 2;
  const Json json = document(options, info(), {example()}, {});
  EXPECT_EQ(keys(json), (std::vector<std::string>{"version", "start_time", "args", "env",
                                                  "nccl_version", "fireflyer_version", "config",
                                                  "devices", "results", "out_of_bounds",
                                                  "average_bus_bandwidth", "errors", "end_time"}));
  EXPECT_EQ(keys(json["results"][0]),
            (std::vector<std::string>{"size", "count", "type", "redop", "root", "out_of_place",
                                      "in_place", "actual_iterations", "experiment_name"}));
  EXPECT_EQ(keys(json["results"][0]["in_place"]),
            (std::vector<std::string>{"time", "alg_bw", "bus_bw", "nwrong"}));
  EXPECT_EQ(keys(json["devices"][1]),
            (std::vector<std::string>{"rank", "group", "pid", "hostname", "device", "device_hex",
                                      "device_info"}));
  for (const char* key : {"nthreads", "ngpus", "minimum_bytes", "maximum_bytes", "step_factor",
                          "warmup_iters", "iterations", "aggregated_iterations", "validation"}) {
    EXPECT_TRUE(json["config"].contains(key)) << key;
  }
}

TEST(Json, ValuesHaveTheTypesOfNcclTests) {
  const Json json = document({}, info(), {example()}, {});
  EXPECT_EQ(json["config"]["step_bytes"], 1 << 20);
  EXPECT_EQ(json["out_of_bounds"], (Json{{"count", 0}, {"okay", "true"}}));
  EXPECT_EQ(json["average_bus_bandwidth"]["okay"], "unchecked");
  EXPECT_TRUE(json["results"][0]["root"].is_string());
  EXPECT_EQ(json["results"][0]["out_of_place"]["nwrong"], 0);
  EXPECT_TRUE(json["results"][0]["in_place"]["nwrong"].is_null());
  EXPECT_DOUBLE_EQ(json["results"][0]["out_of_place"]["time"], 1000);
  EXPECT_DOUBLE_EQ(json["results"][0]["out_of_place"]["bus_bw"], 1.048576);
}

TEST(Json, CpuTimeHasItsOwnKey) {
  Options options;
  options.cpu_time = true;
  const Json json = document(options, info(), {example()}, {});
  EXPECT_TRUE(json["results"][0]["in_place"].contains("cpu_time"));
}

TEST(Json, StatsAddKeysOfOurs) {
  Options options;
  options.stats = true;
  Row row = example();
  row.in_place.spread = Percentiles{1e-6, 2e-6, 0.5e-6};
  row.model = Model{"direct", "least predicted time", 3e-6, 1};
  row.core_to_core_before_ns = 50;
  const Json result = document(options, info(), {row}, {})["results"][0];
  EXPECT_DOUBLE_EQ(result["in_place"]["p99_us"], 2);
  EXPECT_EQ(result["algorithm"], "direct");
  EXPECT_DOUBLE_EQ(result["model_us"], 3);
  EXPECT_EQ(result["core_to_core_ns"], (Json{50.0, nullptr}));
}

TEST(Json, EnvironmentLeavesOutSecretsAndStrangers) {
  std::string texts[] = {"FF_LOG=3", "FF_SECRET=x", "HOME=/root", "AWS_KEY=1", "FF_API_TOKEN=y"};
  std::vector<char*> entries;
  for (std::string& text : texts) entries.push_back(text.data());
  entries.push_back(nullptr);
  EXPECT_EQ(relevant_environment(entries.data()), std::vector<std::string>{"FF_LOG=3"});
}

class Output : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::temp_directory_path() / ("ff_perf_" + std::to_string(getpid()));
    std::filesystem::create_directory(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::filesystem::path directory_;
};

TEST_F(Output, NeverOverwrites) {
  const std::string path = directory_ / "out.json";
  std::ofstream(path) << "mine";
  EXPECT_EQ(create_output(path).path, path + ".0");
  EXPECT_EQ(create_output(path).path, path + ".1");
  std::ifstream in(path);
  std::string text;
  in >> text;
  EXPECT_EQ(text, "mine");
}

TEST_F(Output, SaysWhyItCannotWrite) {
  const OutputFile output = create_output(directory_ / "none" / "out.json");
  EXPECT_EQ(output.file, nullptr);
  EXPECT_NE(output.error.find("No such file or directory"), std::string::npos) << output.error;
}

}  // namespace
}  // namespace ff::tools::perf
