// The options of `ff run`.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "ff/command.hpp"
#include "ff/run/environment.hpp"
#include "ff/run/launcher.hpp"
#include "ff/run/options.hpp"

namespace ff::tools {
namespace {

using run::Options;

std::chrono::nanoseconds nanoseconds_of(double seconds) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(seconds));
}

struct Parsed {
  Options options;
  std::string bind = "none", tag;
  double timeout_seconds = 0, grace_seconds = 5;
  std::optional<std::vector<std::string>> after_dashes;
};

void add_options(CLI::App& app, Parsed& parsed) {
  // A century, so that seconds still fit into nanoseconds.
  const CLI::Range seconds(0.0, 3.2e9);
  app.add_option("-n", parsed.options.ranks, "How many ranks (processes) to start")
      ->required()
      ->type_name("N");
  app.add_option("--bind", parsed.bind, "core: rank r to the r-th CPU this process may use; none")
      ->check(CLI::IsMember({"core", "none"}))
      ->capture_default_str();
  app.add_option("-x", parsed.options.exports,
                 "Set a variable for the ranks (they inherit the environment anyway). Repeatable")
      ->type_name("VAR[=VALUE]")
      ->type_size(1)
      ->allow_extra_args(false);
  app.add_option("--wdir", parsed.options.directory, "Directory that the ranks start in")
      ->type_name("D");
  app.add_option("--timeout", parsed.timeout_seconds,
                 "Seconds after which the whole job is ended, with exit code 124")
      ->type_name("S")
      ->check(seconds);
  app.add_option("--grace", parsed.grace_seconds, "Seconds between SIGTERM and SIGKILL")
      ->type_name("S")
      ->check(seconds)
      ->capture_default_str();
  app.add_option("--tag", parsed.tag,
                 "Put [rank] in front of each line of output; default: only on a terminal")
      ->check(CLI::IsMember({"yes", "no"}));
}

// The words of the program: what follows "--", or the first word that is no option.
std::vector<std::string> program_of(const CLI::App& app, const Parsed& parsed) {
  std::vector<std::string> words = app.remaining();
  if (!parsed.after_dashes) return words;
  if (!words.empty()) words.push_back("--");  // the program's own
  words.insert(words.end(), parsed.after_dashes->begin(), parsed.after_dashes->end());
  return words;
}

int usage_error(const std::string& problem) {
  fmt::print(stderr, "ff run: {}\nRun \"ff run --help\" for more.\n", problem);
  return kExitUsage;
}

int run_job(const CLI::App& app, Parsed& parsed) {
  Options& options = parsed.options;
  options.bind_cores = parsed.bind == "core";
  if (app.count("--timeout") > 0) options.timeout = nanoseconds_of(parsed.timeout_seconds);
  options.grace = nanoseconds_of(parsed.grace_seconds);
  if (!parsed.tag.empty()) options.tag = parsed.tag == "yes" ? run::Tag::kYes : run::Tag::kNo;
  options.program = program_of(app, parsed);
  if (!app.remaining().empty() && options.program.front().starts_with('-'))
    return usage_error(fmt::format("unknown option {}", options.program.front()));
  if (const std::string problem = run::problem_with(options); !problem.empty())
    return usage_error(problem);
  for (const std::string& name : run::missing_exports(options))
    fmt::print(stderr, "ff run: warning: -x {}: not set here, so the ranks do not get it\n", name);
  return run::launch(options);
}

}  // namespace

Command add_run(CLI::App& parent) {
  const auto parsed = std::make_shared<Parsed>();
  CLI::App* const app = parent.add_subcommand(
      "run", "Start a program as N ranks on this host: ff run -n N -- program arguments");
  app->prefix_command();  // options end where the program begins
  app->footer(
      "Exit code: 0, that of the first rank that failed (128 + signal), or 124 at --timeout.");
  add_options(*app, *parsed);
  return {app, [app, parsed] { return run_job(*app, *parsed); }, &parsed->after_dashes};
}

}  // namespace ff::tools
