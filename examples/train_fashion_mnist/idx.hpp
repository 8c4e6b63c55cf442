// Reads IDX files, the format of MNIST and its relatives, gzipped or not.
//
// An IDX file is a big-endian header (two zero bytes, the element type, the number of dimensions,
// the dimensions) and then the elements. Only the type "unsigned byte" is read here. Whatever is
// wrong with a file is an Error that names the file: it is never trusted to be what it says.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "fireflyer/result.hpp"

namespace fashion {

struct ByteTensor {
  std::vector<size_t> dimensions;
  std::vector<uint8_t> values;  // as many as the product of the dimensions
};

ff::Result<ByteTensor> read_idx(const std::string& path);

}  // namespace fashion
