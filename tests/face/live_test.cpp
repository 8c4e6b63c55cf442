// The C++ face over the real library: ranks as threads of this process, that find each other by id.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <semaphore>
#include <span>
#include <thread>
#include <vector>

#include "fireflyer/fireflyer.hpp"

namespace {

constexpr int kRanks = 4;

// Runs `body` as each rank of a group of kRanks.
void as_ranks(const std::function<void(ff::Communicator&)>& body, ff::Options options = {}) {
  options.id = ff::make_id().value();
  options.ranks = kRanks;
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&body, options, rank]() mutable {
      options.rank = rank;
      auto comm = ff::Communicator::create(options);
      ASSERT_TRUE(comm.ok()) << comm.error().message;
      ASSERT_EQ(comm->rank(), rank);
      ASSERT_EQ(comm->ranks(), kRanks);
      body(*comm);
    });
  }
}

// `one` of each of 4 ranks makes `four`.
template <class T>
void expect_sum(ff::Communicator& comm, T one, T four) {
  std::vector<T> data(1000, one);
  const auto sum = comm.all_reduce(data, ff::Op::kSum);
  ASSERT_TRUE(sum.ok()) << sum.error().message;
  for (const T& value : data) {
    if constexpr (requires { value.bits; }) {
      ASSERT_EQ(value.bits, four.bits);
    } else {
      ASSERT_EQ(value, four);
    }
  }
}

TEST(LiveFace, SumsEachElementType) {
  as_ranks([](ff::Communicator& comm) {
    expect_sum<float>(comm, 1.5F, 6);
    expect_sum<double>(comm, 1.5, 6);
    expect_sum<int8_t>(comm, -3, -12);
    expect_sum<uint8_t>(comm, 70, 24);  // wraps
    expect_sum<int16_t>(comm, -300, -1200);
    expect_sum<uint16_t>(comm, 300, 1200);
    expect_sum<int32_t>(comm, -3, -12);
    expect_sum<uint32_t>(comm, 3, 12);
    expect_sum<int64_t>(comm, int64_t{1} << 40, int64_t{1} << 42);
    expect_sum<uint64_t>(comm, 3, 12);
    expect_sum<ff::Half>(comm, {0x3c00}, {0x4400});      // 1 and 4
    expect_sum<ff::Bfloat16>(comm, {0x3f80}, {0x4080});  // 1 and 4
    expect_sum<ff::Float8E4M3>(comm, {0x38}, {0x48});    // 1 and 4
    expect_sum<ff::Float8E5M2>(comm, {0x3c}, {0x44});    // 1 and 4
    std::array<bool, 3> flags = {false, comm.rank() == 2, true};
    comm.all_reduce(flags, ff::Op::kMax).value();
    EXPECT_EQ(flags, (std::array<bool, 3>{false, true, true}));
  });
}

TEST(LiveFace, SendStaysAsItIsAndRecvHoldsTheSum) {
  as_ranks([](ff::Communicator& comm) {
    const std::vector<int32_t> send = {comm.rank(), 10 * comm.rank()};
    std::vector<int32_t> recv(2, -1);
    comm.all_reduce(send, std::span(recv), ff::Op::kSum).value();
    EXPECT_EQ(send, (std::vector<int32_t>{comm.rank(), 10 * comm.rank()}));
    EXPECT_EQ(recv, (std::vector<int32_t>{6, 60}));
  });
}

TEST(LiveFace, SeveralOperationsInFlight) {
  std::atomic<int> told = 0;
  as_ranks([&told](ff::Communicator& comm) {
    std::array<std::vector<double>, 5> data;
    std::vector<ff::Operation> operations;
    for (size_t i = 0; i < data.size(); ++i) {
      data[i].assign(5000 * (i + 1), static_cast<double>(comm.rank() + 1));
      operations.push_back(comm.all_reduce_async(data[i], ff::Op::kProd).value());
      operations.back()
          .on_done([&told](ff_status status) { told += status == FF_OK ? 1 : 1000; })
          .value();
    }
    for (ff::Operation& operation : operations) {
      operation.wait().value();
      EXPECT_TRUE(operation.test().value());
    }
    for (const std::vector<double>& product : data) {
      EXPECT_EQ(product, std::vector<double>(product.size(), 24.0));
    }
    comm.flush().value();
    EXPECT_FALSE(comm.failure().value().has_value());
  });
  EXPECT_EQ(told, kRanks * 5);
}

TEST(LiveFace, ADifferentCountIsAnErrorOnEveryRank) {
  std::atomic<int> mismatches = 0;
  as_ranks([&mismatches](ff::Communicator& comm) {
    std::vector<float> data(comm.rank() == 2 ? 8 : 9);
    const auto outcome = comm.all_reduce(data, ff::Op::kSum);
    ASSERT_FALSE(outcome.ok());
    EXPECT_EQ(outcome.error().code, FF_ERROR_MISMATCH);
    EXPECT_NE(outcome.error().message.find("rank 2"), std::string::npos) << outcome.error().message;
    const auto failure = comm.failure().value();
    ASSERT_TRUE(failure.has_value());
    EXPECT_EQ(failure->rank, 2);
    ++mismatches;
  });
  EXPECT_EQ(mismatches, kRanks);
}

TEST(LiveFace, AbortReachesEveryRank) {
  std::array<std::binary_semaphore, kRanks> told = {
      std::binary_semaphore(0), std::binary_semaphore(0), std::binary_semaphore(0),
      std::binary_semaphore(0)};
  ff::Options options;
  options.on_failure = [&told](const ff_failure& failure) {
    EXPECT_EQ(failure.status, FF_ERROR_ABORTED);
    told[static_cast<size_t>(failure.seen_by)].release();
  };
  as_ranks(
      [&told](ff::Communicator& comm) {
        std::vector<float> data(9);
        if (comm.rank() == 1) {
          comm.abort("loss is not a number").value();
        }
        const auto outcome = comm.all_reduce(data, ff::Op::kSum);
        ASSERT_FALSE(outcome.ok());
        if (comm.rank() != 1) {
          EXPECT_EQ(outcome.error().code, FF_ERROR_ABORTED);
          EXPECT_NE(outcome.error().message.find("loss is not a number"), std::string::npos)
              << outcome.error().message;
        }
        // A rank that leaves at once may be gone before it is told.
        EXPECT_TRUE(
            told[static_cast<size_t>(comm.rank())].try_acquire_for(std::chrono::seconds(30)));
      },
      options);
}

TEST(LiveFace, ExplainAnswersWithoutACommunicator) {
  const auto json = ff::explain("all_reduce ranks=4 bytes=64M");
  ASSERT_TRUE(json.ok()) << json.error().message;
  EXPECT_EQ(json->front(), '{');
  EXPECT_EQ(ff::explain("no_such_collective").error().code, FF_ERROR_ARGUMENT);
}

}  // namespace
