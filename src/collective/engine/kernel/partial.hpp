// Reads and writes of 1 to 15 bytes, for levels without masked access: two overlapping words.
// Never touches a byte outside. Little-endian, as all CPUs we build for.
#pragma once
#include "collective/engine/kernel/vector.hpp"

namespace ff {

struct Bytes16 {
  uint64_t low, high;
};

template <class Word>
FF_KERNEL_INLINE uint64_t read_word(const char* p) {
  Word word;
  __builtin_memcpy(&word, p, sizeof(word));
  return word;
}
template <class Word>
FF_KERNEL_INLINE void write_word(char* p, uint64_t value) {
  const Word word = static_cast<Word>(value);
  __builtin_memcpy(p, &word, sizeof(word));
}

FF_KERNEL_INLINE Bytes16 load_up_to_15(const char* p, size_t bytes) {
  if (bytes > 8) {
    return {read_word<uint64_t>(p), read_word<uint64_t>(p + bytes - 8) >> (8 * (16 - bytes))};
  }
  if (bytes == 8) return {read_word<uint64_t>(p), 0};
  if (bytes >= 4) {
    return {read_word<uint32_t>(p) | read_word<uint32_t>(p + bytes - 4) << (8 * (bytes - 4)), 0};
  }
  if (bytes >= 2) {
    return {read_word<uint16_t>(p) | read_word<uint16_t>(p + bytes - 2) << (8 * (bytes - 2)), 0};
  }
  return {bytes == 1 ? read_word<uint8_t>(p) : 0, 0};
}

FF_KERNEL_INLINE void store_up_to_15(char* p, Bytes16 value, size_t bytes) {
  if (bytes >= 8) {
    write_word<uint64_t>(p, value.low);
    if (bytes > 8) {
      const uint64_t last = value.low >> (8 * (bytes - 8)) | value.high << (8 * (16 - bytes));
      write_word<uint64_t>(p + bytes - 8, last);
    }
  } else if (bytes >= 4) {
    write_word<uint32_t>(p, value.low);
    write_word<uint32_t>(p + bytes - 4, value.low >> (8 * (bytes - 4)));
  } else if (bytes >= 2) {
    write_word<uint16_t>(p, value.low);
    write_word<uint16_t>(p + bytes - 2, value.low >> (8 * (bytes - 2)));
  } else if (bytes == 1) {
    write_word<uint8_t>(p, value.low);
  }
}

}  // namespace ff
