#include "ff/perf/peers.hpp"

#include <algorithm>
#include <cstring>

namespace ff::tools::perf {

void Peers::fail(const std::string& text) {
  if (error_.empty()) error_ = text.empty() ? "failed without a reason" : text;
}

void Peers::wait_and_release(ff_operation* operation) {
  if (operation != nullptr && ok()) check(ff_operation_wait(operation, 0));
  ff_operation_release(operation);
}

void Peers::flush() {
  if (ok()) check(ff_comm_flush(comm_, 0));
}

void Peers::barrier() { combine(0, FF_SUM); }

double Peers::combine(double value, ff_reduce_op op) {
  all_reduce(nullptr, &value, 1, FF_FLOAT64, op);
  return value;
}

// A gather is a sum in which all but one add nothing.
std::vector<double> Peers::gather(std::span<const double> values) {
  std::vector<double> all(values.size() * static_cast<size_t>(ranks_), 0);
  std::copy(values.begin(), values.end(),
            all.begin() + static_cast<std::ptrdiff_t>(values.size()) * rank_);
  all_reduce(nullptr, all.data(), all.size(), FF_FLOAT64, FF_SUM);
  return all;
}

std::vector<std::string> Peers::gather(const std::string& text) {
  constexpr size_t kSlot = kTextBytes + 1;
  std::vector<char> all(kSlot * static_cast<size_t>(ranks_), 0);
  std::memcpy(&all[kSlot * static_cast<size_t>(rank_)], text.data(),
              std::min(text.size(), kTextBytes));
  all_reduce(nullptr, all.data(), all.size(), FF_UINT8, FF_BOR);
  std::vector<std::string> texts;
  for (int r = 0; r < ranks_; r++) texts.emplace_back(&all[kSlot * static_cast<size_t>(r)]);
  return texts;
}

}  // namespace ff::tools::perf
