// IDX files as they should be, and damaged in every way that a disk or a download damages files.
#include "idx.hpp"

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "dataset.hpp"

namespace fashion {
namespace {

using Bytes = std::vector<uint8_t>;

// 2 x 3 unsigned bytes.
const Bytes kWhole = {0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6};

class Idx : public testing::Test {
 protected:
  Idx() { std::filesystem::create_directories(folder_); }
  ~Idx() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name = "file.gz") const { return folder_ + "/" + name; }

  void write_plain(const Bytes& bytes) const {
    std::ofstream(path(), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  void write_gzipped(const Bytes& bytes, const std::string& name = "file.gz") const {
    const gzFile file = gzopen(path(name).c_str(), "wb");
    ASSERT_EQ(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())),
              static_cast<int>(bytes.size()));
    ASSERT_EQ(gzclose(file), Z_OK);
  }
  Bytes read_plain() const {
    std::ifstream file(path(), std::ios::binary);
    return Bytes(std::istreambuf_iterator<char>(file), {});
  }

  // The file is refused; the message names it and says `reason`.
  void expect_refused(const std::string& reason) const {
    const auto tensor = read_idx(path());
    ASSERT_FALSE(tensor.ok()) << "accepted; expected: " << reason;
    EXPECT_EQ(tensor.error().code, FF_ERROR_ARGUMENT);
    EXPECT_NE(tensor.error().message.find(path()), std::string::npos) << tensor.error().message;
    EXPECT_NE(tensor.error().message.find(reason), std::string::npos) << tensor.error().message;
  }

  std::string folder_ = testing::TempDir() + "idx_test_" + std::to_string(getpid());
};

TEST_F(Idx, ReadsGzippedAndPlainFiles) {
  write_gzipped(kWhole);
  const ByteTensor tensor = read_idx(path()).value();
  EXPECT_EQ(tensor.dimensions, (std::vector<size_t>{2, 3}));
  EXPECT_EQ(tensor.values, (Bytes{1, 2, 3, 4, 5, 6}));
  write_plain(kWhole);
  EXPECT_EQ(read_idx(path()).value().values, tensor.values);
}

TEST_F(Idx, RefusesAFileThatIsNotThere) { expect_refused("No such file or directory"); }

TEST_F(Idx, RefusesEveryTruncation) {
  for (size_t bytes = 0; bytes < kWhole.size(); ++bytes) {
    write_plain(Bytes(kWhole.begin(), kWhole.begin() + static_cast<std::ptrdiff_t>(bytes)));
    expect_refused("too early");
  }
}

TEST_F(Idx, RefusesEveryTruncationOfTheGzipStream) {
  write_gzipped(kWhole);
  const Bytes whole = read_plain();
  // Two bytes at least: fewer, and zlib takes the file for one that is not gzipped.
  for (size_t bytes = 2; bytes < whole.size(); ++bytes) {
    write_plain(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes)));
    expect_refused("no usable IDX file");
  }
}

TEST_F(Idx, RefusesAWrongChecksum) {
  write_gzipped(kWhole);
  Bytes bytes = read_plain();
  bytes[bytes.size() - 8] ^= 1;  // the trailer is checksum, length
  write_plain(bytes);
  expect_refused("incorrect data check");
}

TEST_F(Idx, RefusesDataBehindTheLastElement) {
  Bytes bytes = kWhole;
  bytes.push_back(7);
  write_gzipped(bytes);
  expect_refused("goes on");
}

TEST_F(Idx, RefusesHeadersOfOtherFormats) {
  const auto with = [](size_t index, uint8_t value) {
    Bytes bytes = kWhole;
    bytes[index] = value;
    return bytes;
  };
  write_gzipped(with(1, 0x89));
  expect_refused("two zero bytes");
  write_gzipped(with(2, 0x0d));
  expect_refused("type 13");
  write_gzipped(with(3, 0));
  expect_refused("0 dimensions");
  write_gzipped(with(3, 255));
  expect_refused("255 dimensions");
}

TEST_F(Idx, RefusesDimensionsThatAskForTooMuchOrNothing) {
  write_gzipped({0, 0, 8, 2, 0, 0, 0, 0, 0, 0, 0, 3});
  expect_refused("1 byte to 1 GiB");
  write_gzipped({0, 0, 8, 1, 255, 255, 255, 255});
  expect_refused("1 byte to 1 GiB");
  // 2^32 squared overflows to 0 in 64 bits.
  write_gzipped({0, 0, 8, 4, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0});
  expect_refused("1 byte to 1 GiB");
}

// Images and labels that do not fit each other.
class DatasetFiles : public Idx {
 protected:
  void write(uint8_t images, uint8_t width, const Bytes& labels) const {
    Bytes pixels = {0, 0, 8, 3, 0, 0, 0, images, 0, 0, 0, 28, 0, 0, 0, width};
    pixels.resize(pixels.size() + size_t{images} * 28 * width, 100);
    write_gzipped(pixels, "t-images-idx3-ubyte.gz");
    Bytes header = {0, 0, 8, 1, 0, 0, 0, static_cast<uint8_t>(labels.size())};
    header.insert(header.end(), labels.begin(), labels.end());
    write_gzipped(header, "t-labels-idx1-ubyte.gz");
  }
  void expect_dataset_refused(const std::string& reason) const {
    const auto dataset = read_dataset(folder_, "t");
    ASSERT_FALSE(dataset.ok()) << "accepted; expected: " << reason;
    EXPECT_NE(dataset.error().message.find(reason), std::string::npos) << dataset.error().message;
  }
};

TEST_F(DatasetFiles, FitTogether) {
  write(3, 28, {0, 9, 4});
  const Dataset dataset = read_dataset(folder_, "t").value();
  EXPECT_EQ(dataset.size(), 3U);
  Batch batch;
  gather(dataset, std::vector<uint32_t>{1, 0}, batch);
  EXPECT_EQ(batch.labels, (Bytes{9, 0}));
  EXPECT_EQ(batch.images.rows(), 28 * 28);
  EXPECT_NEAR(batch.images(0, 0), (100.0 / 255 - 0.2860) / 0.3530, 1e-6);
}

TEST_F(DatasetFiles, AreRefusedWhenTheyDoNot) {
  expect_dataset_refused("dataset-fashion-mnist");  // nothing there: says which package has it
  write(3, 27, {0, 9, 4});
  expect_dataset_refused("28 x 28");
  write(3, 28, {0, 9});
  expect_dataset_refused("not one label for each of the 3 images");
  write(3, 28, {0, 10, 4});
  expect_dataset_refused("label 10 is above 9");
}

}  // namespace
}  // namespace fashion
