#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "ff/perf/model.hpp"

namespace ff::tools::perf {

std::optional<Model> parse_model(const std::string& json, std::string* error) {
  const auto explained = nlohmann::json::parse(json, nullptr, false);
  Model model;
  try {
    model.algorithm = explained.at("algorithm").get<std::string>();
    model.reason = explained.at("reason").get<std::string>();
    model.predicted_seconds = explained.at("predicted_ns").get<double>() * 1e-9;
    if (const auto proof = explained.find("proof"); proof != explained.end()) {
      model.narrow_roundings = proof->value("roundings", 0);
    }
  } catch (const nlohmann::json::exception& wrong) {
    *error = fmt::format("the library's explanation is not as expected: {}", wrong.what());
    return std::nullopt;
  }
  return model;
}

}  // namespace ff::tools::perf
