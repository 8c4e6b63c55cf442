// Data-parallel training: each rank computes the gradient of its share of the batch, Fireflyer adds
// the shares up, and every rank makes the same update.
#pragma once
#include <chrono>
#include <span>
#include <vector>

#include "fireflyer/fireflyer.hpp"
#include "training.hpp"

namespace fashion {

// Sums a gradient over all ranks while its later parts are still being computed.
//
// The gradient is cut into buckets: many small all-reduces would each pay their latency, one big
// one could only start when everything is computed.
class BucketSum {
 public:
  // `gradient` must outlive this. A bucket is started once it has at least `bucket_elements`.
  BucketSum(ff::Communicator& comm, std::span<float> gradient, size_t bucket_elements)
      : comm_(comm), gradient_(gradient), bucket_elements_(bucket_elements) {}

  // The first `elements` of the gradient are final: starts a bucket if that fills one.
  void ready(size_t elements);

  // Waits for the buckets in their order, and hands each to `use` as soon as it holds the sum.
  using Use = std::function<void(size_t offset, std::span<const float> sum)>;
  ff::Result<void> finish(const Use& use);

  // Time spent waiting so far: what the overlap with the backward pass could not hide.
  std::chrono::nanoseconds waited() const { return waited_; }
  size_t buckets() const { return buckets_; }  // of the last gradient

 private:
  struct Bucket {
    size_t offset;
    std::span<float> part;
    ff::Result<ff::Operation> operation;
  };

  ff::Communicator& comm_;
  std::span<float> gradient_;
  size_t bucket_elements_;
  size_t started_ = 0;  // elements of this gradient that are on their way
  std::vector<Bucket> in_flight_;
  size_t buckets_ = 0;
  std::chrono::nanoseconds waited_{0};
};

class DataParallelTrainer {
 public:
  DataParallelTrainer(const Plan& plan, const Dataset& dataset, ff::Communicator& comm,
                      size_t bucket_bytes);

  ff::Result<double> step(std::span<const uint32_t> batch, float rate);

  // Share of the test images that the network gets right; each rank looks at its part of them.
  ff::Result<double> accuracy(const Dataset& test);

  Network& network() { return network_; }
  const BucketSum& sum() const { return sum_; }

 private:
  const Dataset& dataset_;
  ff::Communicator& comm_;
  Network network_;
  Descent descent_;
  Batch batch_;
  std::vector<float> gradient_;
  BucketSum sum_;
};

}  // namespace fashion
