#include "ff/explain/render.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ff::tools {
namespace {

// As ff_explain writes it, cut to one node's line and one step.
nlohmann::json sample() {
  return nlohmann::json::parse(R"({
    "collective": "all_reduce", "ranks": 3, "node_count": 3, "cpus_per_node": 1,
    "bytes": 4194304, "count": 1048576, "type": "float32", "op": "sum", "numerics": "default",
    "constants": {"name": "shipped", "hash": "0123456789abcdef"},
    "algorithm": "b", "summary": "along trees", "reason": "least predicted time",
    "predicted_ns": 37100, "extrapolated": false, "blocks": 2, "parts": 1, "chunks": 3,
    "piece_bytes": 1048576, "slots": 4, "staging_bytes": 4194304,
    "bottleneck": {"resource": "core", "node": 0, "core": 0, "busy_percent": 97.0,
                   "text": "core 0 of node 0, busy 97.0 % of the time"},
    "candidates": [
      {"algorithm": "a", "predicted_ns": 44200, "piece_bytes": 64, "slots": 1, "chunks": 1,
       "bottleneck": "latency"},
      {"algorithm": "b", "predicted_ns": 37100, "piece_bytes": 1048576, "slots": 4, "chunks": 3,
       "bottleneck": "core 0"},
      {"algorithm": "c", "why_not": "cannot run 3 ranks"}],
    "trees": [{"blocks": [0], "root": 1, "nodes": [
      {"node": 0, "parent": 1, "children": []}, {"node": 1, "parent": null, "children": [0, 2]},
      {"node": 2, "parent": 1, "children": []}]}],
    "rank": {"rank": 0, "node": 0, "local_rank": 0, "exit_waits_for": [], "steps": [
      {"step": 7, "kind": "reduce", "unit": "cpu",
       "in": [{"place": "send", "rank": 0, "block": 0, "part": 0},
              {"place": "ring", "ring": 5, "home": 0, "block": 0, "part": 0}],
       "out": [{"place": "recv", "rank": 0, "block": 0, "part": 0}],
       "waits": [{"step": 3, "lag": 0, "rank": 1}, {"step": 4, "lag": 2, "rank": 2}]}]},
    "proof": {"ok": true, "steps": 12, "waits": 20, "expression": "00", "rank_order": true,
              "roundings": 1, "same_for_any_size": true, "same_for_any_layout": false},
    "nodes": [{"node": 0, "ranks": 1, "caller_read_bytes": 1024, "caller_written_bytes": 1024,
               "staging_read_bytes": 0, "staging_written_bytes": 0, "sent_bytes": 2048,
               "received_bytes": 2048, "cores_busy_ns": 1500, "memory_busy_ns": 0,
               "sending_busy_ns": 1, "receiving_busy_ns": 1}]})");
}

std::string page(const nlohmann::json& json) {
  std::string error;
  std::string text = render_explanation(json.dump(), &error);
  EXPECT_EQ(error, "");
  return text;
}

void expect_line(const std::string& text, const std::string& line) {
  EXPECT_NE(("\n" + text).find("\n" + line), std::string::npos) << line << "\nis not in\n" << text;
}

TEST(Explanation, HasTheChoiceAndItsReason) {
  const std::string text = page(sample());
  expect_line(text,
              "all_reduce of 1048576 float32 (4 MiB), sum, over 3 ranks on 3 nodes with 1 core\n");
  expect_line(text,
              "b: along trees\n  because: least predicted time\n  predicted 37.1 us; 3 chunks");
  // The fastest first, and marked; what cannot run last, with the reason.
  const size_t chosen = text.find("\n› b"), other = text.find("\n  a "),
               cannot = text.find("\n  c ");
  EXPECT_LT(chosen, other);
  EXPECT_LT(other, cannot);
  EXPECT_NE(text.find("cannot run 3 ranks"), std::string::npos);
}

TEST(Explanation, DrawsTrees) {
  expect_line(page(sample()), "Tree 0 carries block 0 of 2\n  node 1\n  ├─ node 0\n  └─ node 2\n");
}

TEST(Explanation, ShowsStepsAndWhatTheyWaitFor) {
  expect_line(page(sample()),
              "       7  reduce send[0.0], ring 5 at rank 0[0.0] → recv[0.0]\n"
              "          waits for step 3 of rank 1, step 4 of rank 2 (2 chunks back)\n");
}

TEST(Explanation, AFailedProofCannotBeOverlooked) {
  nlohmann::json json = sample();
  json["proof"] = {{"ok", false}, {"text", "step 3 waits for itself"}};
  expect_line(page(json), "Proof FAILED: step 3 waits for itself\n");
}

TEST(Explanation, SaysWhatIsMissing) {
  nlohmann::json json = sample();
  json.erase("predicted_ns");
  std::string error;
  EXPECT_EQ(render_explanation(json.dump(), &error), "");
  EXPECT_NE(error.find("predicted_ns"), std::string::npos);
  error.clear();
  EXPECT_EQ(render_explanation("{", &error), "");
  EXPECT_FALSE(error.empty());
}

}  // namespace
}  // namespace ff::tools
