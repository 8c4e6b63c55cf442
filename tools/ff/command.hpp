// What a subcommand of `ff` is to main.cpp: an option parser and a function to run.
//
// A new subcommand is a source file that defines `Command add_NAME(CLI::App&)`, a declaration at
// the end of this header, and a line in main.cpp's list. Parsing never does the work: `run` is
// called once, after the whole command line was accepted, so that a typing mistake costs nothing.
// It prints its own errors and returns the exit code of the process.
#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace ff::tools {

// Wrong use, by the shell's convention; a command that ran and failed returns something else.
constexpr int kExitUsage = 2;

struct Command {
  CLI::App* app = nullptr;   // owned by the App that it was added to
  std::function<int()> run;  // owns the parsed options
  // Where the words after "--" go, unparsed (CLI11 would read "[1,2]" or "" its own way). It must
  // live as long as `run`; set only if there is a "--". nullptr: this command takes none.
  std::optional<std::vector<std::string>>* words_after_dashes = nullptr;
};

Command add_explain(CLI::App& parent);
Command add_perf(CLI::App& parent);
Command add_run(CLI::App& parent);

}  // namespace ff::tools
