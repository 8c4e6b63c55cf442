// Which known word somebody probably meant.
#pragma once
#include <span>
#include <string_view>

namespace ff {

// The word of `known` with the fewest edits (insert, delete, replace one character) from `word`;
// the first of equals. `known` must not be empty.
std::string_view nearest(std::string_view word, std::span<const std::string_view> known);

}  // namespace ff
