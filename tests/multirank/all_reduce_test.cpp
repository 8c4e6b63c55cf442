// What an all-reduce promises, at many group sizes, types, sizes and settings.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <future>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "ranks.hpp"

namespace ff::testing_tools {
namespace {

#define MUST(call) ASSERT_EQ((call), FF_OK) << ff_last_error()

// Small integers, so that sums and products of floats are exact: a difference is a fault.
double input(int rank, size_t index, int round) {
  return static_cast<double>(
             (index * 7 + static_cast<size_t>(rank) * 131 + static_cast<size_t>(round) * 17) % 23) -
         11;
}

double expected(ff_reduce_op op, int ranks, size_t index, int round) {
  double result = input(0, index, round);
  for (int r = 1; r < ranks; r++) {
    const double x = input(r, index, round);
    switch (op) {
      case FF_MAX:
        result = std::max(result, x);
        break;
      case FF_MIN:
        result = std::min(result, x);
        break;
      default:
        result += x;
        break;
    }
  }
  return op == FF_AVG ? result / ranks : result;
}

template <class T>
void reduce_and_check(ff_comm* comm, ff_type type, ff_reduce_op op, size_t count, bool in_place,
                      int round) {
  const int rank = ff_comm_rank(comm), ranks = ff_comm_ranks(comm);
  std::vector<T> send(count), recv(count, T(99));
  for (size_t i = 0; i < count; i++) send[i] = static_cast<T>(input(rank, i, round));
  if (in_place) recv = send;
  const std::vector<T> before = send;
  MUST(ff_all_reduce(comm, in_place ? nullptr : send.data(), recv.data(), count, type, op, nullptr,
                     nullptr));
  EXPECT_EQ(send, before);
  for (size_t i = 0; i < count; i++) {
    const double want = expected(op, ranks, i, round);
    ASSERT_EQ(recv[i], static_cast<T>(want)) << "element " << i << " of " << count << ", "
                                             << ff_type_name(type) << " " << ff_op_name(op);
  }
}

// CORE-08, CORE-14, CORE-15: every algorithm at every group size.
class EveryAlgorithm : public testing::TestWithParam<const char*> {};

TEST_P(EveryAlgorithm, GivesTheReferenceAtEveryGroupSize) {
  for (const int n : {1, 2, 3, 4, 5, 6, 7, 8, 11, 16, 17}) {
    RanksOptions options;
    options.options = GetParam();
    if (options.options == "algorithm=swap" && n != 2) continue;
    run_ranks(n, options, [&](ff_comm* comm, int) {
      const auto members = static_cast<size_t>(n);
      int round = 0;
      for (const size_t count : {size_t{0}, size_t{1}, members - 1, members, members + 1,
                                 size_t{10}, size_t{1000}, size_t{40'001}}) {
        for (const bool in_place : {true, false}) {
          reduce_and_check<float>(comm, FF_FLOAT32, FF_SUM, count, in_place, round++);
          reduce_and_check<double>(comm, FF_FLOAT64, FF_MAX, count, in_place, round++);
          reduce_and_check<int32_t>(comm, FF_INT32, FF_MIN, count, in_place, round++);
        }
      }
    });
  }
}
INSTANTIATE_TEST_SUITE_P(, EveryAlgorithm,
                         testing::Values("", "algorithm=one_shot;chunk=4K", "algorithm=swap",
                                         "algorithm=direct", "algorithm=direct;chunk=4K;slots=2",
                                         "algorithm=ring;chunk=8K", "shuffle=3", "yields=0"));

// CORE-01.
TEST(AllReduce, NothingTakesItsPlaceInTheOrder) {
  for (const int n : {1, 2, 3, 4}) {
    run_ranks(n, {}, [&](ff_comm* comm, int) {
      MUST(ff_all_reduce(comm, nullptr, nullptr, 0, FF_FLOAT32, FF_SUM, nullptr, nullptr));
      reduce_and_check<float>(comm, FF_FLOAT32, FF_SUM, 4, true, 0);
    });
  }
}

// CORE-07.
TEST(AllReduce, AverageDividesByTheRanksOnceInEveryAlgorithm) {
  for (const char* algorithm :
       {"", "algorithm=one_shot;chunk=4K", "algorithm=direct", "algorithm=ring;chunk=4K"}) {
    RanksOptions options;
    options.options = algorithm;
    run_ranks(4, options, [&](ff_comm* comm, int) {
      for (const size_t count : {size_t{1}, size_t{5}, size_t{1000}, size_t{5000}}) {
        reduce_and_check<float>(comm, FF_FLOAT32, FF_AVG, count, true, 3);
      }
    });
  }
  run_ranks(3, {}, [](ff_comm* comm, int) {
    int32_t x = 1;
    EXPECT_EQ(ff_all_reduce(comm, nullptr, &x, 1, FF_INT32, FF_AVG, nullptr, nullptr),
              FF_ERROR_UNSUPPORTED);
    EXPECT_NE(std::string(ff_last_error()).find("int32"), std::string::npos) << ff_last_error();
    EXPECT_NE(std::string(ff_last_error()).find("avg"), std::string::npos) << ff_last_error();
    reduce_and_check<int32_t>(comm, FF_INT32, FF_SUM, 9, true, 1);  // as before
  });
}

// CORE-10.
TEST(AllReduce, TruthAndSmallIntegers) {
  run_ranks(3, {}, [](ff_comm* comm, int rank) {
    uint8_t truth[] = {static_cast<uint8_t>(rank == 1 ? 200 : 0), 7, 0};
    MUST(ff_all_reduce(comm, nullptr, truth, 3, FF_BOOL, FF_SUM, nullptr, nullptr));
    EXPECT_EQ(truth[0], 1);
    EXPECT_EQ(truth[1], 1);
    EXPECT_EQ(truth[2], 0);
    int8_t wraps = static_cast<int8_t>(rank == 0 ? 120 : rank == 1 ? 100 : 0);
    MUST(ff_all_reduce(comm, nullptr, &wraps, 1, FF_INT8, FF_SUM, nullptr, nullptr));
    EXPECT_EQ(wraps, static_cast<int8_t>(220));
  });
}

// CORE-11, CORE-12, CORE-13: bits.
std::vector<uint32_t> bits_of(int ranks, const RanksOptions& options, size_t count, size_t shown) {
  std::vector<std::vector<uint32_t>> of_rank(static_cast<size_t>(ranks));
  run_ranks(ranks, options, [&](ff_comm* comm, int rank) {
    std::mt19937 random(static_cast<uint32_t>(rank + 1));
    std::uniform_real_distribution<float> exponent(-8, 8);
    std::vector<float> data(count);
    for (float& x : data) x = std::pow(10.0f, exponent(random));
    MUST(ff_all_reduce(comm, nullptr, data.data(), count, FF_FLOAT32, FF_SUM, nullptr, nullptr));
    std::vector<uint32_t>& bits = of_rank[static_cast<size_t>(rank)];
    bits.resize(shown);
    std::memcpy(bits.data(), data.data(), shown * sizeof(uint32_t));
  });
  for (const auto& bits : of_rank) EXPECT_EQ(bits, of_rank[0]);
  return of_rank[0];
}

TEST(AllReduce, BitsAreEqualOnAllRanksAndFromStartToStart) {
  for (const int n : {3, 4, 8}) {
    const auto first = bits_of(n, {}, 3001, 3001);
    for (int start = 0; start < 5; start++) {
      RanksOptions options;  // how calls are waited for and steps fired is nobody's bits
      options.options = "shuffle=" + std::to_string(start) + ";yields=" + std::to_string(start * 7);
      EXPECT_EQ(bits_of(n, options, 3001, 3001), first);
    }
  }
}

TEST(AllReduce, AnySizeModeGivesAPrefixTheBitsOfTheWhole) {
  RanksOptions options;
  options.numerics = FF_NUMERICS_ANY_SIZE;
  const auto alone = bits_of(3, options, 1000, 1000);
  const auto prefix = bits_of(3, options, 1'000'000, 1000);
  EXPECT_EQ(alone, prefix);
}

TEST(AllReduce, RanksWithDifferentInstructionSetsGiveTheSameBits) {
  RanksOptions mixed;
  mixed.of_rank = [](int rank) { return rank == 0 ? "" : rank == 1 ? "isa=baseline" : "isa=avx2"; };
  EXPECT_EQ(bits_of(3, mixed, 2001, 2001), bits_of(3, {}, 2001, 2001));
}

// CORE-09.
TEST(AllReduce, NotANumberWinsOnEveryRank) {
  for (int where = 0; where < 3; where++) {
    run_ranks(3, {}, [&](ff_comm* comm, int rank) {
      for (const size_t count : {size_t{1}, size_t{7}, size_t{64}}) {
        for (const ff_reduce_op op : {FF_MAX, FF_MIN}) {
          std::vector<float> data(count, static_cast<float>(rank));
          if (rank == where) data[count / 2] = std::numeric_limits<float>::quiet_NaN();
          MUST(ff_all_reduce(comm, nullptr, data.data(), count, FF_FLOAT32, op, nullptr, nullptr));
          EXPECT_TRUE(std::isnan(data[count / 2]));
          if (count > 1) {
            EXPECT_EQ(data[0], op == FF_MAX ? 2.0f : 0.0f);
          }
        }
      }
    });
  }
}

// CORE-14.
TEST(AllReduce, WrongArgumentsAreRefusedAndLoseNothing) {
  run_ranks(2, {}, [](ff_comm* comm, int) {
    std::vector<float> data(100);
    EXPECT_EQ(
        ff_all_reduce(comm, data.data(), data.data() + 1, 99, FF_FLOAT32, FF_SUM, nullptr, nullptr),
        FF_ERROR_ARGUMENT);
    EXPECT_NE(std::string(ff_last_error()).find("overlap"), std::string::npos);
    EXPECT_EQ(ff_all_reduce(comm, nullptr, nullptr, 1, FF_FLOAT32, FF_SUM, nullptr, nullptr),
              FF_ERROR_ARGUMENT);
    EXPECT_EQ(ff_all_reduce(comm, nullptr, data.data(), 1, FF_TYPE_COUNT, FF_SUM, nullptr, nullptr),
              FF_ERROR_ARGUMENT);
    EXPECT_EQ(ff_all_reduce(comm, nullptr, data.data(), 1, FF_FLOAT32, 77, nullptr, nullptr),
              FF_ERROR_ARGUMENT);
    EXPECT_EQ(ff_all_reduce(comm, nullptr, data.data(), 1, FF_FLOAT32, FF_BXOR, nullptr, nullptr),
              FF_ERROR_UNSUPPORTED);
    EXPECT_EQ(ff_all_reduce(nullptr, nullptr, data.data(), 1, FF_FLOAT32, FF_SUM, nullptr, nullptr),
              FF_ERROR_ARGUMENT);
    ff_call call = ff_call_init();
    call.timeout_ns = -5;
    EXPECT_EQ(ff_all_reduce(comm, nullptr, data.data(), 1, FF_FLOAT32, FF_SUM, &call, nullptr),
              FF_ERROR_ARGUMENT);
    reduce_and_check<float>(comm, FF_FLOAT32, FF_SUM, 100, true, 0);
  });
}

// CORE-19: matched by order alone, in bounded memory, whoever drives.
class Outstanding : public testing::TestWithParam<ff_progress> {};

TEST_P(Outstanding, FiftyCallsOfDifferentKindsWaitedForInReverse) {
  RanksOptions options;
  options.max_outstanding = 20;  // fewer than the calls: submission gives back-pressure
  options.progress = GetParam();
  run_ranks(3, options, [](ff_comm* comm, int rank) {
    std::mt19937 random(static_cast<uint32_t>(rank));
    std::vector<std::vector<float>> data;
    std::vector<ff_operation*> operations;
    for (int call = 0; call < 50; call++) {
      data.emplace_back(static_cast<size_t>(call * call * 40 + call));
      for (size_t i = 0; i < data.back().size(); i++) {
        data.back()[i] = static_cast<float>(input(rank, i, call));
      }
      ff_operation* operation = nullptr;
      MUST(ff_all_reduce(comm, nullptr, data.back().data(), data.back().size(), FF_FLOAT32,
                         call % 3 == 0 ? FF_MAX : FF_SUM, nullptr, &operation));
      operations.push_back(operation);
      for (auto left = random() % 300; left > 0; left--) std::this_thread::yield();
    }
    for (int call = 49; call >= 0; call--) {
      const auto at = static_cast<size_t>(call);
      MUST(ff_operation_wait(operations[at], 0));
      ff_operation_release(operations[at]);
      for (size_t i = 0; i < data[at].size(); i += 97) {
        ASSERT_EQ(data[at][i],
                  static_cast<float>(expected(call % 3 == 0 ? FF_MAX : FF_SUM, 3, i, call)));
      }
    }
  });
}
INSTANTIATE_TEST_SUITE_P(, Outstanding, testing::Values(FF_PROGRESS_THREAD, FF_PROGRESS_CALLER));

TEST(AllReduce, TheHelperFinishesWhatNobodyWaitsFor) {
  run_ranks(2, {}, [](ff_comm* comm, int rank) {
    std::vector<float> data(300'000, static_cast<float>(rank + 1));
    ff_operation* operation = nullptr;
    MUST(ff_all_reduce(comm, nullptr, data.data(), data.size(), FF_FLOAT32, FF_SUM, nullptr,
                       &operation));
    std::promise<ff_status> done;
    MUST(ff_operation_on_done(
        operation,
        [](void* promise, ff_status status) {
          static_cast<std::promise<ff_status>*>(promise)->set_value(status);
        },
        &done));
    EXPECT_EQ(done.get_future().get(), FF_OK);  // waits without driving
    EXPECT_EQ(ff_operation_test(operation), FF_OK);
    EXPECT_EQ(data.front(), 3.0f);
    EXPECT_EQ(data.back(), 3.0f);
    ff_operation_release(operation);
  });
}

TEST(AllReduce, CallsOnOneBufferFollowEachOther) {
  run_ranks(2, {}, [](ff_comm* comm, int) {
    std::vector<float> data(50'000, 1.0f);
    ff_operation* operations[3];
    for (ff_operation*& operation : operations) {
      MUST(ff_all_reduce(comm, nullptr, data.data(), data.size(), FF_FLOAT32, FF_SUM, nullptr,
                         &operation));
    }
    for (ff_operation* operation : operations) {
      MUST(ff_operation_wait(operation, 0));
      ff_operation_release(operation);
    }
    EXPECT_EQ(data[0], 8.0f);
    EXPECT_EQ(data[49'999], 8.0f);
  });
}

// CORE-16.
TEST(AllReduce, ManySmallCallsInARow) {
  run_ranks(2, {}, [](ff_comm* comm, int rank) {
    for (int call = 0; call < 20'000; call++) {
      int32_t x[12];
      for (int i = 0; i < 12; i++) x[i] = rank * 1000 + call + i;
      const size_t count = static_cast<size_t>(call % 12) + 1;
      MUST(ff_all_reduce(comm, nullptr, x, count, FF_INT32, FF_SUM, nullptr, nullptr));
      ASSERT_EQ(x[count - 1], 1000 + 2 * (call + static_cast<int>(count) - 1)) << call;
    }
  });
}

TEST(AllReduce, SeveralCommunicatorsOfOneProcess) {
  run_ranks(2, {}, [](ff_comm* outer, int outer_rank) {
    reduce_and_check<float>(outer, FF_FLOAT32, FF_SUM, 1000, true, outer_rank * 0);
    std::thread inner([] {
      run_ranks(3, {}, [](ff_comm* comm, int) {
        for (int round = 0; round < 20; round++) {
          reduce_and_check<float>(comm, FF_FLOAT32, FF_SUM, 5000, true, round);
        }
      });
    });
    for (int round = 0; round < 20; round++) {
      reduce_and_check<double>(outer, FF_FLOAT64, FF_MIN, 3000, true, round);
    }
    inner.join();
  });
}

}  // namespace
}  // namespace ff::testing_tools
