// Trains a classifier of Fashion-MNIST on all ranks of a job:
//
//   ff run -n 4 -- train_fashion_mnist
//
// Rank 0 reports. In the end the program proves that the ranks hold the same weights bit for bit,
// and that one process which does the ranks' work in turn arrives at those weights bit for bit.
// Exit code: 0; 1 if something failed, a proof included; 2 if the command line is wrong.
#include <Eigen/Core>
#include <array>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <span>
#include <string>
#include <thread>

#include "data_parallel.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "proof.hpp"
#include "replay.hpp"

namespace fashion {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

int fail(const ff::Error& error) {
  std::fprintf(stderr, "train_fashion_mnist: %s: %s\n", ff_status_name(error.code),
               error.message.c_str());
  return 1;
}

ff::Result<void> check_plan(const Plan& plan, const Dataset& training, size_t ranks) {
  if (plan.batch % ranks != 0) {
    return ff::Error{FF_ERROR_ARGUMENT, "--batch " + std::to_string(plan.batch) +
                                            " cannot be shared evenly by " + std::to_string(ranks) +
                                            " ranks; give a multiple"};
  }
  if (plan.images > training.size() || plan.images < plan.batch) {
    return ff::Error{FF_ERROR_ARGUMENT,
                     "--images " + std::to_string(plan.images) + " must be between --batch " +
                         std::to_string(plan.batch) + " and the " +
                         std::to_string(training.size()) + " images that there are"};
  }
  return {};
}

// The training run of this rank, with its progress. At the end of each epoch the ranks add up their
// losses and the time they waited, so that the line tells about all of them.
ff::Result<void> train(const Plan& plan, DataParallelTrainer& trainer, ff::Communicator& comm) {
  Progress progress(plan, "train ", comm.rank() != 0);
  const auto start = Clock::now();
  const auto watch = [&](size_t steps, double loss) -> ff::Result<void> {
    const size_t taken = (steps - 1) % plan.steps_per_epoch() + 1;
    std::array<double, 2> sums = {loss,
                                  std::chrono::duration<double>(trainer.sum().waited()).count()};
    if (taken == plan.steps_per_epoch()) {
      if (auto done = comm.all_reduce(sums, ff::Op::kSum, {.name = "progress"}); !done) {
        return done.error();
      }
    } else {
      for (double& sum : sums) {
        sum *= comm.ranks();  // until then rank 0 speaks for the others
      }
    }
    progress.show(steps, sums[0] / static_cast<double>(taken * plan.batch),
                  sums[1] / (seconds_since(start) * comm.ranks()));
    return {};
  };
  return run(
      plan, [&](std::span<const uint32_t> batch, float rate) { return trainer.step(batch, rate); },
      watch);
}

// One process, the ranks' shares in turn. True if it ends with `expected`.
bool prove_by_replay(const Plan& plan, const Dataset& training, size_t ranks,
                     std::span<const float> expected) {
  const auto start = Clock::now();
  Replay replay(plan, training, ranks);
  Progress progress(plan, "replay", false);
  run(
      plan, [&](std::span<const uint32_t> batch, float rate) { return replay.step(batch, rate); },
      [&](size_t steps, double loss) -> ff::Result<void> {
        const size_t taken = (steps - 1) % plan.steps_per_epoch() + 1;
        progress.show(steps, loss / static_cast<double>(taken * plan.batch), -1);
        return {};
      })
      .value();  // nothing in a replay can fail
  const std::string odd = difference(expected, replay.network().weights());
  if (!odd.empty()) {
    std::printf("REPLAY DIFFERS: one process gets other weights: %s\n", odd.c_str());
    return false;
  }
  std::printf(
      "replay agrees: one process, %zu sub-batches in turn, gets the same weights bit for "
      "bit (hash %016" PRIx64 ", %.1f s)\n",
      ranks, fingerprint(replay.network().weights()), seconds_since(start));
  return true;
}

int main(const Options& options) {
  const Plan& plan = options.plan;
  auto training = read_dataset(options.data, "train");
  if (!training) {
    return fail(training.error());
  }
  auto test = read_dataset(options.data, "t10k");
  if (!test) {
    return fail(test.error());
  }

  // Any layout: sums are made in an order that depends on the ranks' numbers alone, which is what
  // lets one process do the same.
  auto comm = ff::Communicator::create({.numerics = ff::Numerics::kAnyLayout});
  if (!comm) {
    return fail(comm.error());
  }
  const auto ranks = static_cast<size_t>(comm->ranks());
  const bool speaks = comm->rank() == 0;
  if (auto possible = check_plan(plan, *training, ranks); !possible) {
    return fail(possible.error());
  }

  if (speaks) {
    const unsigned cpus = std::thread::hardware_concurrency();
    std::printf("%zu ranks on %u CPUs, each with %zu images of every batch of %zu%s\n", ranks, cpus,
                plan.batch / ranks, plan.batch,
                ranks > cpus ? "; waiting includes waiting for a CPU's other ranks" : "");
    std::fflush(stdout);
  }

  DataParallelTrainer trainer(plan, *training, *comm, options.bucket_bytes);
  const auto start = Clock::now();
  if (auto trained = train(plan, trainer, *comm); !trained) {
    return fail(trained.error());
  }
  const double seconds = seconds_since(start);
  auto accuracy = trainer.accuracy(*test);
  if (!accuracy) {
    return fail(accuracy.error());
  }
  const std::span<const float> weights = trainer.network().weights();
  auto agreement = compare_ranks(*comm, weights);
  if (!agreement) {
    return fail(agreement.error());
  }
  const bool accurate = 100 * *accuracy >= options.least_accuracy;
  const bool agreed = agreement->agreed();
  if (!speaks) {
    return accurate && agreed ? 0 : 1;
  }

  std::printf("trained %zu weights on %zu images, %zu ranks, %zu buckets of gradients, in %.1f s\n",
              weights.size(), plan.images, ranks, trainer.sum().buckets(), seconds);
  std::printf("accuracy %.2f %%\n", 100 * *accuracy);
  if (!accurate) {
    std::printf("TOO LOW: at least %.2f %% was asked for\n", options.least_accuracy);
  }
  if (agreed) {
    std::printf("ranks agree: all %zu hold the same weights bit for bit (hash %016" PRIx64 ")\n",
                ranks, agreement->smallest);
  } else {
    std::printf("RANKS DIFFER: weights' hashes range from %016" PRIx64 " to %016" PRIx64 "\n",
                agreement->smallest, agreement->largest);
  }
  std::fflush(stdout);
  const bool replayed = prove_by_replay(plan, *training, ranks, weights);
  return accurate && agreed && replayed ? 0 : 1;
}

}  // namespace
}  // namespace fashion

int main(int argc, char** argv) {
  // Eigen cuts its products by the sizes of the caches; the cut decides the order of additions.
  // Fixed, so that no two processes can differ however the machine describes itself to them.
  Eigen::setNbThreads(1);
  Eigen::setCpuCacheSizes(32 << 10, 512 << 10, 4 << 20);
  const fashion::Parsed parsed = fashion::parse(argc, argv);
  return parsed.exit_code ? *parsed.exit_code : fashion::main(parsed.options);
}
