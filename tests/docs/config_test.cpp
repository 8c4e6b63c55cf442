// docs/config.md has the table of src/base/environment.cpp, row for row.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "base/environment.hpp"

namespace ff {
namespace {

TEST(ConfigPage, IsTheTableOfTheCode) {
  std::ifstream page(std::string(FF_DOCS) + "/config.md");
  ASSERT_TRUE(page) << "docs/config.md cannot be read";
  std::vector<std::string> written, expected;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("| `FF_")) written.push_back(line);
  }
  for (const Variable& variable : known_variables()) {
    expected.push_back(
        fmt::format("| `{}` | {} | {} |", variable.name, variable.values, variable.meaning));
  }
  EXPECT_EQ(written, expected);
}

}  // namespace
}  // namespace ff
