// What no all-reduce on this host can beat, measured as a row like the libraries'.
//
// Each rank has to read its vector and write the result over it: one pass over every rank's memory,
// with as many threads as there are ranks or CPUs. Besides, something has to cross from one core to
// another once; and where ranks outnumber CPUs, each CPU has to change from rank to rank.
//
// Arguments: RANKS, then those of every program.
#include <pthread.h>

#include "loop.hpp"

namespace {

using bench::Clock;

// Time to hand a CPU over to another thread and no more: the best of many short rounds, since any
// other thread on that CPU would be counted, too.
double switch_seconds(int cpu) {
  constexpr int kRounds = 40, kYields = 250;
  double best = 1;
  pthread_barrier_t start;
  pthread_barrier_init(&start, nullptr, 2);
  const auto yield = [&](bool timed) {
    bench::pin(cpu);
    for (int round = 0; round < kRounds; round++) {
      pthread_barrier_wait(&start);
      const auto from = Clock::now();
      for (int i = 0; i < kYields; i++) sched_yield();
      if (timed) best = std::min(best, bench::seconds_since(from) / (2.0 * kYields));
    }
  };
  std::thread one(yield, true), two(yield, false);
  one.join();
  two.join();
  pthread_barrier_destroy(&start);
  return best;
}

// One pass over the vectors of the ranks that live on this CPU.
void pass(const std::vector<float*>& vectors, size_t count, float add) {
  for (float* vector : vectors) {
    for (size_t i = 0; i < count; i++) vector[i] += add;
  }
}

struct Worker {
  int cpu;
  std::vector<float*> vectors;
  std::vector<double> samples;
};

std::vector<double> time_passes(std::vector<Worker>& workers, size_t bytes,
                                const bench::Arguments& arguments) {
  const size_t count = bytes / sizeof(float);
  pthread_barrier_t start;
  pthread_barrier_init(&start, nullptr, static_cast<unsigned>(workers.size()));
  std::vector<std::thread> threads;
  for (Worker& worker : workers) {
    threads.emplace_back([&worker, &start, &arguments, count, bytes] {
      bench::pin(worker.cpu);
      pass(worker.vectors, count, 0);
      // Short passes are timed many at once: the clock would be most of each.
      const size_t batch = std::max<size_t>(1, (32 << 10) / std::max<size_t>(bytes, 1));
      pthread_barrier_wait(&start);
      const auto begin = Clock::now();
      do {
        const auto from = Clock::now();
        for (size_t i = 0; i < batch; i++) {
          pass(worker.vectors, count, 1);
          asm volatile("" ::: "memory");
        }
        worker.samples.push_back(bench::seconds_since(from) / static_cast<double>(batch));
      } while (bench::seconds_since(begin) < arguments.least_seconds);
    });
  }
  for (std::thread& thread : threads) thread.join();
  pthread_barrier_destroy(&start);
  std::vector<double>* slowest = &workers[0].samples;
  for (Worker& worker : workers) {
    if (bench::spread(worker.samples).median > bench::spread(*slowest).median) {
      slowest = &worker.samples;
    }
  }
  return *slowest;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "arguments: RANKS NAME SIZES LEAST_SECONDS MOST_SECONDS\n");
    return 2;
  }
  const auto ranks = static_cast<size_t>(std::atoi(argv[1]));
  const bench::Arguments arguments = bench::parse(argc - 1, argv + 1);
  const std::vector<int> cpus = bench::cpus();
  const size_t used = std::min(ranks, cpus.size());
  const double change = ranks > cpus.size() ? switch_seconds(cpus[0]) : 0;
  const auto probe = [&cpus] {
    return cpus.size() < 2 ? 0.0 : bench::core_to_core_ns(cpus[0], cpus[1]);
  };

  for (const size_t bytes : arguments.sizes) {
    std::vector<Worker> workers(used);
    std::vector<std::unique_ptr<float, void (*)(void*)>> memory;
    for (size_t rank = 0; rank < ranks; rank++) {
      void* vector = nullptr;
      if (posix_memalign(&vector, 4096, std::max<size_t>(bytes, 4096)) != 0) return 1;
      std::memset(vector, 0, std::max<size_t>(bytes, 4096));
      memory.emplace_back(static_cast<float*>(vector), std::free);
      workers[rank % used].cpu = cpus[rank % used];
      workers[rank % used].vectors.push_back(static_cast<float*>(vector));
    }
    const double before = probe();
    std::vector<double> samples = time_passes(workers, bytes, arguments);
    const double after = probe();
    const double fixed = std::min(before, after) * 1e-9 +
                         change * static_cast<double>(used < ranks ? (ranks + used - 1) / used : 0);
    const size_t passes = samples.size();
    for (double& sample : samples) sample += fixed;
    const bench::Spread s = bench::spread(samples);
    std::printf("%s,%zu,%zu,%.3f,%.3f,%.3f,%.3f,%.3f,%zu,%.0f,%.0f,ok\n", arguments.name.c_str(),
                ranks, bytes, s.median * 1e6, s.p10 * 1e6, s.p90 * 1e6, s.p99 * 1e6, s.mean * 1e6,
                passes, before, after);
    std::fflush(stdout);
  }
}
