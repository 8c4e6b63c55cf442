#include <fmt/core.h>

#include <array>
#include <string>

#include "collective/algorithm/algorithm.hpp"

namespace ff {
namespace {

constexpr std::array kAll = {
    &kOneShot,
    &kSwap,
    &kDirect,
    &kRecursiveDoubling,
    &kDoubleTree,
    &kHierarchicalTree,
    &kHierarchicalDirect,
    &kRing,
};

}  // namespace

std::span<const Algorithm* const> algorithms() { return kAll; }

Result<const Algorithm*> find_algorithm(std::string_view name) {
  std::string names;
  for (const Algorithm* algorithm : kAll) {
    if (name == algorithm->name) return algorithm;
    names += fmt::format(" {}", algorithm->name);
  }
  return Status(FF_ERROR_ARGUMENT,
                fmt::format("unknown algorithm '{}'; known are:{}", name, names));
}

}  // namespace ff
