// ff: the command line. Finds the subcommand, hands over, returns its exit code.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "ff/command.hpp"

int main(int argc, char** argv) {
  using ff::tools::Command;
  CLI::App app("Fireflyer: all-reduce and friends for clusters without NVSwitch", "ff");
  app.set_version_flag("--version", std::string("ff ") + FF_VERSION_TEXT);
  app.require_subcommand(1);

  using Add = Command (*)(CLI::App&);
  const std::vector<Add> list = {ff::tools::add_explain, ff::tools::add_perf, ff::tools::add_run};
  std::vector<Command> commands;
  for (const Add add : list) commands.push_back(add(app));

  char** const end = argv + argc;
  char** const dashes = std::find(argv, end, std::string_view("--"));
  try {
    app.parse(static_cast<int>(dashes - argv), argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    app.exit(error);
    return ff::tools::kExitUsage;
  }
  for (const Command& command : commands) {
    if (!command.app->parsed()) continue;
    if (dashes != end) {
      if (command.words_after_dashes == nullptr) {
        fmt::print(stderr, "ff {0}: takes nothing after \"--\"; see ff {0} --help\n",
                   command.app->get_name());
        return ff::tools::kExitUsage;
      }
      command.words_after_dashes->emplace(dashes + 1, end);
    }
    return command.run();
  }
  return EXIT_FAILURE;
}
