// The answer of ff_explain as text for people.
#pragma once
#include <string>

namespace ff::tools {

// Empty, and `error` says why, if the JSON is not as the library writes it.
std::string render_explanation(const std::string& json, std::string* error);

}  // namespace ff::tools
