// Do the verbs on thread ranks give the right sums, for any count and N? Inputs are small integers,
// whose sums are exact.
#include "impl/comm/thread.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "kernels/cpu/device.hpp"

namespace shardmark {
namespace {

struct Given {
  int rank;
  Device& device;
  Communicator& comm;
  World& world;
};

// Runs body on every rank, each with a thread, a device and a communicator of its own; returns what
// was said.
template <class Body>
std::vector<std::string> on_ranks(int ranks, double timeout_s, Body body,
                                  Options::AllReduce algorithm = Options::AllReduce::composed) {
  ThreadHub hub(ranks, timeout_s, 0);
  std::vector<std::string> said(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r)
    threads.emplace_back([&, r] {
      ThreadWorld world(hub, r);
      CpuOptions o;
      o.poll = [&] { hub.check(); };
      o.on_error = [&](std::exception_ptr) { hub.fail({r, "in its communication"}); };
      CpuDevice device(o);
      ThreadCommunicator comm(device, hub, r, algorithm);
      try {
        body(Given{r, device, comm, world});
        device.drain();
      } catch (const std::exception& e) {
        world.fail({r, e.what()});
        said[static_cast<std::size_t>(r)] = e.what();
      }
    });
  for (std::thread& t : threads) t.join();
  return said;
}

float value(int rank, std::size_t i) {
  return static_cast<float>((static_cast<std::size_t>(rank) * 7 + i * 3) % 11);
}
float sum(int ranks, std::size_t i) {
  float total = 0;
  for (int r = 0; r < ranks; ++r) total += value(r, i);
  return total;
}

Buffer filled(const Given& g, std::size_t n, Tag tag = Tag::workspace) {
  Buffer b = g.device.memory().alloc(n, DType::f32, tag, g.device.compute());
  for (std::size_t i = 0; i < n; ++i) b.view().host<float>()[i] = value(g.rank, i);
  return b;
}

// As on_ranks, where nothing may go wrong.
template <class Body>
void on_all_ranks(int ranks, Body body,
                  Options::AllReduce algorithm = Options::AllReduce::composed) {
  for (const std::string& said : on_ranks(ranks, 20, body, algorithm)) EXPECT_EQ(said, "");
}

class Threads : public testing::TestWithParam<int> {};

TEST_P(Threads, AllReduceOfAnyCount) {
  const int n = GetParam();
  for (auto algorithm : {Options::AllReduce::composed, Options::AllReduce::direct})
    for (std::size_t count :
         {std::size_t{1}, std::size_t{2}, std::size_t{63}, std::size_t{1000}, std::size_t{40'001}})
      on_all_ranks(
          n,
          [&](const Given& g) {
            const Buffer b = filled(g, count);
            (void)g.comm.all_reduce(b.view(), {Reduce::Op::sum, DType::f32}, 0, Event::none());
            g.device.drain();
            for (std::size_t i = 0; i < count; ++i)
              ASSERT_EQ(b.view().host<float>()[i], sum(n, i)) << n << " ranks, " << count;
            EXPECT_EQ(g.comm.traffic().at({Verb::all_reduce, DType::f32}).payload, count * 4);
          },
          algorithm);
}

TEST_P(Threads, ReduceScatterThenAllGatherIsAllReduce) {
  const int n = GetParam();
  const std::size_t part = 1001, count = part * static_cast<std::size_t>(n);
  for (bool inside : {true, false})
    on_all_ranks(n, [&](const Given& g) {
      const Buffer whole = filled(g, count), apart = filled(g, part);
      const View mine = inside ? whole.view().slice({static_cast<std::size_t>(g.rank) * part, part})
                               : apart.view();
      const Event reduced = g.comm.reduce_scatter(whole.view(), mine, {Reduce::Op::sum, DType::f32},
                                                  0, Event::none());
      (void)g.comm.all_gather(mine, whole.view(), 0, reduced);
      g.device.drain();
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(whole.view().host<float>()[i], sum(n, i));
    });
}

TEST_P(Threads, AddsToWhatIsThereAndTakesTheMean) {
  const int n = GetParam();
  const std::size_t part = 64, count = part * static_cast<std::size_t>(n);
  on_all_ranks(n, [&](const Given& g) {
    const Buffer whole = filled(g, count), mine = filled(g, part);
    (void)g.comm.reduce_scatter(whole.view(), mine.view(),
                                {Reduce::Op::mean, DType::f32, Reduce::Write::add}, 0,
                                Event::none());
    g.device.drain();
    for (std::size_t i = 0; i < part; ++i) {
      const float mean =
          sum(n, static_cast<std::size_t>(g.rank) * part + i) * static_cast<float>(1.0 / n);
      ASSERT_EQ(mine.view().host<float>()[i], value(g.rank, i) + mean);
    }
  });
}

TEST_P(Threads, TravelsAsAnotherType) {
  const int n = GetParam();
  on_all_ranks(n, [&](const Given& g) {
    const std::size_t count = 96 * static_cast<std::size_t>(n);
    const Buffer b = filled(g, count);
    (void)g.comm.all_reduce(b.view(), {Reduce::Op::sum, DType::f64}, 0, Event::none());
    g.device.drain();
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(b.view().host<float>()[i], sum(n, i));
    EXPECT_EQ(g.comm.traffic().at({Verb::all_reduce, DType::f64}).payload, count * 8);
    EXPECT_EQ(g.device.memory().ledger().live({Tag::staging, DType::f64}), 0u);
    EXPECT_EQ(g.device.memory().ledger().peaks().at({Tag::staging, DType::f64}), count * 8);
  });
}
INSTANTIATE_TEST_SUITE_P(Ranks, Threads, testing::Values(1, 2, 3, 5, 8));

TEST(Volume, IsWhatARingSends) {
  for (int n : {1, 2, 3, 8})
    for (int r = 0; r < n; ++r) {
      const std::size_t elements = 48, bytes = elements * 4;
      const auto un = static_cast<std::uint64_t>(n);
      EXPECT_EQ(volume_bytes(Verb::reduce_scatter, elements, DType::f32, n, r),
                bytes * (un - 1) / un);
      EXPECT_EQ(volume_bytes(Verb::all_gather, elements, DType::f32, n, r), bytes * (un - 1) / un);
      EXPECT_EQ(volume_bytes(Verb::all_reduce, elements, DType::f32, n, r),
                2 * bytes * (un - 1) / un);
    }
  // One element over three ranks: the two others send it to its owner, who sends it to both.
  EXPECT_EQ(volume_bytes(Verb::all_reduce, 1, DType::f64, 3, 0), 16u);
  EXPECT_EQ(volume_bytes(Verb::all_reduce, 1, DType::f64, 3, 1), 8u);
}

TEST(Failure, ARankThatDoesNotComeIsNamed) {
  const auto said = on_ranks(3, 0.2, [](const Given& g) {
    if (g.rank == 1) {
      while (true) {
        g.world.check();
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    }
    const Buffer b = filled(g, 8);
    (void)g.comm.all_reduce(b.view(), {Reduce::Op::sum, DType::f32}, 4, Event::none());
    g.device.drain();
  });
  const std::string all = said[0] + said[1] + said[2];
  EXPECT_NE(all.find("rank 1: 0 collectives, in none"), std::string::npos) << all;
  EXPECT_NE(all.find("in all_reduce of segment 4"), std::string::npos) << all;
}

TEST(Failure, ReachesRanksThatWait) {
  const auto said = on_ranks(3, 20, [](const Given& g) {
    if (g.rank == 2) throw Error("a disk was full");
    (void)g.world.gather("x");
  });
  EXPECT_EQ(said[0], "rank 2 failed: a disk was full");
  EXPECT_EQ(said[1], "rank 2 failed: a disk was full");
}

TEST(Failure, RanksThatDisagreeAreTold) {
  const auto said = on_ranks(2, 20, [](const Given& g) {
    const Buffer b = filled(g, g.rank == 0 ? 8 : 16);
    (void)g.comm.all_reduce(b.view(), {Reduce::Op::sum, DType::f32}, 0, Event::none());
    g.device.drain();
  });
  EXPECT_NE((said[0] + said[1]).find("ranks disagree on what to do"), std::string::npos)
      << said[0] << said[1];
}

}  // namespace
}  // namespace shardmark
