#include "planner/constants.hpp"

#include <gtest/gtest.h>

#include <set>

namespace ff {
namespace {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string error_of(const std::string& json) {
  const Result<Constants> result = parse_constants(json, "table.json");
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), FF_ERROR_ARGUMENT);
  return result.status().message();
}

TEST(Constants, AFileGivesBackTheTable) {
  const Constants shipped = shipped_constants("far", "tcp100").value();
  const Result<Constants> read = parse_constants(to_json(shipped), "table.json");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->hash(), shipped.hash());
  EXPECT_EQ(read->name, shipped.name);
  EXPECT_EQ(to_json(*read), to_json(shipped));
}

TEST(Constants, EachNumberChangesTheHash) {
  const std::string json = to_json(shipped_constants().value());
  std::set<uint64_t> hashes = {shipped_constants()->hash()};
  size_t fields = 0;
  for (size_t at = json.find(": "); at != std::string::npos; at = json.find(": ", at + 1)) {
    if (json[at + 2] < '0' || json[at + 2] > '9') continue;
    if (json.substr(0, at).ends_with("\"format\"")) continue;
    std::string changed = json;
    changed[at + 2] = changed[at + 2] == '7' ? '8' : '7';
    const Result<Constants> read = parse_constants(changed, "table.json");
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_TRUE(hashes.insert(read->hash()).second) << changed;
    fields++;
  }
  EXPECT_EQ(fields, 22u);
}

TEST(Constants, TheHashIsPartOfTheProtocol) {
  // A table that ranks of two builds agree upon must hash alike in both; change this value only
  // with the list of fields.
  Constants constants;
  EXPECT_EQ(constants.hash(), 6957323614534161060u);
}

TEST(Constants, ErrorsNameTheField) {
  const std::string json = to_json(shipped_constants().value());
  EXPECT_NE(error_of(replaced(json, "\"switch_ns\": 1300", "\"switch_ns\": -1"))
                .find("table.json: 'memory.switch_ns' is -1; it must be a whole number from 0"),
            std::string::npos);
  EXPECT_NE(error_of(replaced(json, "\"link_mb_per_s\": 1180", "\"link_mb_per_s\": 0"))
                .find("'network.link_mb_per_s' is 0"),
            std::string::npos);
  EXPECT_NE(error_of(replaced(json, "\"channels\": 2", "\"channels\": 2.5"))
                .find("'plan.channels' is 2.5"),
            std::string::npos);
  EXPECT_NE(error_of(replaced(json, "\"channels\": 2,", "")).find("'plan.channels' is missing"),
            std::string::npos);
  EXPECT_NE(error_of(replaced(json, "\"channels\"", "\"chanels\"")).find("'plan.channels' is"),
            std::string::npos);
  EXPECT_NE(error_of(replaced(json, "\"plan\": {", "\"plan\": {\"x\": 1,")).find("'plan.x' is no"),
            std::string::npos);
  EXPECT_NE(error_of(replaced(json, "\"plan\"", "\"plans\"")).find("'plans' is no field"),
            std::string::npos);
  EXPECT_NE(error_of(replaced(json, "\"format\": 1", "\"format\": 2")).find("'format' must be 1"),
            std::string::npos);
  EXPECT_NE(error_of("[1]").find("not a JSON object"), std::string::npos);
  EXPECT_NE(error_of("{").find("not a JSON object"), std::string::npos);
  EXPECT_NE(error_of("{\"format\": 1, \"memory\": 3}").find("'memory' must be an object"),
            std::string::npos);
}

TEST(Constants, ASectionThatIsNotThereKeepsTheShippedValues) {
  const Result<Constants> read = parse_constants("{\"format\": 1}", "table.json");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->hash(), shipped_constants()->hash());
  EXPECT_EQ(read->name, "table.json");
}

TEST(Constants, UnknownClassesListTheKnown) {
  EXPECT_NE(shipped_constants("near", "tcp7").status().message().find("tcp10 tcp1 tcp25 tcp100"),
            std::string::npos);
  EXPECT_NE(shipped_constants("mid").status().message().find("near far"), std::string::npos);
}

TEST(Constants, AMissingFileIsNamed) {
  const Status status = load_constants("/no/such/table.json").status();
  EXPECT_EQ(status.code(), FF_ERROR_SYSTEM);
  EXPECT_NE(status.message().find("/no/such/table.json"), std::string::npos);
}

}  // namespace
}  // namespace ff
