#include "collective/schedule/layout.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace ff {

Partition::Partition(Layout layout, uint64_t count, size_t element_bytes, uint64_t piece_bytes)
    : count_(count), parts_(layout.parts), line_elements_(kLineBytes / element_bytes) {
  FF_CHECK(element_bytes > 0 && kLineBytes % element_bytes == 0, "elements tile a cache line");
  FF_CHECK(piece_bytes >= kLineBytes && piece_bytes % kLineBytes == 0, "pieces are whole lines");
  const uint64_t piece_lines = piece_bytes / kLineBytes;
  if (layout == Layout{} && count <= piece_lines * line_elements_) {
    whole_ = true;
    return;
  }
  const uint64_t lines = count / line_elements_ + (count % line_elements_ != 0 ? 1 : 0);
  blocks_ = {lines / layout.blocks, lines % layout.blocks};
  const uint64_t longest = blocks_.each + (blocks_.extra != 0 ? 1 : 0);
  const uint64_t chunk_lines = piece_lines * parts_;
  chunks_ = std::max<uint64_t>(1, (longest + chunk_lines - 1) / chunk_lines);
  const uint64_t pieces = chunks_ * parts_;
  for (uint64_t longer : {0, 1}) {
    const uint64_t length = blocks_.each + longer;
    pieces_[longer] = {length / pieces, length % pieces};
  }
}

uint64_t Partition::total(Region region) const {
  if (whole_) return count_;
  const uint64_t block_lines = blocks_.start(region.block + 1u) - blocks_.start(region.block);
  const uint64_t pieces = chunks_ * parts_;
  const uint64_t extra = block_lines % pieces;  // pieces 0 .. extra-1 have a line more
  // Piece numbers below `extra` that are this part's: part, part + parts, ...
  const uint64_t longer = (extra + parts_ - 1 - region.part) / parts_;
  const uint64_t elements = (chunks_ * (block_lines / pieces) + longer) * line_elements_;

  // The vector's last line may be cut short; it belongs to the last piece that has lines.
  const uint64_t lines = count_ / line_elements_ + (count_ % line_elements_ != 0 ? 1 : 0);
  const uint64_t last = block_lines >= pieces ? pieces - 1 : extra - 1;
  const bool ends_here = block_lines > 0 && blocks_.start(region.block + 1u) == lines;
  return ends_here && last % parts_ == region.part ? elements - (lines * line_elements_ - count_)
                                                   : elements;
}

}  // namespace ff
