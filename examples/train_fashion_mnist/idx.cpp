#include "idx.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>

namespace fashion {
namespace {

constexpr uint8_t kUnsignedByte = 0x08;
constexpr size_t kMostDimensions = 4;
constexpr size_t kMostBytes = size_t{1} << 30;

struct Close {
  void operator()(gzFile file) const { (void)gzclose_r(file); }
};
using File = std::unique_ptr<gzFile_s, Close>;

ff::Error damaged(const std::string& path, const std::string& what) {
  return {FF_ERROR_ARGUMENT, path + " is no usable IDX file: " + what};
}

// Fills `out`, or tells what kept it from doing so. zlib checks the checksum on reaching the end.
ff::Result<void> read_exactly(const File& file, const std::string& path, std::span<uint8_t> out) {
  while (!out.empty()) {
    const auto wanted = static_cast<unsigned>(std::min<size_t>(out.size(), 1U << 20));
    const int got = gzread(file.get(), out.data(), wanted);
    if (got < 0) {
      int code = Z_OK;
      return damaged(path, gzerror(file.get(), &code));
    }
    if (got == 0) {
      return damaged(path, "it ends " + std::to_string(out.size()) + " bytes too early");
    }
    out = out.subspan(static_cast<size_t>(got));
  }
  return {};
}

// The file must end here, with a whole gzip trailer.
ff::Result<void> expect_end(const File& file, const std::string& path) {
  uint8_t more = 0;
  const int got = gzread(file.get(), &more, 1);
  int code = Z_OK;
  const std::string text = gzerror(file.get(), &code);
  if (got < 0 || code == Z_BUF_ERROR) {
    return damaged(path, text);
  }
  if (got > 0) {
    return damaged(path, "data goes on after the last element");
  }
  return {};
}

ff::Result<std::vector<size_t>> read_header(const File& file, const std::string& path) {
  std::array<uint8_t, 4> magic{};
  if (auto read = read_exactly(file, path, magic); !read) {
    return read.error();
  }
  if (magic[0] != 0 || magic[1] != 0) {
    return damaged(path, "it does not begin with two zero bytes");
  }
  if (magic[2] != kUnsignedByte) {
    return damaged(path, "its elements have type " + std::to_string(magic[2]) +
                             "; only 8, unsigned byte, is supported");
  }
  if (magic[3] == 0 || magic[3] > kMostDimensions) {
    return damaged(path, "it has " + std::to_string(magic[3]) + " dimensions; 1 to " +
                             std::to_string(kMostDimensions) + " are supported");
  }
  std::vector<size_t> dimensions(magic[3]);
  size_t bytes = 1;
  for (size_t& dimension : dimensions) {
    std::array<uint8_t, 4> digits{};
    if (auto read = read_exactly(file, path, digits); !read) {
      return read.error();
    }
    dimension = size_t{digits[0]} << 24 | size_t{digits[1]} << 16 | size_t{digits[2]} << 8 |
                size_t{digits[3]};
    // Before anything is allocated: a damaged header must not ask for a terabyte.
    if (dimension == 0 || dimension > kMostBytes / bytes) {
      return damaged(path, "its dimensions make no tensor of 1 byte to 1 GiB");
    }
    bytes *= dimension;
  }
  return dimensions;
}

}  // namespace

ff::Result<ByteTensor> read_idx(const std::string& path) {
  errno = 0;
  const File file(gzopen(path.c_str(), "rb"));
  if (file == nullptr) {
    return ff::Error{FF_ERROR_ARGUMENT, "cannot open " + path + ": " +
                                            (errno != 0 ? std::strerror(errno) : "out of memory")};
  }
  auto dimensions = read_header(file, path);
  if (!dimensions) {
    return dimensions.error();
  }
  ByteTensor tensor{*std::move(dimensions), {}};
  size_t bytes = 1;
  for (const size_t dimension : tensor.dimensions) {
    bytes *= dimension;
  }
  tensor.values.resize(bytes);
  if (auto read = read_exactly(file, path, tensor.values); !read) {
    return read.error();
  }
  if (auto end = expect_end(file, path); !end) {
    return end.error();
  }
  return tensor;
}

}  // namespace fashion
