#include "options.hpp"

#include <CLI/CLI.hpp>

namespace fashion {

Parsed parse(int argc, char** argv) {
  Parsed parsed;
  Options& options = parsed.options;
  Plan& plan = options.plan;
  CLI::App app{
      "Trains a classifier of Fashion-MNIST on all ranks of a job, then proves the result"};
  app.option_defaults()->always_capture_default();
  app.add_option("--data", options.data, "Folder of the four gzipped IDX files");
  app.add_option("--epochs", plan.epochs, "Passes over the training images")
      ->check(CLI::Range(1, 1000));
  app.add_option("--images", plan.images, "Training images to use")->check(CLI::Range(1, 60000));
  app.add_option("--batch", plan.batch, "Images a step, over all ranks")
      ->check(CLI::Range(1, 60000));
  app.add_option("--rate", plan.rate, "Learning rate at the start; falls linearly to 0")
      ->check(CLI::PositiveNumber);
  app.add_option("--momentum", plan.momentum, "Share of the last update that is kept")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--seed", plan.seed, "Of the initial weights and the order of the images");
  app.add_option("--bucket-bytes", options.bucket_bytes, "Least size of a gradient bucket")
      ->check(CLI::PositiveNumber);
  app.add_option("--least-accuracy", options.least_accuracy, "Fail below this accuracy, per cent")
      ->check(CLI::Range(0.0, 100.0));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    parsed.exit_code = app.exit(error);
  }
  return parsed;
}

}  // namespace fashion
