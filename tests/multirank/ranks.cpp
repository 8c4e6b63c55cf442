#include "ranks.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

namespace ff::testing_tools {

void run_ranks(int ranks, const RanksOptions& options,
               const std::function<void(ff_comm* comm, int rank)>& body) {
  static std::atomic<int> groups{0};
  const std::string rendezvous = "name:multirank-" + std::to_string(getpid()) + "-" +
                                 std::to_string(groups.fetch_add(1, std::memory_order_relaxed));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; rank++) {
    threads.emplace_back([&, rank] {
      const std::string words = options.of_rank ? options.of_rank(rank) : options.options;
      ff_config config = ff_config_init();
      config.abi = FF_ABI;
      config.rank = rank;
      config.ranks = ranks;
      config.rendezvous = rendezvous.c_str();
      config.call_timeout_ns = 60'000'000'000;
      config.numerics = options.numerics;
      config.progress = options.progress;
      config.max_outstanding = options.max_outstanding;
      config.options = words.c_str();
      ff_comm* comm = nullptr;
      ASSERT_EQ(ff_comm_create(&config, &comm), FF_OK) << ff_last_error();
      body(comm, rank);
      EXPECT_EQ(ff_comm_destroy(comm), FF_OK) << ff_last_error();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace ff::testing_tools
