// Which elements block b, chunk k, part p of a vector are, for one call.
//
// Cuts are made between cache lines: a vector of L lines is shared out over its blocks, and a block
// over its chunks x parts pieces, so that sizes differ by at most one line (64 bytes). Every
// element is in exactly one piece. All arithmetic is 64-bit.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "collective/schedule/schedule.hpp"

namespace ff {

inline constexpr size_t kLineBytes = 64;
inline constexpr uint64_t kMaxChunks = (uint64_t{1} << 24) - 1;

struct ElementRange {
  uint64_t first = 0;
  uint64_t count = 0;
};

class Partition {
 public:
  Partition() = default;
  // `piece_bytes`: the most that one slot holds (a positive multiple of kLineBytes). Picks the
  // least number of chunks with which no piece is larger; at least 1, also for count 0.
  Partition(Layout layout, uint64_t count, size_t element_bytes, uint64_t piece_bytes);

  uint64_t chunks() const { return chunks_; }

  ElementRange range(Region region, uint64_t chunk) const {
    if (whole_) return {0, count_};
    const Share& pieces = pieces_[region.block < blocks_.extra ? 1 : 0];
    const uint64_t base = blocks_.start(region.block);
    const uint64_t piece = chunk * parts_ + region.part;
    const uint64_t begin = (base + pieces.start(piece)) * line_elements_;
    const uint64_t end = (base + pieces.start(piece + 1)) * line_elements_;
    const uint64_t first = begin < count_ ? begin : count_;
    return {first, (end < count_ ? end : count_) - first};
  }
  // Elements of a block's part in all chunks together. Constant time.
  uint64_t total(Region region) const;

 private:
  struct Share {  // `each` for everyone and one more for the first `extra`
    uint64_t each = 0, extra = 0;
    uint64_t start(uint64_t index) const { return index * each + (index < extra ? index : extra); }
  };
  uint64_t count_ = 0;
  uint64_t chunks_ = 1;
  uint64_t parts_ = 1;
  uint64_t line_elements_ = 1;
  bool whole_ = false;             // the vector is one piece
  Share blocks_;                   // lines over blocks
  std::array<Share, 2> pieces_{};  // lines over pieces, of a shorter and of a longer block
};

}  // namespace ff
