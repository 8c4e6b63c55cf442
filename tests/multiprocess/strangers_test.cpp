// Foreign clients at rank 0's socket, and foreign servers in its place: dropped, counted, never in
// the way. They speak through raw sockets, as a stranger would.
#include <errno.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "bootstrap/channel.hpp"
#include "bootstrap/message.hpp"
#include "bootstrap_ranks.hpp"

namespace ff::testing_tools {
namespace {

using bootstrap::Accept;
using bootstrap::Channel;
using bootstrap::Packet;
using std::chrono::milliseconds;
using std::chrono::seconds;

bootstrap::Time in(std::chrono::nanoseconds patience) { return bootstrap::Clock::now() + patience; }

// Connects as soon as somebody listens.
Channel connect_stranger(const std::string& name) {
  const std::string socket = bootstrap::socket_name(name, 0);
  for (const auto until = in(seconds(10)); bootstrap::Clock::now() < until;) {
    auto channel = bootstrap::connect_to(socket);
    if (channel.ok() && channel->has_value()) return std::move(**channel);
    (void)poll(nullptr, 0, 1);
  }
  ADD_FAILURE() << "nobody listens at " << socket;
  return {};
}

// Blocks until the other end has hung up; false after 5 s.
bool is_dropped(Channel& channel) {
  Packet packet;
  for (const auto until = in(seconds(5)); !channel.closed();) {
    const auto got = channel.await(Accept::kBytesOnly, until, packet);
    if (!got.ok() || (!*got && !channel.closed())) return false;
  }
  return true;
}

std::vector<std::byte> noise(size_t bytes, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> result(bytes);
  std::ranges::generate(result, [&] { return static_cast<std::byte>(random()); });
  return result;
}

// A group of 3 whose rank 2 comes when the strangers have done their worst.
class Strangers : public testing::Test {
 protected:
  void start() {
    for (uint32_t r = 0; r < 2; r++) {
      ranks_.emplace_back([&](Child&) { return join_and_report(options_of(r, 3, name_)); });
    }
  }
  void complete() {
    ranks_.emplace_back([&](Child&) { return join_and_report(options_of(2, 3, name_)); });
    for (Child& rank : ranks_) EXPECT_TRUE(says(report_of(rank), FF_OK, {}));
  }
  const std::string name_ = fresh_rendezvous();
  std::vector<Child> ranks_;
};

TEST_F(Strangers, ThatConnectAndClose) {
  start();
  for (int i = 0; i < 100; i++) connect_stranger(name_).close();
  complete();
}

TEST_F(Strangers, ThatSendThreeBytes) {
  start();
  Channel stranger = connect_stranger(name_);
  ASSERT_EQ(send(stranger.fd(), "GET", 3, MSG_NOSIGNAL), 3);
  EXPECT_TRUE(is_dropped(stranger));
  complete();
}

TEST_F(Strangers, ThatSendAMebibyteOfNoise) {
  start();
  const auto bytes = noise(1 << 20, 7);
  for (const size_t packet : {size_t{1}, size_t{8}, size_t{4096}, size_t{65536}, size_t{150000}}) {
    Channel stranger = connect_stranger(name_);
    for (size_t at = 0; at < bytes.size(); at += packet) {
      const size_t count = std::min(packet, bytes.size() - at);
      if (send(stranger.fd(), bytes.data() + at, count, MSG_NOSIGNAL) < 0) break;
    }
    EXPECT_TRUE(is_dropped(stranger)) << packet << " bytes at a time";
  }
  complete();
}

TEST_F(Strangers, ThatStaySilentDoNotKeepOthersWaiting) {
  start();
  std::vector<Channel> silent;
  for (int i = 0; i < 200; i++) silent.push_back(connect_stranger(name_));
  const auto begin = bootstrap::Clock::now();
  complete();
  EXPECT_LT(bootstrap::seconds_since(begin), 1.5) << "less than a stranger's patience";
}

TEST_F(Strangers, ThatSendDescriptorsLeaveNoneThere) {
  start();
  Channel stranger = connect_stranger(name_);
  stranger.queue(noise(100, 1), {stranger.fd(), stranger.fd()});
  ASSERT_TRUE(stranger.flush().ok());
  EXPECT_TRUE(is_dropped(stranger));
  complete();
}

// A handshake that was once right is recorded at one job and played to another of the same name
// and secret.
TEST_F(Strangers, ThatReplayAHandshake) {
  const std::string socket = bootstrap::socket_name(name_, 0);
  std::vector<std::byte> hello, proof;
  {
    // We pose as rank 0 to hear what rank 2 says.
    auto listener = bootstrap::listen_at(socket);
    ASSERT_TRUE(listener.ok()) << listener.status().message();
    Child rank([&](Child&) { return join_and_report(options_of(2, 3, name_)); });
    pollfd polled = {listener->get(), POLLIN, 0};
    ASSERT_EQ(poll(&polled, 1, 5000), 1);
    auto accepted = bootstrap::accept_from(listener->get());
    ASSERT_TRUE(accepted.ok() && accepted->has_value());
    Channel channel = std::move(**accepted);
    Packet packet;
    ASSERT_TRUE(*channel.await(Accept::kBytesOnly, in(seconds(5)), packet));
    hello = packet.bytes;
    channel.queue(bootstrap::Challenge());
    ASSERT_TRUE(*channel.await(Accept::kBytesOnly, in(seconds(5)), packet));
    proof = packet.bytes;
    rank.send_signal(SIGKILL);
    rank.wait();
  }
  start();
  Channel stranger = connect_stranger(name_);
  stranger.queue(hello);
  Packet packet;
  ASSERT_TRUE(*stranger.await(Accept::kBytesOnly, in(seconds(5)), packet));
  stranger.queue(proof);
  EXPECT_TRUE(is_dropped(stranger));
  complete();
}

// ---- other versions -----------------------------------------------------------------------------

template <class Message>
std::vector<std::byte> of_version(const Message& message, uint8_t version) {
  std::vector<std::byte> bytes = encode(message);
  bytes[4] = std::byte{version};
  return bytes;
}

TEST(OtherVersion, OfAVisitorIsToldToBoth) {
  const std::string name = fresh_rendezvous();
  Child rank_0([&](Child&) { return join_and_report(options_of(0, 2, name, milliseconds(1000))); });
  Channel visitor = connect_stranger(name);
  visitor.queue(of_version(bootstrap::Hello(), 9));
  Packet packet;
  ASSERT_TRUE(*visitor.await(Accept::kBytesOnly, in(seconds(5)), packet));
  bootstrap::Failure failure;
  ASSERT_TRUE(decode(packet.bytes, failure).ok());
  EXPECT_EQ(failure.code, FF_ERROR_ARGUMENT);
  EXPECT_EQ(failure.text,
            "this process speaks version 9 of the bootstrap protocol, this is version 1");
  EXPECT_TRUE(says(report_of(rank_0), FF_ERROR_UNREACHABLE,
                   {"rank 1 of 2 did not arrive",
                    fmt::format("1 stranger was turned away: last pid {}: speaks version 9 of the "
                                "bootstrap protocol",
                                getpid())}));
}

TEST(OtherVersion, OfRank0IsToldAtOnce) {
  const std::string name = fresh_rendezvous();
  auto listener = bootstrap::listen_at(bootstrap::socket_name(name, 0));
  ASSERT_TRUE(listener.ok());
  Child rank([&](Child&) { return join_and_report(options_of(1, 2, name)); });
  pollfd polled = {listener->get(), POLLIN, 0};
  ASSERT_EQ(poll(&polled, 1, 5000), 1);
  auto accepted = bootstrap::accept_from(listener->get());
  ASSERT_TRUE(accepted.ok() && accepted->has_value());
  (*accepted)->queue(of_version(bootstrap::Challenge(), 9));
  ASSERT_TRUE((*accepted)->flush().ok());
  const Report report = report_of(rank);
  EXPECT_TRUE(says(report, FF_ERROR_ARGUMENT,
                   {fmt::format("(pid {}) speaks version 9", getpid()), "this process version 1"}));
  EXPECT_LT(report.seconds, 5);
}

TEST(OtherSecret, OfRank0IsNoRank0) {
  const std::string name = fresh_rendezvous();
  auto listener = bootstrap::listen_at(bootstrap::socket_name(name, 0));
  ASSERT_TRUE(listener.ok());
  Child rank([&](Child&) { return join_and_report(options_of(1, 2, name)); });
  pollfd polled = {listener->get(), POLLIN, 0};
  ASSERT_EQ(poll(&polled, 1, 5000), 1);
  auto accepted = bootstrap::accept_from(listener->get());
  ASSERT_TRUE(accepted.ok() && accepted->has_value());
  (*accepted)->queue(bootstrap::Challenge());
  (*accepted)->queue(bootstrap::Welcome());  // lets anybody in, and proves nothing
  ASSERT_TRUE((*accepted)->flush().ok());
  EXPECT_TRUE(says(report_of(rank), FF_ERROR_ARGUMENT, {"without knowing its secret"}));
}

}  // namespace
}  // namespace ff::testing_tools
