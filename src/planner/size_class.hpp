// Message sizes in classes, eight to an octave, so that a plan can be kept and found again.
//
// Up to 16 bytes every size is a class of its own. A plan is made for the largest size of its
// class, and is the same for all of them.
#pragma once
#include <bit>
#include <cstdint>

namespace ff {

constexpr uint32_t size_class(uint64_t bytes) {
  if (bytes <= 8) return static_cast<uint32_t>(bytes);
  const int exponent = static_cast<int>(std::bit_width(bytes - 1)) - 4;
  const uint64_t eighths = ((bytes - 1) >> exponent) + 1;  // 9 to 16
  return static_cast<uint32_t>(8 * exponent) + static_cast<uint32_t>(eighths);
}

// For bytes up to 2^63.
constexpr uint64_t largest_of_class(uint32_t size_class) {
  if (size_class <= 8) return size_class;
  return uint64_t{(size_class - 9) % 8 + 9} << (size_class - 9) / 8;
}

}  // namespace ff
