// One rank's part in measuring one row: buffers, warm-up, timing, check.
#pragma once
#include <cstdlib>
#include <memory>
#include <optional>

#include "ff/perf/options.hpp"
#include "ff/perf/peers.hpp"
#include "ff/perf/row.hpp"
#include "ff/perf/timing.hpp"

namespace ff::tools::perf {

// malloc'd memory, touched, from the start of a page; as users have it, and so as peers are timed.
class Buffer {
 public:
  // Ends in failure (false) when memory is short.
  bool allocate(size_t bytes);
  char* data() const { return memory_.get(); }

 private:
  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };
  std::unique_ptr<char, Free> memory_;
};

class Measurer {
 public:
  // Room for the largest row. If there is none, peers.ok() is false afterwards.
  Measurer(Peers& peers, const Options& options);

  // Collective: every rank gets the same row. A wrong result is on standard error, too, with the
  // rank and the first element.
  Row measure(uint64_t bytes, ff_type type, ff_reduce_op op);

 private:
  Measured measure_mode(const Row& row, bool in_place);
  uint64_t count_wrong_results(const Row& row, bool in_place);
  std::optional<double> probe();

  Peers& peers_;
  const Options& options_;
  Buffer send_, recv_;
  uint64_t repetition_ = 0;
  bool model_failed_ = false;
};

}  // namespace ff::tools::perf
