#include "group.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>

namespace ff::testing_tools {
namespace {

float value_of(int rank, size_t index, int round) {
  return static_cast<float>(
      (index * 7 + static_cast<size_t>(rank) * 131 + static_cast<size_t>(round) * 17) % 251);
}

}  // namespace

ff_status join(const std::string& name, int rank, int ranks, const GroupOptions& options,
               ff_comm** comm) {
  const std::string rendezvous = "name:" + name;
  ff_config config = ff_config_init();
  config.abi = FF_ABI;
  config.rank = rank;
  config.ranks = ranks;
  config.rendezvous = rendezvous.c_str();
  config.call_timeout_ns = static_cast<int64_t>(options.call_timeout * 1e9);
  config.connect_timeout_ns = static_cast<int64_t>(options.connect_timeout * 1e9);
  config.options = options.options;
  return ff_comm_create(&config, comm);
}

std::vector<Child> start_group(int ranks, const GroupOptions& options, const Body& body) {
  static int groups = 0;
  const std::string name = fmt::format("test-{}-{}", getpid(), groups++);
  std::vector<Child> children;
  children.reserve(static_cast<size_t>(ranks));
  for (int rank = 0; rank < ranks; rank++) {
    children.emplace_back([&, rank](Child& self) -> std::string {
      ff_comm* comm = nullptr;
      if (join(name, rank, ranks, options, &comm) != FF_OK) {
        return fmt::format("join: {}", ff_last_error());
      }
      std::string said = body(self, comm, rank);
      if (ff_comm_destroy(comm) != FF_OK) said += fmt::format(" destroy: {}", ff_last_error());
      return said;
    });
  }
  return children;
}

std::string sum_and_check(ff_comm* comm, size_t count, int round) {
  const int rank = ff_comm_rank(comm), ranks = ff_comm_ranks(comm);
  std::vector<float> data(count);
  for (size_t i = 0; i < count; i++) data[i] = value_of(rank, i, round);
  if (ff_all_reduce(comm, nullptr, data.data(), count, FF_FLOAT32, FF_SUM, nullptr, nullptr) !=
      FF_OK) {
    return ff_last_error();
  }
  for (size_t i = 0; i < count; i++) {
    float expected = 0;
    for (int r = 0; r < ranks; r++) expected += value_of(r, i, round);
    if (data[i] != expected) {
      return fmt::format("element {} of {} is {}, expected {}", i, count, data[i], expected);
    }
  }
  return "";
}

std::string failure_line(ff_comm* comm) {
  ff_status status = FF_OK;
  ff_failure failure = ff_failure_init();
  if (ff_comm_async_error(comm, &status, &failure) != FF_OK) return ff_last_error();
  return fmt::format("{} rank {} pid {}: {}", ff_status_name(status), failure.rank, failure.pid,
                     failure.text);
}

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace ff::testing_tools
