#include <algorithm>

#include "ff/perf/timing.hpp"

namespace ff::tools::perf {

Percentiles percentiles(std::vector<double> samples, int skip) {
  if (samples.size() <= static_cast<size_t>(skip)) return {};
  samples.erase(samples.begin(), samples.begin() + skip);
  std::sort(samples.begin(), samples.end());
  const size_t last = samples.size() - 1;
  return {samples[samples.size() / 2], samples[last - samples.size() / 100], samples[0]};
}

}  // namespace ff::tools::perf
