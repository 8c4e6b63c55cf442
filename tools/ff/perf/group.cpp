#include "ff/perf/group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace ff::tools::perf {
namespace {

struct Destroy {
  void operator()(ff_comm* comm) const { (void)ff_comm_destroy(comm); }
};
using Comm = std::unique_ptr<ff_comm, Destroy>;

void report(int rank, const std::string& text) {
  fmt::print(stderr, "ff perf: rank {}: {}\n", rank, text);
}

// Whether a launcher that the library knows has started this process: by the variables that tell a
// process its rank.
bool has_launcher() {
  constexpr const char* kRanks[] = {"FF_RANK", "RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK",
                                    "SLURM_PROCID"};
  return std::any_of(std::begin(kRanks), std::end(kRanks),
                     [](const char* name) { return std::getenv(name) != nullptr; });
}

ff_config configure(const Options& options) {
  ff_config config = ff_config_init();
  config.abi = FF_ABI;
  config.name = "perf";
  config.options = options.library_options.empty() ? nullptr : options.library_options.c_str();
  config.call_timeout_ns = static_cast<int64_t>(options.timeout_seconds * 1e9);
  return config;
}

// Who the threads of this process are among all threads of all processes.
struct Threads {
  ff_id id;
  int first_rank = 0;
  int ranks = 0;
};

// Alone, an id of our own. In a job, the one that process 0 makes: each process adds its bytes to
// a sum, and only process 0's are not zero.
std::optional<Threads> agree(const Options& options, int per_process) {
  Threads threads;
  if (!has_launcher()) {
    threads.ranks = per_process;
    if (ff_id_create(&threads.id) == FF_OK) return threads;
    report(0, ff_last_error());
    return std::nullopt;
  }
  const ff_config config = configure(options);
  ff_comm* raw = nullptr;
  const ff_status created = ff_comm_create(&config, &raw);
  const Comm processes(raw);
  if (created != FF_OK) {
    report(0, ff_last_error());
    return std::nullopt;
  }
  const int process = ff_comm_rank(raw);
  std::memset(&threads.id, 0, sizeof threads.id);
  if ((process == 0 && ff_id_create(&threads.id) != FF_OK) ||
      ff_all_reduce(raw, nullptr, threads.id.bytes, sizeof threads.id, FF_UINT8, FF_BOR, nullptr,
                    nullptr) != FF_OK) {
    report(process * per_process, ff_last_error());
    return std::nullopt;
  }
  threads.first_rank = process * per_process;
  threads.ranks = ff_comm_ranks(raw) * per_process;
  return threads;
}

bool run_rank(const ff_config& config, const std::function<void(Peers&)>& body) {
  ff_comm* raw = nullptr;
  if (ff_comm_create(&config, &raw) != FF_OK) {
    report(config.rank, ff_last_error());
    return false;
  }
  const Comm comm(raw);
  Peers peers(raw);
  body(peers);
  if (peers.ok()) return true;
  report(peers.rank(), peers.error());
  (void)ff_comm_abort(raw, peers.error().c_str());
  return false;
}

}  // namespace

bool run_ranks(const Options& options, const std::function<void(Peers&)>& body) {
  ff_config config = configure(options);
  const int here = options.threads * options.devices;
  if (here == 1 && has_launcher()) return run_rank(config, body);

  const auto threads = agree(options, here);
  if (!threads) return false;
  config.id = &threads->id;
  config.ranks = threads->ranks;
  std::atomic<bool> good{true};
  const auto sit = [&](int seat) {
    ff_config mine = config;
    mine.rank = threads->first_rank + seat;
    if (!run_rank(mine, body)) good.store(false, std::memory_order_relaxed);
  };
  std::vector<std::jthread> others;
  for (int seat = 1; seat < here; seat++) others.emplace_back(sit, seat);
  sit(0);
  others.clear();  // joins
  return good.load(std::memory_order_relaxed);
}

}  // namespace ff::tools::perf
