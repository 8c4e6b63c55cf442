#include "collective/schedule/layout.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace ff {

Partition::Partition(Layout layout, uint64_t count, size_t element_bytes, uint64_t piece_bytes)
    : count_(count), parts_(layout.parts), line_elements_(kLineBytes / element_bytes) {
  FF_CHECK(element_bytes > 0 && kLineBytes % element_bytes == 0, "elements tile a cache line");
  FF_CHECK(piece_bytes >= kLineBytes && piece_bytes % kLineBytes == 0, "pieces are whole lines");
  const uint64_t lines = count / line_elements_ + (count % line_elements_ != 0 ? 1 : 0);
  blocks_ = {lines / layout.blocks, lines % layout.blocks};
  const uint64_t largest_block = blocks_.each + (blocks_.extra != 0 ? 1 : 0);
  const uint64_t chunk_lines = piece_bytes / kLineBytes * parts_;
  chunks_ = std::max<uint64_t>(1, (largest_block + chunk_lines - 1) / chunk_lines);
}

}  // namespace ff
