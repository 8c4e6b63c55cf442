// One rank's seat in the group under test, and the few exchanges that a measurement needs.
//
// The first error sticks: every later call does nothing and `ok()` stays false, so that a loop need
// look once a round. Not thread-safe; each rank has its own.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fireflyer/fireflyer.h"

namespace ff::tools::perf {

class Peers {
 public:
  explicit Peers(ff_comm* comm)  // borrowed
      : comm_(comm), rank_(ff_comm_rank(comm)), ranks_(ff_comm_ranks(comm)) {}

  ff_comm* comm() const { return comm_; }
  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  bool ok() const { return error_.empty(); }
  const std::string& error() const { return error_; }
  void fail(const std::string& text);

  // ff_all_reduce, ff_operation_wait and release, ff_comm_flush.
  void all_reduce(const void* send, void* recv, size_t count, ff_type type, ff_reduce_op op,
                  ff_operation** operation = nullptr) {
    if (ok()) check(ff_all_reduce(comm_, send, recv, count, type, op, nullptr, operation));
  }
  void wait_and_release(ff_operation* operation);
  void flush();

  void barrier();
  double combine(double value, ff_reduce_op op);
  std::vector<double> gather(std::span<const double> values);  // those of rank 0, then of rank 1
  std::vector<std::string> gather(const std::string& text);    // cut to kTextBytes

  static constexpr size_t kTextBytes = 255;

 private:
  void check(ff_status status) {
    if (status != FF_OK) [[unlikely]]
      fail(ff_last_error());
  }

  ff_comm* comm_;
  int rank_, ranks_;
  std::string error_;
};

}  // namespace ff::tools::perf
