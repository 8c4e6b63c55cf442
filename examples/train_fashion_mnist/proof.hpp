// The two claims that the demo ends with, checked.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "fireflyer/fireflyer.hpp"

namespace fashion {

// A 64-bit hash of the weights' bits (FNV-1a): equal weights, equal hash.
uint64_t fingerprint(std::span<const float> weights);

// Whether all ranks hold the same bits: the smallest and the largest fingerprint are one.
struct Agreement {
  uint64_t smallest = 0;
  uint64_t largest = 0;
  bool agreed() const { return smallest == largest; }
};
ff::Result<Agreement> compare_ranks(ff::Communicator& comm, std::span<const float> weights);

// "" if both have the same bits, else how many weights differ and the first that does.
std::string difference(std::span<const float> ours, std::span<const float> theirs);

}  // namespace fashion
