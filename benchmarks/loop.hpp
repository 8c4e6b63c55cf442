// One measurement, the same for every library: float sums in place over malloc'd memory, back to
// back, with no barrier between them. A row is that of the rank with the highest median.
//
// A library is a class with `rank`, `ranks` and `void sum(float* data, size_t count)`, which
// returns when the sum over all ranks stands in `data`. The loop uses it for its own exchanges,
// too, so that no other communication runs beside what is measured.
//
// Arguments of every program: NAME SIZES LEAST_SECONDS MOST_SECONDS, sizes in bytes with commas.
// Rows: name,ranks,bytes,median,p10,p90,p99,mean (us),iterations,core to core before,after
// (ns),check
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "probe.hpp"

namespace bench {

struct Arguments {
  std::string name;
  std::vector<size_t> sizes;
  double least_seconds, most_seconds;
};

inline Arguments parse(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "arguments: NAME SIZES LEAST_SECONDS MOST_SECONDS\n");
    std::exit(2);
  }
  Arguments arguments{argv[1], {}, std::atof(argv[3]), std::atof(argv[4])};
  std::istringstream sizes(argv[2]);
  for (std::string size; std::getline(sizes, size, ',');) {
    arguments.sizes.push_back(std::stoull(size));
  }
  return arguments;
}

struct Spread {
  double median, p10, p90, p99, mean;
};

inline Spread spread(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const size_t n = samples.size();
  return {samples[n / 2], samples[n / 10], samples[n - 1 - n / 10], samples[n - 1 - n / 100],
          std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(n)};
}

template <class Library>
class Loop {
 public:
  Loop(Library& library, const Arguments& arguments)
      : library_(library), arguments_(arguments), cpus_(all_cpus()) {}

  void run() {
    for (const size_t bytes : arguments_.sizes) measure(bytes);
  }

 private:
  struct Free {
    void operator()(float* p) const { std::free(p); }
  };

  void measure(size_t bytes) {
    count_ = bytes / sizeof(float);
    void* memory = nullptr;
    if (posix_memalign(&memory, 4096, std::max<size_t>(bytes, 4096)) != 0) std::abort();
    data_.reset(static_cast<float*>(memory));

    const double before = probe();
    bool right = check();
    std::memset(data_.get(), 0, bytes);  // zeros stay zeros, call after call
    const std::vector<double> samples = time(iterations());
    right = check() && right;
    const double after = probe();
    print(bytes, slowest(spread(samples)), samples.size(), before, after, right);
    data_.reset();
  }

  // Values that differ by rank and place; their sums are exact in float.
  static float value(size_t i, int rank) {
    return static_cast<float>((i * 7 + static_cast<size_t>(rank) * 13) % 31);
  }
  bool check() {
    for (size_t i = 0; i < count_; i++) data_[i] = value(i, library_.rank);
    library_.sum(data_.get(), count_);
    float wrong = 0;
    for (size_t i = 0; i < count_; i++) {
      float expected = 0;
      for (int rank = 0; rank < library_.ranks; rank++) expected += value(i, rank);
      if (data_[i] != expected) wrong = 1;
    }
    return total(wrong) == 0;
  }

  // How many calls fill the time asked for; rank 0 decides.
  size_t iterations() {
    for (int i = 0; i < 3; i++) library_.sum(data_.get(), count_);
    double estimate = time_of(1);
    estimate = time_of(static_cast<size_t>(
        from_rank0(estimate > 0.02 ? 1 : std::min(200.0, 0.02 / (estimate + 1e-7) + 1))));
    double wanted = std::max(5.0, arguments_.least_seconds / estimate);
    if (wanted * estimate > arguments_.most_seconds) {
      wanted = std::max(3.0, arguments_.most_seconds / estimate);
    }
    return static_cast<size_t>(from_rank0(std::min(wanted, 2e5)));
  }
  double time_of(size_t calls) {
    const auto start = Clock::now();
    for (size_t i = 0; i < calls; i++) library_.sum(data_.get(), count_);
    return seconds_since(start) / static_cast<double>(calls);
  }
  std::vector<double> time(size_t calls) {
    std::vector<double> samples(calls);
    auto before = Clock::now();
    for (double& sample : samples) {
      library_.sum(data_.get(), count_);
      const auto after = Clock::now();
      sample = std::chrono::duration<double>(after - before).count();
      before = after;
    }
    return samples;
  }

  // ---- exchanges

  float total(float mine) {
    library_.sum(&mine, 1);
    return mine;
  }
  double from_rank0(double value) {
    return total(library_.rank == 0 ? static_cast<float>(value) : 0);
  }
  Spread slowest(const Spread& mine) {
    constexpr size_t kFields = 5;
    std::vector<float> all(kFields * static_cast<size_t>(library_.ranks), 0);
    const double fields[] = {mine.median, mine.p10, mine.p90, mine.p99, mine.mean};
    for (size_t i = 0; i < kFields; i++) {
      all[kFields * static_cast<size_t>(library_.rank) + i] = static_cast<float>(fields[i]);
    }
    library_.sum(all.data(), all.size());
    size_t at = 0;
    for (size_t r = kFields; r < all.size(); r += kFields) at = all[r] > all[at] ? r : at;
    return {all[at], all[at + 1], all[at + 2], all[at + 3], all[at + 4]};
  }

  // Rank 0 measures. The others sleep rather than wait in a call: most libraries' waiting keeps the
  // cores busy that the probe needs.
  double probe() {
    total(0);
    double ns = 0;
    if (library_.rank == 0 && cpus_.size() >= 2) {
      ns = core_to_core_ns(cpus_[0], cpus_[1]);
    } else if (library_.rank != 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(25));
    }
    total(0);
    return ns;
  }

  // Also those that the launcher has bound this rank away from.
  static std::vector<int> all_cpus() {
    std::vector<int> found;
    std::thread([&found] {
      cpu_set_t every;
      std::memset(&every, 0xff, sizeof every);
      sched_setaffinity(0, sizeof every,
                        &every);  // the kernel keeps those that exist and are allowed
      found = cpus();
    }).join();
    return found;
  }

  void print(size_t bytes, const Spread& s, size_t calls, double before, double after, bool right) {
    if (library_.rank != 0) return;
    std::printf("%s,%d,%zu,%.3f,%.3f,%.3f,%.3f,%.3f,%zu,%.0f,%.0f,%s\n", arguments_.name.c_str(),
                library_.ranks, bytes, s.median * 1e6, s.p10 * 1e6, s.p90 * 1e6, s.p99 * 1e6,
                s.mean * 1e6, calls, before, after, right ? "ok" : "wrong");
    std::fflush(stdout);
  }

  Library& library_;
  const Arguments& arguments_;
  const std::vector<int> cpus_;
  std::unique_ptr<float[], Free> data_;
  size_t count_ = 0;
};

}  // namespace bench
