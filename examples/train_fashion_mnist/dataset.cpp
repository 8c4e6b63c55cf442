#include "dataset.hpp"

#include <algorithm>
#include <filesystem>

#include "idx.hpp"

namespace fashion {
namespace {

// Of the 60,000 training images.
constexpr float kMean = 0.2860F;
constexpr float kDeviation = 0.3530F;

ff::Error inconsistent(const std::string& path, const std::string& what) {
  return {FF_ERROR_ARGUMENT, path + ": " + what};
}

}  // namespace

ff::Result<Dataset> read_dataset(const std::string& folder, const std::string& prefix) {
  const std::string images_path = folder + "/" + prefix + "-images-idx3-ubyte.gz";
  const std::string labels_path = folder + "/" + prefix + "-labels-idx1-ubyte.gz";
  for (const std::string& path : {images_path, labels_path}) {
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) {
      return ff::Error{FF_ERROR_ARGUMENT,
                       path +
                           " is missing. Install the Debian package dataset-fashion-mnist, or "
                           "name the folder that holds the four files with --data"};
    }
  }
  auto images = read_idx(images_path);
  if (!images) {
    return images.error();
  }
  auto labels = read_idx(labels_path);
  if (!labels) {
    return labels.error();
  }
  const std::vector<size_t>& shape = images->dimensions;
  if (shape.size() != 3 || shape[1] * shape[2] != kPixels) {
    return inconsistent(images_path, "not a list of images of 28 x 28 pixels");
  }
  if (labels->dimensions.size() != 1 || labels->dimensions[0] != shape[0]) {
    return inconsistent(labels_path,
                        "not one label for each of the " + std::to_string(shape[0]) + " images");
  }
  const auto highest = std::max_element(labels->values.begin(), labels->values.end());
  if (*highest >= kClasses) {
    return inconsistent(labels_path, "label " + std::to_string(*highest) + " is above 9");
  }
  return Dataset{std::move(images->values), std::move(labels->values)};
}

void gather(const Dataset& dataset, std::span<const uint32_t> chosen, Batch& batch) {
  batch.images.resize(kPixels, static_cast<Eigen::Index>(chosen.size()));
  batch.labels.resize(chosen.size());
  for (size_t column = 0; column < chosen.size(); ++column) {
    const uint8_t* const pixels = dataset.pixels.data() + size_t{chosen[column]} * kPixels;
    float* const out = batch.images.data() + column * kPixels;
    for (size_t pixel = 0; pixel < kPixels; ++pixel) {
      out[pixel] = (static_cast<float>(pixels[pixel]) / 255.0F - kMean) / kDeviation;
    }
    batch.labels[column] = dataset.labels[chosen[column]];
  }
}

}  // namespace fashion
