// Fashion-MNIST: 28 x 28 grey images of ten kinds of clothing, and their labels.
#pragma once
#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fireflyer/result.hpp"

namespace fashion {

constexpr size_t kPixels = 28 * 28;
constexpr size_t kClasses = 10;

struct Dataset {
  std::vector<uint8_t> pixels;  // kPixels an image
  std::vector<uint8_t> labels;  // below kClasses

  size_t size() const { return labels.size(); }
};

// The images a network sees at once: one column each, pixels scaled to about mean 0, variance 1.
struct Batch {
  Eigen::MatrixXf images;
  std::vector<uint8_t> labels;
};

// Reads FOLDER/PREFIX-images-idx3-ubyte.gz and FOLDER/PREFIX-labels-idx1-ubyte.gz. A missing file
// is an Error that says which package has it.
ff::Result<Dataset> read_dataset(const std::string& folder, const std::string& prefix);

// Copies the chosen images into `batch`, whose memory is reused.
void gather(const Dataset& dataset, std::span<const uint32_t> chosen, Batch& batch);

}  // namespace fashion
