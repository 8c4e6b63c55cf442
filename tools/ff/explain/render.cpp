#include "ff/explain/render.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

namespace ff::tools {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostTreeLines = 40, kMostNodeLines = 8, kMostOperands = 4;

std::string time_text(double ns) {
  static constexpr const char* kUnits[] = {"ns", "us", "ms", "s"};
  size_t unit = 0;
  while (ns >= 999.95 && unit + 1 < std::size(kUnits)) {
    ns /= 1000;
    unit++;
  }
  return fmt::format("{:.4g} {}", ns, kUnits[unit]);
}

std::string bytes_text(double bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    unit++;
  }
  return fmt::format("{:.4g} {}", bytes, kUnits[unit]);
}

void add_candidates(std::string& out, const Json& json) {
  std::vector<Json> able, others;
  for (const Json& candidate : json.at("candidates")) {
    (candidate.contains("predicted_ns") ? able : others).push_back(candidate);
  }
  std::stable_sort(able.begin(), able.end(), [](const Json& a, const Json& b) {
    return a.at("predicted_ns").get<double>() < b.at("predicted_ns").get<double>();
  });
  out += fmt::format("\n  {:<22}{:>12}{:>12}{:>7}{:>9}  bottleneck\n", "candidate", "predicted",
                     "piece", "slots", "chunks");
  for (const Json& candidate : able) {
    out += fmt::format("{} {:<22}{:>12}{:>12}{:>7}{:>9}  {}\n",
                       candidate.at("algorithm") == json.at("algorithm") ? "›" : " ",
                       candidate.at("algorithm").get<std::string>(),
                       time_text(candidate.at("predicted_ns").get<double>()),
                       bytes_text(candidate.at("piece_bytes").get<double>()),
                       candidate.at("slots").get<int>(), candidate.at("chunks").get<uint64_t>(),
                       candidate.at("bottleneck").get<std::string>());
  }
  for (const Json& candidate : others) {
    out += fmt::format("  {:<22}  {}\n", candidate.at("algorithm").get<std::string>(),
                       candidate.at("why_not").get<std::string>());
  }
}

class TreeDrawing {
 public:
  explicit TreeDrawing(const Json& nodes) : nodes_(nodes) {}

  std::vector<std::string> lines(unsigned root) {
    draw(root, "", "");
    return std::move(lines_);
  }

 private:
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the tree
  void draw(unsigned node, const std::string& first, const std::string& rest) {
    lines_.push_back(fmt::format("{}node {}", first, node));
    const Json& children = nodes_.at(node).at("children");
    for (size_t i = 0; i < children.size(); i++) {
      const bool last = i + 1 == children.size();
      draw(children.at(i).get<unsigned>(), rest + (last ? "└─ " : "├─ "),
           rest + (last ? "   " : "│  "));
    }
  }

  const Json& nodes_;
  std::vector<std::string> lines_;
};

void add_trees(std::string& out, const Json& json) {
  size_t number = 0;
  for (const Json& tree : json.at("trees")) {
    std::string blocks;
    for (const Json& block : tree.at("blocks")) {
      blocks += fmt::format("{}{}", blocks.empty() ? "" : ", ", block.get<unsigned>());
    }
    out += fmt::format("\nTree {} carries block{} {} of {}\n", number++,
                       tree.at("blocks").size() == 1 ? "" : "s", blocks,
                       json.at("blocks").get<unsigned>());
    const std::vector<std::string> lines =
        TreeDrawing(tree.at("nodes")).lines(tree.at("root").get<unsigned>());
    for (size_t i = 0; i < lines.size() && i < kMostTreeLines; i++) {
      out += "  " + lines[i] + "\n";
    }
    if (lines.size() > kMostTreeLines) {
      out += fmt::format("  … {} more nodes (-J has all)\n", lines.size() - kMostTreeLines);
    }
  }
}

std::string operands_text(const Json& operands) {
  std::string text;
  for (size_t i = 0; i < operands.size(); i++) {
    if (i == kMostOperands && operands.size() > kMostOperands + 1) {
      return text + fmt::format(", … {} in all", operands.size());
    }
    const Json& operand = operands.at(i);
    const std::string place = operand.at("place").get<std::string>();
    text += i == 0 ? "" : ", ";
    text += place == "ring" ? fmt::format("ring {} at rank {}", operand.at("ring").get<unsigned>(),
                                          operand.at("home").get<unsigned>())
                            : place;
    text += fmt::format("[{}.{}]", operand.at("block").get<unsigned>(),
                        operand.at("part").get<unsigned>());
  }
  return text;
}

void add_steps(std::string& out, const Json& json) {
  const Json& rank = json.at("rank");
  out += fmt::format(
      "\nRank {} (local rank {} of node {}) fires, for each chunk, [block.part] of it\n",
      rank.at("rank").get<unsigned>(), rank.at("local_rank").get<unsigned>(),
      rank.at("node").get<unsigned>());
  for (const Json& step : rank.at("steps")) {
    out += fmt::format("  {:>6}  {:<6} {} → {}\n", step.at("step").get<unsigned>(),
                       step.at("kind").get<std::string>(), operands_text(step.at("in")),
                       operands_text(step.at("out")));
    std::string waits;
    size_t shown = 0;
    for (const Json& wait : step.at("waits")) {
      if (shown++ == kMostOperands) {
        waits += fmt::format(", … {} in all", step.at("waits").size());
        break;
      }
      waits += fmt::format("{}step {} of rank {}", waits.empty() ? "" : ", ",
                           wait.at("step").get<unsigned>(), wait.at("rank").get<unsigned>());
      if (const auto lag = wait.at("lag").get<unsigned>(); lag != 0) {
        waits += fmt::format(" ({} chunk{} back)", lag, lag == 1 ? "" : "s");
      }
    }
    if (!waits.empty()) out += fmt::format("          waits for {}\n", waits);
  }
}

void add_proof(std::string& out, const Json& json) {
  const Json& proof = json.at("proof");
  if (!proof.at("ok").get<bool>()) {
    out += fmt::format("\nProof FAILED: {}\n", proof.at("text").get<std::string>());
    return;
  }
  out += fmt::format(
      "\nProved for every number of chunks and every order of firing: no deadlock, no slot "
      "overwritten,\nno race, each input exactly once, the same bits on all ranks ({} steps, {} "
      "waits).\nOrder of ranks {}; {} rounding{} at most; bits {} on the size, {} on how ranks are "
      "spread.\n",
      proof.at("steps").get<uint64_t>(), proof.at("waits").get<uint64_t>(),
      proof.at("rank_order").get<bool>() ? "kept" : "not kept",
      proof.at("roundings").get<unsigned>(), proof.at("roundings") == 1 ? "" : "s",
      proof.at("same_for_any_size").get<bool>() ? "do not depend" : "depend",
      proof.at("same_for_any_layout").get<bool>() ? "do not" : "depend");
}

void add_nodes(std::string& out, const Json& json) {
  out += fmt::format("\n  {:<6}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}\n", "node", "read",
                     "written", "slots read", "slots wr.", "sent", "received", "cores busy");
  size_t shown = 0;
  const Json& nodes = json.at("nodes");
  for (const Json& node : nodes) {
    if (shown++ == kMostNodeLines && nodes.size() > kMostNodeLines + 1) {
      out += fmt::format("  … {} nodes in all (-J has them)\n", nodes.size());
      break;
    }
    const auto bytes = [&](const char* key) { return bytes_text(node.at(key).get<double>()); };
    out += fmt::format("  {:<6}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}\n",
                       node.at("node").get<unsigned>(), bytes("caller_read_bytes"),
                       bytes("caller_written_bytes"), bytes("staging_read_bytes"),
                       bytes("staging_written_bytes"), bytes("sent_bytes"), bytes("received_bytes"),
                       time_text(node.at("cores_busy_ns").get<double>()));
  }
}

}  // namespace

std::string render_explanation(const std::string& text, std::string* error) {
  const Json json = Json::parse(text, nullptr, false);
  std::string out;
  try {
    out += fmt::format(
        "{} of {} {} ({}), {}, over {} ranks on {} node{} with {} core{}\n",
        json.at("collective").get<std::string>(), json.at("count").get<uint64_t>(),
        json.at("type").get<std::string>(), bytes_text(json.at("bytes").get<double>()),
        json.at("op").get<std::string>(), json.at("ranks").get<unsigned>(),
        json.at("node_count").get<unsigned>(), json.at("node_count") == 1 ? "" : "s",
        json.at("cpus_per_node").get<unsigned>(), json.at("cpus_per_node") == 1 ? "" : "s");
    out += fmt::format("constants: {} ({})\n\n", json.at("constants").at("name").get<std::string>(),
                       json.at("constants").at("hash").get<std::string>());
    out += fmt::format("{}: {}\n  because: {}\n", json.at("algorithm").get<std::string>(),
                       json.at("summary").get<std::string>(), json.at("reason").get<std::string>());
    out += fmt::format(
        "  predicted {}; {} chunk{} of {} block{} x {} part{} of up to {}; {} slot{} a ring; {} of "
        "staging a rank\n  bottleneck: {}\n",
        time_text(json.at("predicted_ns").get<double>()), json.at("chunks").get<uint64_t>(),
        json.at("chunks") == 1 ? "" : "s", json.at("blocks").get<unsigned>(),
        json.at("blocks") == 1 ? "" : "s", json.at("parts").get<unsigned>(),
        json.at("parts") == 1 ? "" : "s", bytes_text(json.at("piece_bytes").get<double>()),
        json.at("slots").get<unsigned>(), json.at("slots") == 1 ? "" : "s",
        bytes_text(json.at("staging_bytes").get<double>()),
        json.at("bottleneck").at("text").get<std::string>());
    add_candidates(out, json);
    add_trees(out, json);
    add_steps(out, json);
    add_nodes(out, json);
    add_proof(out, json);
  } catch (const Json::exception& wrong) {
    *error = fmt::format("the library's explanation is not as expected: {}", wrong.what());
    return {};
  }
  return out;
}

}  // namespace ff::tools
