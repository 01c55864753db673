// When does a rank give its peers up in NCCL, and what does it say? On a stand-in with two GPUs,
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
                               const std::function<void(const Interval&)>& on_span = {}) {
    ThreadHub hub(2, timeout_s, 0);
    std::vector<std::string> threw(2);
    std::vector<std::jthread> threads;
    for (int r : {0, 1})
      threads.emplace_back([&, r] {
        cuda::Options o;
        o.gpu = r;
        o.on_span = on_span;
        const auto device = cuda::make_device(std::move(o));
        ThreadWorld world(hub, r);
        try {
          const auto comm = nccl::communicator(*device, world, timeout_s);
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

}  // namespace
}  // namespace shardmark
