#include "ff/perf/model.hpp"

#include <gtest/gtest.h>

namespace ff::tools::perf {
namespace {

TEST(Model, ReadsWhatTheLibraryExplains) {
  std::string error;
  const auto model = parse_model(
      R"({"algorithm":"direct","reason":"least time","predicted_ns":2500,"proof":{"roundings":1}})",
      &error);
  ASSERT_TRUE(model) << error;
  EXPECT_EQ(model->algorithm, "direct");
  EXPECT_EQ(model->reason, "least time");
  EXPECT_DOUBLE_EQ(model->predicted_seconds, 2.5e-6);
  EXPECT_EQ(model->narrow_roundings, 1);
}

TEST(Model, SaysWhatIsMissing) {
  std::string error;
  EXPECT_FALSE(parse_model(R"({"algorithm":"direct"})", &error));
  EXPECT_NE(error.find("reason"), std::string::npos) << error;
  EXPECT_FALSE(parse_model("not JSON", &error));
}

}  // namespace
}  // namespace ff::tools::perf
