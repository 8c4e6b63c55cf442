#include "data_parallel.hpp"

#include <algorithm>
#include <numeric>

namespace fashion {

using Clock = std::chrono::steady_clock;

void BucketSum::ready(size_t elements) {
  const bool last = elements == gradient_.size();
  if (elements - started_ < bucket_elements_ && !last) {
    return;
  }
  const std::span<float> part = gradient_.subspan(started_, elements - started_);
  in_flight_.push_back(
      {started_, part, comm_.all_reduce_async(part, ff::Op::kSum, {.name = "gradient"})});
  started_ = elements;
}

ff::Result<void> BucketSum::finish(const Use& use) {
  // Every operation is waited for, even after an error: until then its part of the gradient is not
  // ours to touch or to free.
  ff::Result<void> outcome;
  for (Bucket& bucket : in_flight_) {
    ff::Result<void> done;
    if (bucket.operation) {
      const auto start = Clock::now();
      done = bucket.operation->wait();
      waited_ += Clock::now() - start;
    } else {
      done = bucket.operation.error();
    }
    if (outcome && done) {
      use(bucket.offset, bucket.part);
    } else if (outcome) {
      outcome = done;
    }
  }
  buckets_ = in_flight_.size();
  in_flight_.clear();
  started_ = 0;
  return outcome;
}

DataParallelTrainer::DataParallelTrainer(const Plan& plan, const Dataset& dataset,
                                         ff::Communicator& comm, size_t bucket_bytes)
    : dataset_(dataset),
      comm_(comm),
      network_(plan.widths, plan.seed),
      descent_(plan, network_.weights().size()),
      gradient_(network_.weights().size()),
      sum_(comm, gradient_, std::max<size_t>(bucket_bytes / sizeof(float), 1)) {}

ff::Result<double> DataParallelTrainer::step(std::span<const uint32_t> batch, float rate) {
  const auto rank = static_cast<size_t>(comm_.rank());
  const size_t share = batch.size() / static_cast<size_t>(comm_.ranks());
  gather(dataset_, batch.subspan(rank * share, share), batch_);

  // Divided by the whole batch's size: the sum over the ranks is then the mean.
  const float scale = 1.0F / static_cast<float>(batch.size());
  const double loss = network_.backward(batch_, scale, gradient_,
                                        [this](size_t elements) { sum_.ready(elements); });

  const auto update = [&](size_t offset, std::span<const float> sum) {
    descent_.apply(network_.weights(), offset, sum, rate);
  };
  if (auto summed = sum_.finish(update); !summed) {
    return summed.error();
  }
  return loss;
}

ff::Result<double> DataParallelTrainer::accuracy(const Dataset& test) {
  constexpr size_t kAtOnce = 250;
  const auto rank = static_cast<size_t>(comm_.rank());
  const auto ranks = static_cast<size_t>(comm_.ranks());
  std::vector<uint32_t> mine(test.size() * (rank + 1) / ranks - test.size() * rank / ranks);
  std::iota(mine.begin(), mine.end(), static_cast<uint32_t>(test.size() * rank / ranks));

  int64_t correct = 0;
  for (size_t i = 0; i < mine.size(); i += kAtOnce) {
    gather(test, std::span(mine).subspan(i, std::min(kAtOnce, mine.size() - i)), batch_);
    correct += static_cast<int64_t>(network_.count_correct(batch_));
  }
  if (auto summed = comm_.all_reduce(std::span(&correct, 1), ff::Op::kSum); !summed) {
    return summed.error();
  }
  return static_cast<double>(correct) / static_cast<double>(test.size());
}

}  // namespace fashion
