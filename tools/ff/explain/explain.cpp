// ff explain: which algorithm a collective would take, and why; drawn as text from ff_explain's
// JSON.
#include <fmt/core.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>

#include "ff/command.hpp"
#include "ff/explain/render.hpp"
#include "fireflyer/fireflyer.h"

namespace ff::tools {
namespace {

struct ExplainOptions {
  std::string collective = "all_reduce";
  std::vector<std::pair<const char*, std::string>> words;  // name, value; empty: not said
  std::string json_file;
};

int write_file(const std::string& path, const std::string& text) {
  std::FILE* file = path == "-" ? stdout : std::fopen(path.c_str(), "w");
  bool written = file != nullptr && std::fputs(text.c_str(), file) >= 0 &&
                 std::fputc('\n', file) != EOF && std::fflush(file) == 0;
  if (file != nullptr && file != stdout) written = std::fclose(file) == 0 && written;
  if (written) return 0;
  fmt::print(stderr, "ff explain: cannot write {}: {}\n", path, std::strerror(errno));
  return 1;
}

int explain(const ExplainOptions& options) {
  std::string request = options.collective;
  for (const auto& [name, value] : options.words) {
    if (!value.empty()) request += fmt::format(" {}={}", name, value);
  }
  char* answer = nullptr;
  if (ff_explain(request.c_str(), &answer) != FF_OK) {
    fmt::print(stderr, "ff explain: {}\n", ff_last_error());
    return 1;
  }
  const std::unique_ptr<char, void (*)(void*)> text(
      answer, [](void* p) { ff_free_text(static_cast<char*>(p)); });
  if (!options.json_file.empty()) {
    if (const int failed = write_file(options.json_file, text.get()); failed != 0) return failed;
    if (options.json_file == "-") return 0;
  }
  std::string error;
  const std::string page = render_explanation(text.get(), &error);
  if (!error.empty()) {
    fmt::print(stderr, "ff explain: {}\n", error);
    return 1;
  }
  fmt::print("{}", page);
  return 0;
}

}  // namespace

Command add_explain(CLI::App& parent) {
  const auto options = std::make_shared<ExplainOptions>();
  CLI::App* app = parent.add_subcommand("explain", "Which algorithm would run, and why");
  app->add_option("collective", options->collective, "all_reduce")->capture_default_str();
  struct Flag {
    const char* name;
    const char* word;
    const char* help;
  };
  static constexpr Flag kFlags[] = {
      {"-n,--ranks", "ranks", "ranks in the group"},
      {"-N,--nodes", "nodes", "nodes they are on, consecutive ranks together (1)"},
      {"-b,--bytes", "bytes", "of one rank's vector, as in 64M"},
      {"-d,--type", "type", "of an element (float32)"},
      {"-o,--op", "op", "operation (sum)"},
      {"--cpus", "cpus", "cores of a node (one a rank)"},
      {"--rank", "rank", "whose steps to show (0)"},
      {"--algorithm", "algorithm", "instead of the planner's choice"},
      {"--chunk", "chunk", "bytes of a chunk, instead of the planner's choice"},
      {"--slots", "slots", "chunks in flight, instead of the planner's choice"},
      {"--numerics", "numerics", "default, any_size or any_layout"},
      {"--staging", "staging", "bytes of shared memory a rank"},
      {"--memory", "memory", "link class of cores: near, far"},
      {"--network", "network", "link class of nodes: tcp1, tcp10, tcp25, tcp100"},
      {"--constants", "constants", "file with a table of constants"},
  };
  options->words.reserve(std::size(kFlags));
  for (const Flag& flag : kFlags) {
    options->words.emplace_back(flag.word, std::string());
    CLI::Option* option = app->add_option(flag.name, options->words.back().second, flag.help);
    if (flag.word == std::string_view("ranks") || flag.word == std::string_view("bytes")) {
      option->required();
    }
  }
  app->add_option("-J,--json", options->json_file, "also write the answer as JSON; - for stdout");
  return {app, [options] { return explain(*options); }, nullptr};
}

}  // namespace ff::tools
