#include "base/environment.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace ff {
namespace {

TEST(Environment, EmptyIsUnset) {
  const Environment environment({{"FF_LOG", ""}, {"RANK", "3"}});
  EXPECT_EQ(environment.get("FF_LOG"), std::nullopt);
  EXPECT_EQ(environment.get("RANK"), "3");
  EXPECT_EQ(environment.get("WORLD_SIZE"), std::nullopt);
}

TEST(Environment, OfProcessIsACopy) {
  ASSERT_EQ(setenv("FF_NODE", "first", 1), 0);
  const Environment environment = Environment::of_process();
  ASSERT_EQ(setenv("FF_NODE", "second", 1), 0);
  EXPECT_EQ(environment.get("FF_NODE"), "first");
  ASSERT_EQ(unsetenv("FF_NODE"), 0);
}

TEST(Environment, AnUnknownNameGetsOneLineWithTheNearest) {
  const Environment environment({{"FF_RANKZ", "4"}, {"FF_LGO", "info"}, {"FF_RANK", "0"}});
  EXPECT_EQ(environment.warnings(),
            (std::vector<std::string>{
                "environment variable FF_LGO is unknown and ignored; FF_LOG is the nearest",
                "environment variable FF_RANKZ is unknown and ignored; FF_RANK is the nearest"}));
}

TEST(Environment, NamesOfTheTableDrawNoWarning) {
  Environment::Values all;
  for (const Variable& variable : known_variables()) {
    EXPECT_TRUE(variable.name.starts_with("FF_"));
    EXPECT_FALSE(variable.values.empty());
    EXPECT_FALSE(variable.meaning.empty());
    EXPECT_TRUE(all.emplace(variable.name, "x").second) << variable.name << " is listed twice";
  }
  EXPECT_TRUE(Environment(all).warnings().empty());
}

}  // namespace
}  // namespace ff
