#pragma once
#include <optional>
#include <string>

#include "training.hpp"

namespace fashion {

struct Options {
  std::string data = "/usr/share/datasets/fashion-mnist";
  size_t bucket_bytes = 128 << 10;
  double least_accuracy = 0;  // per cent; below it the program fails
  Plan plan;
};

// Reads the command line. An int is an exit code: help was asked for, or an option is wrong.
struct Parsed {
  Options options;
  std::optional<int> exit_code;
};
Parsed parse(int argc, char** argv);

}  // namespace fashion
