// Ranks as threads on one node, every schedule of the registry that needs no transport.
#include "collective/engine/engine.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <thread>

#include "base/data_type.hpp"
#include "collective/algorithm/algorithm.hpp"
#include "collective/engine/arena.hpp"
#include "collective/schedule/completion.hpp"

namespace ff {
namespace {

constexpr SeatLayout kLayout = {40, 16 << 10, 1 << 20};

// The shared memory of a node, and an engine a rank.
class Node {
 public:
  struct Settings {
    bool spin = false;
    std::optional<uint64_t> shuffle;
    uint32_t max_outstanding = 16;
  };

  Node(uint32_t ranks, const Settings& settings) : bell_(Bell::create().value()) {
    for (uint32_t r = 0; r < ranks; r++) {
      segments_.push_back(create_segment(kLayout.segment_bytes(), kLayout.segment_bytes()).value());
      seats_.push_back(kLayout.at(segments_.back().mapping.address()));
    }
    for (uint32_t r = 0; r < ranks; r++) {
      EngineOptions options;
      options.name = "test";
      options.rank = Rank(r);
      options.seats = seats_;
      options.people.resize(ranks, {"here", 1});
      for (const SeatMemory& seat : seats_) options.node.push_back({seat.seat, bell_.address()});
      options.seat_layout = kLayout;
      options.bell = &bell_;
      options.ladder.may_spin = settings.spin;
      options.max_outstanding = settings.max_outstanding;
      options.shuffle_seed = settings.shuffle;
      engines_.push_back(std::make_unique<Engine>(std::move(options)));
    }
  }

  uint32_t ranks() const { return static_cast<uint32_t>(engines_.size()); }
  Engine& engine(uint32_t rank) { return *engines_[rank]; }
  std::span<const SeatMemory> seats() const { return seats_; }

  // Runs `body` as each rank, on a thread of its own.
  void run(const std::function<void(uint32_t)>& body) {
    std::vector<std::thread> threads;
    for (uint32_t r = 0; r < ranks(); r++) threads.emplace_back(body, r);
    for (std::thread& thread : threads) thread.join();
  }

 private:
  Bell bell_;
  std::vector<Segment> segments_;
  std::vector<SeatMemory> seats_;
  std::vector<std::unique_ptr<Engine>> engines_;
};

std::shared_ptr<const Program> make_program(const Node& node, const Algorithm& algorithm,
                                            uint16_t slots, uint32_t rank, ff_type type,
                                            ff_reduce_op op, uint64_t piece, uint64_t largest) {
  const Placement placement = Placement::one_node(node.ranks());
  auto schedule =
      std::make_shared<Schedule>(algorithm.all_reduce(placement, {.slots = slots, .channels = 2}));
  LoweringRequest request;
  request.completing = completing_steps(*schedule);
  schedule->prune();
  request.schedule = schedule;
  request.rank = Rank(rank);
  request.seats = node.seats();
  request.seat_layout = kLayout;
  request.type = type;
  request.op = op;
  request.isa = select_isa("").value();
  request.piece_bytes = piece;
  request.largest_piece = std::min(piece, largest);
  const Result<std::shared_ptr<const Program>> program = lower(request);
  EXPECT_TRUE(program.ok()) << program.status().message();
  return *program;
}

CallRequest request_of(const Program& program, const void* send, void* recv, uint64_t count,
                       ff_type type, ff_reduce_op op) {
  CallRequest request;
  request.program = &program;
  request.send = send;
  request.recv = recv;
  request.description.count = count;
  request.description.type = type;
  request.description.op = op;
  request.digest = count * 31 + static_cast<uint64_t>(type) * 7 + op + 1;
  request.timeout = std::chrono::seconds(60);
  return request;
}

int32_t value_of(uint32_t rank, uint64_t index, uint64_t call) {
  return static_cast<int32_t>((index * 7 + rank * 131 + call * 1009) % 100003);
}

class EngineTest : public testing::TestWithParam<bool> {};

// Odd sizes, one call after another, each checked; in shuffled order of firing as well.
TEST_P(EngineTest, SumsWhateverTheSizeAndOrderOfFiring) {
  const bool shuffled = GetParam();
  for (const Algorithm* algorithm : algorithms()) {
    for (const uint32_t ranks : {1u, 2u, 3u, 4u, 5u}) {
      if (!algorithm->applies(Placement::one_node(ranks))) continue;
      for (const uint16_t slots : {uint16_t{1}, uint16_t{3}}) {
        SCOPED_TRACE(std::string(algorithm->name) + " ranks " + std::to_string(ranks) + " slots " +
                     std::to_string(slots));
        Node node(ranks, {.spin = false,
                          .shuffle = shuffled ? std::optional<uint64_t>(slots) : std::nullopt});
        node.run([&](uint32_t rank) {
          const uint64_t counts[] = {0, 1, 7, 10, 17, 1000, 16 * 1024, 40000, 10, 1};
          for (uint64_t call = 0; call < std::size(counts); call++) {
            const uint64_t count = counts[call];
            const auto program = make_program(node, *algorithm, slots, rank, FF_INT32, FF_SUM,
                                              count * 4 <= 64 ? 64 : 4096, count * 4);
            std::vector<int32_t> data(count);
            for (uint64_t i = 0; i < count; i++) data[i] = value_of(rank, i, call);
            Operation operation;
            const Status status = node.engine(rank).submit(
                request_of(*program, data.data(), data.data(), count, FF_INT32, FF_SUM), operation);
            ASSERT_TRUE(status.ok()) << status.message();
            node.engine(rank).wait(operation, std::chrono::seconds(-1));
            ASSERT_EQ(operation.status(), FF_OK)
                << (operation.message() ? *operation.message() : "");
            for (uint64_t i = 0; i < count; i++) {
              int32_t expected = 0;
              for (uint32_t r = 0; r < ranks; r++) expected += value_of(r, i, call);
              ASSERT_EQ(data[i], expected) << "element " << i << " of " << count;
            }
            // The program may still be looked at by nobody: our call is done here.
          }
        });
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(, EngineTest, testing::Bool());

}  // namespace
}  // namespace ff
