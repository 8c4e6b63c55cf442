#include "base/nearest.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "base/check.hpp"

namespace ff {
namespace {

size_t edits(std::string_view from, std::string_view to) {
  std::vector<size_t> row(to.size() + 1);  // edits from a prefix of `from` to each prefix of `to`
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= from.size(); i++) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= to.size(); j++) {
      const size_t replace = diagonal + (from[i - 1] == to[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({replace, row[j] + 1, row[j - 1] + 1}));
    }
  }
  return row.back();
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> known) {
  FF_CHECK(!known.empty(), "there are words to choose from");
  return *std::ranges::min_element(
      known, {}, [&](std::string_view candidate) { return edits(word, candidate); });
}

}  // namespace ff
