#include "planner/explain.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

namespace ff {
namespace {

nlohmann::json answer(const std::string& request) {
  const Result<std::string> text = explain(request);
  EXPECT_TRUE(text.ok()) << text.status().message();
  return text.ok() ? nlohmann::json::parse(text.value()) : nlohmann::json();
}

std::string error(const std::string& request) {
  const Result<std::string> text = explain(request);
  EXPECT_FALSE(text.ok()) << request;
  EXPECT_EQ(text.status().code(), FF_ERROR_ARGUMENT) << request;
  return text.status().message();
}

TEST(Explain, SaysWhatIsDoneAndWhy) {
  const auto json = answer("all_reduce ranks=16 nodes=2 bytes=64M cpus=8");
  EXPECT_EQ(json["ranks"], 16);
  EXPECT_EQ(json["bytes"], 64 << 20);
  EXPECT_EQ(json["count"], 16 << 20);
  EXPECT_EQ(json["type"], "float32");
  EXPECT_EQ(json["nodes"].size(), 2u);
  EXPECT_EQ(json["nodes"][0]["ranks"], 8);
  EXPECT_TRUE(json["proof"]["ok"].get<bool>());
  double least = 1e300;
  for (const auto& candidate : json["candidates"]) {
    ASSERT_NE(candidate.contains("predicted_ns"), candidate.contains("why_not"));
    if (candidate.contains("predicted_ns")) {
      least = std::min(least, candidate["predicted_ns"].get<double>());
    }
  }
  EXPECT_EQ(json["predicted_ns"], least);
  EXPECT_EQ(json["candidates"].size(), algorithms().size());
  EXPECT_FALSE(json["bottleneck"]["text"].get<std::string>().empty());
}

TEST(Explain, DrawsTheTreesThatTheScheduleHas) {
  const auto json = answer("all_reduce ranks=12 nodes=12 bytes=1M algorithm=double_tree");
  ASSERT_EQ(json["trees"].size(), 2u);
  std::set<unsigned> blocks;
  for (const auto& tree : json["trees"]) {
    for (const auto& block : tree["blocks"]) blocks.insert(block.get<unsigned>());
    unsigned children = 0, roots = 0;
    for (const auto& node : tree["nodes"]) {
      children += static_cast<unsigned>(node["children"].size());
      roots += node["parent"].is_null() ? 1 : 0;
      EXPECT_LE(node["children"].size(), 2u);
      for (const auto& child : node["children"]) {
        EXPECT_EQ(tree["nodes"][child.get<size_t>()]["parent"], node["node"]);
      }
    }
    EXPECT_EQ(children, 11u);
    EXPECT_EQ(roots, 1u);
  }
  EXPECT_EQ(blocks, (std::set<unsigned>{0, 1}));
  EXPECT_EQ(json["trees"][0]["root"], 7);  // 2^floor(log2 12) - 1
  EXPECT_TRUE(answer("all_reduce ranks=12 nodes=12 bytes=1M algorithm=ring")["trees"].empty());
  EXPECT_TRUE(answer("all_reduce ranks=4 bytes=1M")["trees"].empty());
}

TEST(Explain, ShowsOneRanksSteps) {
  const auto json = answer("all_reduce ranks=3 bytes=3M algorithm=direct rank=2");
  EXPECT_EQ(json["rank"]["rank"], 2);
  const auto& steps = json["rank"]["steps"];
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[0]["kind"], "copy");
  EXPECT_EQ(steps[1]["kind"], "reduce");
  EXPECT_EQ(steps[1]["in"].size(), 3u);
  EXPECT_EQ(steps[1]["waits"].size(), 2u);  // the others' contributions
  EXPECT_EQ(steps[2]["kind"], "copy");
}

TEST(Explain, CountsBytes) {
  const auto json = answer("all_reduce ranks=4 nodes=4 bytes=4M algorithm=hierarchical_direct");
  for (const auto& node : json["nodes"]) {
    EXPECT_EQ(node["sent_bytes"], 2 * 3 * (1 << 20));
    EXPECT_EQ(node["received_bytes"], 2 * 3 * (1 << 20));
  }
}

TEST(Explain, AnswersForAGroupThatExists) {
  Planner planner({.placement = Placement::one_node(2),
                   .cpus_per_node = 2,
                   .staging_bytes = 4 << 20,
                   .constants = shipped_constants().value(),
                   .overrides = {}});
  const Result<std::string> text = explain("explain all_reduce bytes=64K type=bf16", planner);
  ASSERT_TRUE(text.ok()) << text.status().message();
  const auto json = nlohmann::json::parse(*text);
  EXPECT_EQ(json["ranks"], 2);
  EXPECT_EQ(json["type"], "bfloat16");
  const Status group = explain("all_reduce bytes=64K ranks=3", planner).status();
  EXPECT_NE(group.message().find("unknown word 'ranks=3'; known are, each with '=': bytes type"),
            std::string::npos)
      << group.message();
  EXPECT_FALSE(explain("all_reduce bytes=64K rank=2", planner).ok());
}

TEST(Explain, WrongWordsAreNamed) {
  EXPECT_NE(error("").find("is incomplete"), std::string::npos);
  EXPECT_NE(error("all_reduce ranks=4").find("is incomplete"), std::string::npos);
  EXPECT_NE(error("all_gather ranks=4").find("unknown collective 'all_gather'"), std::string::npos);
  EXPECT_NE(error("all_reduce ranks=4 bytes=1 node=2").find("unknown word 'node=2'"),
            std::string::npos);
  EXPECT_NE(error("all_reduce ranks=4 bytes").find("unknown word 'bytes'"), std::string::npos);
  EXPECT_NE(error("all_reduce ranks=4 ranks=5 bytes=4").find("'ranks=5': said twice"),
            std::string::npos);
  EXPECT_NE(error("all_reduce ranks=0 bytes=4").find("'ranks=0': a whole number from 1"),
            std::string::npos);
  EXPECT_NE(error("all_reduce ranks=4x bytes=4").find("'ranks=4x'"), std::string::npos);
  EXPECT_NE(error("all_reduce ranks=4 bytes=4Q").find("'bytes=4Q'"), std::string::npos);
  EXPECT_NE(error("all_reduce ranks=4 bytes=6").find("no whole number of float32"),
            std::string::npos);
  EXPECT_NE(error("all_reduce ranks=2 nodes=3 bytes=4").find("nodes=3 are more"),
            std::string::npos);
  EXPECT_NE(error("all_reduce ranks=2 rank=2 bytes=4").find("rank=2 of ranks=2"),
            std::string::npos);
  EXPECT_NE(error("all_reduce ranks=2 bytes=4 algorithm=x").find("unknown algorithm 'x'"),
            std::string::npos);
  EXPECT_NE(error("all_reduce ranks=2 bytes=4 numerics=x").find("any_layout"), std::string::npos);
  EXPECT_NE(error("all_reduce ranks=2 bytes=4 network=x").find("tcp100"), std::string::npos);
  EXPECT_NE(error("all_reduce ranks=2 bytes=4 slots=0").find("'slots=0'"), std::string::npos);
  EXPECT_NE(error("all_reduce ranks=2 bytes=4 constants=f memory=near").find("say one"),
            std::string::npos);
  EXPECT_EQ(explain("all_reduce ranks=2 bytes=4 constants=/no/file").status().code(),
            FF_ERROR_SYSTEM);
}

TEST(Explain, AClusterOf1440Ranks) {
  const auto json = answer("all_reduce ranks=1440 nodes=180 bytes=64M network=tcp100");
  EXPECT_TRUE(json["proof"]["ok"].get<bool>());
  EXPECT_EQ(json["nodes"].size(), 180u);
}

}  // namespace
}  // namespace ff
