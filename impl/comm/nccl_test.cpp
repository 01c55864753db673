// When does a rank give its peers up in NCCL, and what does it say? On a stand-in with three GPUs,
// where a call waits in the driver as long as another verb is under way (queue=1).
#include "impl/comm/nccl.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "impl/comm/thread.hpp"
#include "kernels/cuda/device.hpp"

namespace shardmark {
namespace {

using namespace std::chrono_literals;

struct Rank {
  ThreadWorld& world;
  Device& device;
  Communicator& comm;
  Event all_reduce(View v) {
    return comm.all_reduce(v, {Reduce::Op::sum, DType::f32}, 3, Event::none());
  }
  Buffer zeros() {
    Buffer b = device.memory().alloc(8, DType::f32, Tag::gradient, device.comm());
    Span span = device.comm().begin(Phase::update, no_label, Event::none());
    device.comm().run(Clear{b.view()});
    (void)span.end();
    return b;
  }
};

class Nccl : public ::testing::Test {
 protected:
  // What rank 1 and rank 0 do; what each of them threw, or nothing.
  std::vector<std::string> run(double timeout_s, const std::function<void(Rank)>& body,
                               const std::function<void(const Interval&)>& on_span = {},
                               int ranks = 2,
                               nccl::RanksAre ranks_are = nccl::RanksAre::processes) {
    ThreadHub hub(ranks, timeout_s, 0);
    std::vector<std::string> threw(static_cast<std::size_t>(ranks));
    std::vector<std::jthread> threads;
    for (int r = 0; r < ranks; ++r)
      threads.emplace_back([&, r] {
        cuda::Options o;
        o.gpu = r;
        o.on_span = on_span;
        const auto device = cuda::make_device(std::move(o));
        ThreadWorld world(hub, r);
        try {
          const auto comm = nccl::communicator(*device, world, ranks_are, timeout_s);
          try {
            body({world, *device, *comm});
          } catch (const std::exception& e) {
            threw[static_cast<std::size_t>(r)] = e.what();
          }
          device->stop();
        } catch (const std::exception& e) {
          threw[static_cast<std::size_t>(r)] = e.what();
        }
      });
    threads.clear();
    failure = hub.failure();
    return threw;
  }
  std::optional<Failure> failure;
};

// Only an abort of the communicator that the call is using ends it.
TEST_F(Nccl, AFailureEndsACallThatWaitsForRoom) {
  const auto threw = run(60, [](Rank rank) {
    if (rank.comm.rank() == 1) {
      std::this_thread::sleep_for(200ms);
      return rank.world.fail({1, "gone"});
    }
    Buffer b = rank.zeros();
    for (int i = 0; i < 3; ++i) (void)rank.all_reduce(b.view());
  });
  EXPECT_NE(threw[0].find("gone"), std::string::npos) << threw[0];
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->rank, 1);
}

TEST_F(Nccl, TheDeadlineOfAVerbRunsFromWhereTheGpuHasComeToIt) {
  const auto threw = run(
      0.5,
      [](Rank rank) {
        Buffer b = rank.zeros();
        const std::uint64_t before = rank.world.activity().calls;
        EXPECT_EQ(before, 0u);  // the first collectives are nobody's
        (void)rank.all_reduce(b.view());
        EXPECT_EQ(rank.world.activity().text(), "1 collectives, in all_reduce of segment 3");
        rank.device.drain();
        std::this_thread::sleep_for(200ms);
        EXPECT_EQ(rank.world.activity().text(), "1 collectives, in none");
      },
      [](const Interval& i) {
        if (i.label == 3) std::this_thread::sleep_for(1s);
      });
  EXPECT_EQ(threw, std::vector<std::string>(2));
  EXPECT_FALSE(failure);
}

TEST_F(Nccl, AVerbThatDoesNotEndIsNamed) {
  const auto threw = run(0.5, [](Rank rank) {
    Buffer b = rank.zeros();
    if (rank.comm.rank() == 0) (void)rank.all_reduce(b.view());
    rank.device.drain();
    for (int i = 0; i < 100; ++i, std::this_thread::sleep_for(20ms)) rank.world.check();
  });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->rank, 0);
  EXPECT_EQ(failure->what,
            "a collective outside of the steps: waited more than 0.5 s for its peers in all_reduce "
            "of segment 3 (rank 0: 1 collectives, in all_reduce of segment 3; rank 1: 0 "
            "collectives, in none)");
}

// Run once more with memory_waits=1: asking for memory waits for what runs on all GPUs. Rank 1 asks
// while rank 0 would already wait for it in a verb. Threads meet first.
TEST_F(Nccl, ThreadsAskForMemoryInTheFirstStepsAndNobodyHangs) {
  const auto threw = run(
      5,
      [](Rank rank) {
        std::vector<Buffer> asked;
        for (int step = 0; step < 2; ++step) {
          rank.device.begin_step(step);
          rank.world.activity().step = step;
          for (int i = 0; i < 4; ++i) {
            if (rank.comm.rank() == 1) std::this_thread::sleep_for(20ms);
            asked.push_back(rank.zeros());
            (void)rank.all_reduce(asked.back().view());
          }
        }
        rank.device.drain();
      },
      {}, 2, nccl::RanksAre::threads);
  EXPECT_EQ(threw, std::vector<std::string>(2));
}

// A third in bf16 is 0.2 % too large: the mean of 100, 100 and 100.5 would be 100.36, and rounded
// 100.5.
TEST_F(Nccl, AMeanOfThreeIsRoundedOnceAtTheEnd) {
  const auto threw = run(
      5,
      [](Rank rank) {
        Buffer b = rank.device.memory().alloc(8, DType::bf16, Tag::gradient, rank.device.comm());
        Span span = rank.device.comm().begin(Phase::update, no_label, Event::none());
        rank.device.comm().run(
            Fill{b.view(), {Init::Kind::constant, rank.comm.rank() == 2 ? 100.5f : 100}});
        (void)span.end();
        (void)rank.comm.all_reduce(b.view(), {Reduce::Op::mean, DType::bf16}, 3, Event::none());
        rank.device.drain();
        EXPECT_EQ(rank.device.fetch_f32(b.view()), std::vector<float>(8, 100));
      },
      {}, 3);
  EXPECT_EQ(threw, std::vector<std::string>(3));
}

}  // namespace
}  // namespace shardmark
