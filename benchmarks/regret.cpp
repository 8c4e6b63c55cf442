// Times several settings of one library against each other, in one process a rank.
//
// Each setting has a communicator of its own, and short batches of calls alternate between them
// round after round, so that what the host does in those seconds happens to all alike.
//
// Arguments: SIZES ROUNDS BATCH_SECONDS OPTIONS..., options as in ff_config.options, "" for the
// planner's own choice. Lines, fields parted by tabs:
//   row      OPTIONS RANKS BYTES MEDIAN_US LEAST_US BEFORE_NS AFTER_NS
//   refused  OPTIONS RANKS BYTES REASON
//   explain  OPTIONS RANKS BYTES JSON
#include "fireflyer/fireflyer.h"
#include "loop.hpp"

namespace {

using bench::Clock;

struct Destroy {
  void operator()(ff_comm* comm) const { (void)ff_comm_destroy(comm); }
};
using Comm = std::unique_ptr<ff_comm, Destroy>;

struct Setting {
  std::string options;
  Comm comm;
  std::string refusal = "";          // of the size at hand; the same on all ranks
  bool beaten = false;               // far from the best after two rounds; not timed again
  size_t calls = 1;                  // a batch
  double least = 0;                  // of the samples so far, on the slowest rank
  std::vector<double> samples = {};  // seconds a call, one for each batch
};

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "%s: %s\n", what, ff_last_error());
  std::exit(1);
}

Comm join(const std::string& options) {
  ff_config config = ff_config_init();
  config.abi = FF_ABI;
  config.options = options.c_str();
  ff_comm* comm = nullptr;
  if (ff_comm_create(&config, &comm) != FF_OK) fail("create");
  return Comm(comm);
}

std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  return text;
}

class Sweep {
 public:
  Sweep(std::vector<std::string> options, int rounds, double batch_seconds)
      : control_(join("")), rounds_(rounds), batch_seconds_(batch_seconds) {
    for (std::string& text : options) {
      Comm comm = join(text);
      settings_.push_back({std::move(text), std::move(comm)});
    }
  }

  void run(size_t bytes) {
    count_ = bytes / sizeof(float);
    data_.assign(std::max<size_t>(count_, 1), 0.0f);
    for (Setting& setting : settings_) prepare(setting);
    const double before = probe();
    for (int round = 0; round < rounds_; round++) {
      for (size_t i = 0; i < settings_.size(); i++) {
        // Another neighbour before each in each round.
        const size_t stride = static_cast<size_t>(round) % 2 == 0 ? i : settings_.size() - 1 - i;
        Setting& setting = settings_[(stride + static_cast<size_t>(round)) % settings_.size()];
        if (setting.refusal.empty() && !setting.beaten) setting.samples.push_back(batch(setting));
      }
      if (round == 1) drop_the_beaten();
    }
    const double after = probe();
    for (Setting& setting : settings_) report(setting, bytes, before, after);
  }

 private:
  ff_status call(Setting& setting) {
    return ff_all_reduce(setting.comm.get(), nullptr, data_.data(), count_, FF_FLOAT32, FF_SUM,
                         nullptr, nullptr);
  }

  // Finds out whether the setting can do this size (a function of what all ranks know, hence alike
  // everywhere), and how many calls make a batch.
  void prepare(Setting& setting) {
    setting.refusal.clear();
    setting.beaten = false;
    setting.samples.clear();
    const ff_status status = call(setting);
    if (status == FF_ERROR_ARGUMENT || status == FF_ERROR_UNSUPPORTED ||
        status == FF_ERROR_RESOURCE) {
      setting.refusal = one_line(ff_last_error());
      return;
    }
    if (status != FF_OK) fail("all-reduce");
    setting.calls = 1;
    double seconds = batch(setting);
    setting.calls = static_cast<size_t>(agree(std::min(100.0, batch_seconds_ / 10 / seconds)));
    seconds = batch(setting);
    setting.calls = static_cast<size_t>(agree(std::min(1e5, batch_seconds_ / seconds)));
  }

  // Most settings are nowhere near the best; their time is better spent on those that are. The
  // first setting always stays: it is the one that the others are for.
  void drop_the_beaten() {
    constexpr double kHopeless = 1.5;
    double best = std::numeric_limits<double>::infinity();
    for (Setting& setting : settings_) {
      if (!setting.refusal.empty()) continue;
      setting.least = total(*std::min_element(setting.samples.begin(), setting.samples.end()));
      best = std::min(best, setting.least);
    }
    for (size_t i = 1; i < settings_.size(); i++) {
      settings_[i].beaten = settings_[i].refusal.empty() && settings_[i].least > kHopeless * best;
    }
  }

  double batch(Setting& setting) {
    total(0);
    const auto start = Clock::now();
    for (size_t i = 0; i < setting.calls; i++) {
      if (call(setting) != FF_OK) fail("all-reduce");
    }
    return bench::seconds_since(start) / static_cast<double>(setting.calls);
  }

  double total(double value) {
    if (ff_all_reduce(control_.get(), nullptr, &value, 1, FF_FLOAT64, FF_MAX, nullptr, nullptr) !=
        FF_OK) {
      fail("control");
    }
    return value;
  }
  double agree(double value) { return std::max(1.0, total(rank() == 0 ? value : 0)); }
  int rank() const { return ff_comm_rank(control_.get()); }

  double probe() {
    const std::vector<int> cpus = bench::cpus();
    double ns = 0;
    if (rank() == 0 && cpus.size() >= 2) ns = bench::core_to_core_ns(cpus[0], cpus[1]);
    return total(ns);
  }

  void report(Setting& setting, size_t bytes, double before, double after) {
    const int ranks = ff_comm_ranks(control_.get());
    const auto print = [&](const char* kind, const std::string& rest) {
      if (rank() != 0) return;
      std::printf("%s\t%s\t%d\t%zu\t%s\n", kind, setting.options.c_str(), ranks, bytes,
                  rest.c_str());
      std::fflush(stdout);
    };
    if (!setting.refusal.empty()) {
      print("refused", setting.refusal);
      return;
    }
    // The slowest rank's: the call is over when it is over everywhere.
    const double median = total(bench::spread(setting.samples).median);
    const double least = total(*std::min_element(setting.samples.begin(), setting.samples.end()));
    char numbers[128];
    std::snprintf(numbers, sizeof numbers, "%.3f\t%.3f\t%.0f\t%.0f", median * 1e6, least * 1e6,
                  before, after);
    print("row", numbers);
    const std::string request =
        "explain all_reduce type=float32 op=sum bytes=" + std::to_string(bytes);
    char* json = nullptr;
    if (ff_comm_query(setting.comm.get(), request.c_str(), &json) == FF_OK) {
      print("explain", one_line(json));
    } else if (rank() == 0) {
      std::fprintf(stderr, "no prediction beside '%s': %s\n", setting.options.c_str(),
                   ff_last_error());
    }
    ff_free_text(json);
  }

  Comm control_;
  const int rounds_;
  const double batch_seconds_;
  std::vector<Setting> settings_;
  std::vector<float> data_;
  size_t count_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "arguments: SIZES ROUNDS BATCH_SECONDS OPTIONS...\n");
    return 2;
  }
  std::vector<std::string> options(argv + 4, argv + argc);
  Sweep sweep(std::move(options), std::atoi(argv[2]), std::atof(argv[3]));
  std::istringstream sizes(argv[1]);
  for (std::string size; std::getline(sizes, size, ',');) sweep.run(std::stoull(size));
}
