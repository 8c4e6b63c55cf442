// What fireflyer.hpp adds to fireflyer.h: types deduced, handles owned, errors carried.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "fake_c_api.hpp"
#include "fireflyer/fireflyer.hpp"

namespace {

using std::chrono::milliseconds;

// A type of the user's own, made known as the comment in element.hpp says.
struct MyHalf {
  uint16_t bits;
};

class Face : public testing::Test {
 protected:
  Face() { fake::reset(); }

  static ff::Communicator communicator(const ff::Options& options = {}) {
    return ff::Communicator::create(options).value();
  }
  static void fail_next(ff_status code, const char* text) {
    fake::state().next = code;
    fake::state().error = text;
  }
};

}  // namespace

template <>
struct ff::ElementType<MyHalf> {
  static constexpr ff_type value = FF_FLOAT16;
};

namespace {

template <class T>
ff_type type_reduced() {
  auto comm = ff::Communicator::create().value();
  std::array<T, 3> data{};
  comm.all_reduce(data, ff::Op::kMax).value();
  return fake::state().reduces.back().type;
}

TEST_F(Face, DeducesElementTypes) {
  EXPECT_EQ(type_reduced<float>(), FF_FLOAT32);
  EXPECT_EQ(type_reduced<double>(), FF_FLOAT64);
  EXPECT_EQ(type_reduced<int8_t>(), FF_INT8);
  EXPECT_EQ(type_reduced<uint8_t>(), FF_UINT8);
  EXPECT_EQ(type_reduced<int16_t>(), FF_INT16);
  EXPECT_EQ(type_reduced<uint16_t>(), FF_UINT16);
  EXPECT_EQ(type_reduced<int32_t>(), FF_INT32);
  EXPECT_EQ(type_reduced<uint32_t>(), FF_UINT32);
  EXPECT_EQ(type_reduced<int64_t>(), FF_INT64);
  EXPECT_EQ(type_reduced<uint64_t>(), FF_UINT64);
  EXPECT_EQ(type_reduced<long long>(), FF_INT64);  // a type of its own beside int64_t
  EXPECT_EQ(type_reduced<bool>(), FF_BOOL);
  EXPECT_EQ(type_reduced<ff::Half>(), FF_FLOAT16);
  EXPECT_EQ(type_reduced<ff::Bfloat16>(), FF_BFLOAT16);
  EXPECT_EQ(type_reduced<ff::Float8E4M3>(), FF_FLOAT8_E4M3);
  EXPECT_EQ(type_reduced<ff::Float8E5M2>(), FF_FLOAT8_E5M2);
  EXPECT_EQ(type_reduced<MyHalf>(), FF_FLOAT16);
}

TEST_F(Face, PassesBuffersOperationAndOptionsOn) {
  auto comm = communicator();
  const std::vector<float> send(5);
  std::vector<float> recv(5);
  comm.all_reduce(send, std::span(recv), ff::Op::kMin,
                  {.timeout = milliseconds(2), .name = "gradient"})
      .value();
  const fake::ReduceCall& call = fake::state().reduces.at(0);
  EXPECT_EQ(call.send, send.data());
  EXPECT_EQ(call.recv, recv.data());
  EXPECT_EQ(call.count, 5U);
  EXPECT_EQ(call.op, static_cast<ff_reduce_op>(FF_MIN));
  EXPECT_EQ(call.timeout_ns, 2'000'000);
  EXPECT_EQ(call.name, "gradient");
  EXPECT_TRUE(call.blocking);
}

TEST_F(Face, InPlaceSendsAndReceivesTheSameMemory) {
  auto comm = communicator();
  std::vector<double> data(4);
  comm.all_reduce(data, ff::Op::kSum).value();
  EXPECT_EQ(fake::state().reduces.at(0).send, data.data());
  EXPECT_EQ(fake::state().reduces.at(0).recv, data.data());
}

TEST_F(Face, RefusesUnequalLengthsBeforeTheCall) {
  auto comm = communicator();
  const std::vector<float> send(5);
  std::vector<float> recv(4);
  const auto status = comm.all_reduce(send, recv, ff::Op::kSum);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, FF_ERROR_ARGUMENT);
  EXPECT_EQ(status.error().message,
            "all_reduce: send has 5 elements and recv 4; they must be equal");
  EXPECT_TRUE(fake::state().reduces.empty());
}

TEST_F(Face, ErrorsCarryCodeAndText) {
  auto comm = communicator();
  std::vector<float> data(1);
  fail_next(FF_ERROR_PEER_LOST, "rank 2 (host a, pid 77) died");
  const auto now = comm.all_reduce(data, ff::Op::kSum);
  ASSERT_FALSE(now.ok());
  EXPECT_EQ(now.error().code, FF_ERROR_PEER_LOST);
  EXPECT_EQ(now.error().message, "rank 2 (host a, pid 77) died");
  EXPECT_EQ(comm.all_reduce_async(data, ff::Op::kSum).error().code, FF_ERROR_PEER_LOST);
  EXPECT_EQ(comm.flush().error().code, FF_ERROR_PEER_LOST);
  EXPECT_EQ(comm.query("config").error().code, FF_ERROR_PEER_LOST);
  EXPECT_EQ(ff::explain("all_reduce").error().code, FF_ERROR_PEER_LOST);
  EXPECT_EQ(ff::Communicator::create().error().code, FF_ERROR_PEER_LOST);
}

TEST_F(Face, ZeroMeansDefaultAndIsPassedAsSuch) {
  auto comm = communicator();
  const ff_config& config = fake::state().config;
  EXPECT_EQ(config.size, sizeof(ff_config));
  EXPECT_EQ(config.abi, FF_ABI);
  EXPECT_TRUE(fake::state().name_was_null);
  EXPECT_EQ(config.ranks, 0);
  EXPECT_EQ(config.call_timeout_ns, 0);
  EXPECT_EQ(config.on_failure, nullptr);
}

TEST_F(Face, OptionsReachTheLibrary) {
  auto comm = communicator({.rank = 1,
                            .ranks = 4,
                            .name = "gradients",
                            .call_timeout = milliseconds(5),
                            .numerics = ff::Numerics::kAnyLayout});
  EXPECT_EQ(fake::state().config.rank, 1);
  EXPECT_EQ(fake::state().config.ranks, 4);
  EXPECT_EQ(fake::state().config_name, "gradients");
  EXPECT_EQ(fake::state().config.call_timeout_ns, 5'000'000);
  EXPECT_EQ(fake::state().config.numerics, FF_NUMERICS_ANY_LAYOUT);
  EXPECT_EQ(comm.rank(), 2);
  EXPECT_EQ(comm.ranks(), 5);
}

TEST_F(Face, HandlesAreGivenBackOnceHoweverTheyMove) {
  {
    auto first = communicator();
    auto second = communicator();
    std::vector<float> data(1);
    auto operation = second.all_reduce_async(data, ff::Op::kSum).value();  // handle 3
    ff::Operation moved = std::move(operation);
    first = std::move(second);  // ends communicator 1
    EXPECT_EQ(fake::state().events, (std::vector<std::string>{"destroy 1"}));
  }
  EXPECT_EQ(fake::state().events,
            (std::vector<std::string>{"destroy 1", "release 3", "destroy 2"}));
}

TEST_F(Face, FailureFunctionOutlivesTheHandleThatCallsIt) {
  auto told = std::make_shared<int>(0);
  {
    ff::Options options;
    options.on_failure = [told](const ff_failure& failure) { *told = failure.rank; };
    auto comm = communicator(options);
    options.on_failure = nullptr;  // create() has its own copy
    EXPECT_EQ(told.use_count(), 2);
    comm = communicator();  // the fake tells of a failure while 1 is being destroyed
    EXPECT_EQ(*told, 1);
    EXPECT_EQ(told.use_count(), 1);
  }
}

TEST_F(Face, NotDoneYetIsAnAnswerNotAnError) {
  auto comm = communicator();
  std::vector<float> data(1);
  auto operation = comm.all_reduce_async(data, ff::Op::kSum).value();
  EXPECT_FALSE(fake::state().reduces.at(0).blocking);

  fail_next(FF_IN_PROGRESS, "");
  EXPECT_FALSE(operation.test().value());
  EXPECT_FALSE(operation.wait_for(milliseconds(3)).value());
  EXPECT_EQ(fake::state().wait_timeout_ns, 3'000'000);

  fake::state().next = FF_OK;
  EXPECT_TRUE(operation.test().value());
  operation.wait().value();
  EXPECT_EQ(fake::state().wait_timeout_ns, -1);

  fail_next(FF_ERROR_TIMEOUT, "5 s passed");
  EXPECT_EQ(operation.test().error().message, "5 s passed");
  EXPECT_EQ(operation.wait().error().code, FF_ERROR_TIMEOUT);
}

TEST_F(Face, OnDoneKeepsTheFunctionUntilItHasRun) {
  auto comm = communicator();
  std::vector<float> data(1);
  auto operation = comm.all_reduce_async(data, ff::Op::kSum).value();
  auto token = std::make_shared<int>(0);
  operation.on_done([token](ff_status status) { *token = status; }).value();
  EXPECT_EQ(token.use_count(), 2);
  fake::state().done(fake::state().done_context, FF_ERROR_ABORTED);
  EXPECT_EQ(*token, FF_ERROR_ABORTED);
  EXPECT_EQ(token.use_count(), 1);
}

TEST_F(Face, OnDoneThatIsRefusedFreesTheFunctionUncalled) {
  auto comm = communicator();
  std::vector<float> data(1);
  auto operation = comm.all_reduce_async(data, ff::Op::kSum).value();
  auto token = std::make_shared<int>(0);
  fail_next(FF_ERROR_STATE, "in a forked child");
  EXPECT_EQ(operation.on_done([token](ff_status) { *token = 1; }).error().code, FF_ERROR_STATE);
  EXPECT_EQ(token.use_count(), 1);
  EXPECT_EQ(*token, 0);
}

TEST_F(Face, TextsAreFreed) {
  auto comm = communicator();
  EXPECT_EQ(ff::explain("all_reduce ranks=4").value(), "{\"algorithm\": \"direct\"}");
  EXPECT_EQ(fake::state().request, "all_reduce ranks=4");
  EXPECT_EQ(comm.query("members").value(), "{\"algorithm\": \"direct\"}");
  EXPECT_EQ(fake::state().request, "members");
  EXPECT_EQ(fake::state().texts_alive, 0);
}

TEST_F(Face, FailureIsEmptyWhileTheCommunicatorWorks) {
  auto comm = communicator();
  EXPECT_FALSE(comm.failure().value().has_value());
  fake::state().ended = FF_ERROR_PEER_LOST;
  const auto failure = comm.failure().value();
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->status, FF_ERROR_PEER_LOST);
  EXPECT_EQ(failure->rank, 3);
}

using FaceDeathTest = Face;

TEST_F(FaceDeathTest, ValueOfAnErrorEndsTheProcessWithItsText) {
  fail_next(FF_ERROR_UNREACHABLE, "ranks 1 and 3 did not arrive within 60 s");
  EXPECT_DEATH((void)communicator(), "ranks 1 and 3 did not arrive within 60 s");
  fake::state().next = FF_OK;
  auto comm = communicator();
  EXPECT_DEATH((void)comm.flush().error(), "error\\(\\) called");
}

}  // namespace
