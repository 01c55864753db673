// Do the verbs on thread ranks give the right sums, for any count and N? Inputs are small integers,
// whose sums are exact.
#include "impl/comm/thread_ranks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "impl/comm/exact_sums.hpp"

namespace shardmark {
namespace {

using exact::first_wrong;
using exact::sum;
using exact::value;

using Body = std::function<void(const Rank&)>;

ThreadRanks ranks_of(int ranks, double timeout_s = 20) {
  ThreadRanks how;
  how.ranks = ranks;
  how.timeout_s = timeout_s;
  how.overlap = true;
  return how;
}

Buffer filled(const Rank& g, std::size_t n) { return exact::filled(g.device, g.comm.rank(), n); }

// Nothing may go wrong.
void on_all_ranks(const ThreadRanks& how, const Body& body) {
  for (const std::string& said : run_on_threads(how, body)) EXPECT_EQ(said, "");
}

std::string joined(const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& one : all) text += one + " ";
  return text;
}

// Memory, composed and direct; the ring; the ring behind a link.
std::vector<ThreadRanks> ways(int ranks) {
  std::vector<ThreadRanks> all(4, ranks_of(ranks));
  all[1].all_reduce = Options::AllReduce::direct;
  all[2].collectives = all[3].collectives = Collectives::ring;
  all[3].link = Link{1, 1000};
  return all;
}

class Threads : public testing::TestWithParam<int> {};

TEST_P(Threads, AllReduceOfAnyCount) {
  const int n = GetParam();
  for (const ThreadRanks& how : ways(n))
    for (std::size_t count :
         {std::size_t{1}, std::size_t{2}, std::size_t{63}, std::size_t{1000}, std::size_t{40'001}})
      on_all_ranks(how, [&](const Rank& g) {
        const Buffer b = filled(g, count);
        (void)g.comm.all_reduce(b.view(), {Reduce::Op::sum, DType::f32}, 0, Event::none());
        g.device.drain();
        EXPECT_EQ(first_wrong(b.view(), n), count) << n << " ranks";
        const Traffic counted = g.comm.traffic().at({Verb::all_reduce, DType::f32});
        EXPECT_EQ(counted.payload, count * 4);
        // The transport's own count; a direct all-reduce writes to peers what others read.
        if (how.all_reduce == Options::AllReduce::composed) {
          const std::string all = joined(g.world.gather(std::to_string(g.comm.moved_bytes())));
          EXPECT_EQ(g.comm.moved_bytes(), counted.volume)
              << n << " ranks, " << count << ": " << all;
        }
      });
}

// Many chunks a part, a last one that is shorter, more messages than the window holds.
TEST_P(Threads, ReduceScatterThenAllGatherIsAllReduce) {
  const int n = GetParam();
  for (const ThreadRanks& how : ways(n))
    for (const std::size_t part : {std::size_t{1}, std::size_t{1001}, std::size_t{200'003}})
      for (bool inside : {true, false})
        on_all_ranks(how, [&](const Rank& g) {
          const std::size_t count = part * static_cast<std::size_t>(n);
          const Buffer whole = filled(g, count), apart = filled(g, part);
          const std::size_t begin = static_cast<std::size_t>(g.comm.rank()) * part;
          const View mine = inside ? whole.view().slice({begin, part}) : apart.view();
          const Event reduced = g.comm.reduce_scatter(
              whole.view(), mine, {Reduce::Op::sum, DType::f32}, 0, Event::none());
          g.device.drain();
          EXPECT_EQ(first_wrong(mine, n, begin), part) << n << " ranks";
          (void)g.comm.all_gather(mine, whole.view(), 0, reduced);
          g.device.drain();
          EXPECT_EQ(first_wrong(whole.view(), n), count) << n << " ranks";
        });
}

TEST_P(Threads, TwoByteNumbersTravelAndAdd) {
  const int n = GetParam();
  const std::size_t part = 1001, count = part * static_cast<std::size_t>(n);
  for (const ThreadRanks& how : ways(n))
    for (const DType wire : {DType::bf16, DType::f16})
      on_all_ranks(how, [&](const Rank& g) {
        const std::size_t begin = static_cast<std::size_t>(g.comm.rank()) * part;
        const Buffer whole = filled(g, count), mine = filled(g, part);
        const Event reduced = g.comm.reduce_scatter(whole.view(), mine.view(),
                                                    {Reduce::Op::sum, wire}, 0, Event::none());
        (void)g.comm.all_gather(mine.view(), whole.view(), 0, reduced);
        (void)g.comm.all_reduce(whole.view(), {Reduce::Op::mean, wire}, 0, Event::none());
        g.device.drain();
        EXPECT_EQ(first_wrong(mine.view(), n, begin), part) << n << " ranks in " << name(wire);
        if ((n & (n - 1)) == 0) {  // else the mean of n times a number is rounded
          EXPECT_EQ(first_wrong(whole.view(), n), count) << n << " ranks in " << name(wire);
        }
        EXPECT_EQ(g.comm.traffic().at({Verb::reduce_scatter, wire}).payload, 2 * count);
      });
}

// Four times 25,000 is more than f16 holds, and their mean is not.
TEST(TwoBytes, AMeanDoesNotOverflowOnItsWay) {
  for (const ThreadRanks& how : ways(4))
    on_all_ranks(how, [&](const Rank& g) {
      const Buffer whole = filled(g, 64), mine = filled(g, 16), all = filled(g, 64);
      for (const View v : {whole.view(), all.view()})
        for (float& x : v.host<float>()) x = 25'000;
      const Reduce mean{Reduce::Op::mean, DType::f16};
      (void)g.comm.reduce_scatter(whole.view(), mine.view(), mean, 0, Event::none());
      (void)g.comm.all_reduce(all.view(), mean, 0, Event::none());
      g.device.drain();
      for (const View v : {mine.view(), all.view()})
        for (const float x : v.host<float>()) ASSERT_NEAR(x, 25'000, 16);  // f16's step there
    });
}

// 1 and three times a quarter of the last place behind it. One rounding at the end gives the next
// number; on the ring each hop rounds, and the quarters are lost where the 1 comes before them.
TEST(TwoBytes, AreRoundedOnceInMemoryAndAtEachHopOfARing) {
  constexpr std::size_t part = 16;
  const float quarter = 0x1p-9f, next = 1 + 0x1p-7f;
  for (const auto made_by : {Collectives::memory, Collectives::ring}) {
    ThreadRanks how = ranks_of(4);
    how.collectives = made_by;
    on_all_ranks(how, [&](const Rank& g) {
      const Buffer whole = filled(g, 4 * part), mine = filled(g, part);
      const std::span<float> values = whole.view().host<float>();
      std::ranges::fill(values, g.comm.rank() == 1 ? 1 : quarter);
      (void)g.comm.reduce_scatter(whole.view(), mine.view(), {Reduce::Op::sum, DType::bf16}, 0,
                                  Event::none());
      g.device.drain();
      // Part r is first rank r + 1's, then goes around and ends with rank r.
      const bool one_comes_last = g.comm.rank() == 1;
      const float want = made_by == Collectives::memory || one_comes_last ? next : 1;
      const std::span<float> got = mine.view().host<float>();
      for (const float x : got) ASSERT_EQ(x, want) << "rank " << g.comm.rank();
    });
  }
}

TEST_P(Threads, AddsToWhatIsThereAndTakesTheMean) {
  const int n = GetParam();
  const std::size_t part = 64, count = part * static_cast<std::size_t>(n);
  for (const ThreadRanks& how : ways(n))
    on_all_ranks(how, [&](const Rank& g) {
      const Buffer whole = filled(g, count), mine = filled(g, part);
      (void)g.comm.reduce_scatter(whole.view(), mine.view(),
                                  {Reduce::Op::mean, DType::f32, Reduce::Write::add}, 0,
                                  Event::none());
      g.device.drain();
      for (std::size_t i = 0; i < part; ++i) {
        const float mean = sum(n, static_cast<std::size_t>(g.comm.rank()) * part + i) *
                           static_cast<float>(1.0 / n);
        ASSERT_EQ(mine.view().host<float>()[i], value(g.comm.rank(), i) + mean);
      }
    });
}

TEST_P(Threads, TravelsAsAnotherType) {
  const int n = GetParam();
  for (const ThreadRanks& how : ways(n))
    on_all_ranks(how, [&](const Rank& g) {
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
  for (const Collectives made_by : {Collectives::memory, Collectives::ring})
    for (int n : {1, 2, 3, 8})
      for (int r = 0; r < n; ++r) {
        const std::size_t elements = 48, bytes = elements * 4;
        const auto un = static_cast<std::uint64_t>(n);
        const auto volume = [&](Verb v) {
          return volume_bytes(v, elements, DType::f32, n, r, made_by);
        };
        EXPECT_EQ(volume(Verb::reduce_scatter), bytes * (un - 1) / un);
        EXPECT_EQ(volume(Verb::all_gather), bytes * (un - 1) / un);
        EXPECT_EQ(volume(Verb::all_reduce), 2 * bytes * (un - 1) / un);
      }
  // One element over three ranks: the two others send it to its owner, who sends it to both.
  EXPECT_EQ(volume_bytes(Verb::all_reduce, 1, DType::f64, 3, 0), 16u);
  EXPECT_EQ(volume_bytes(Verb::all_reduce, 1, DType::f64, 3, 1), 8u);
  // On a ring it goes 1, 2, 0 while it is added up, then 0, 1, 2.
  const auto ring = Collectives::ring;
  EXPECT_EQ(volume_bytes(Verb::all_reduce, 1, DType::f64, 3, 0, ring), 8u);
  EXPECT_EQ(volume_bytes(Verb::all_reduce, 1, DType::f64, 3, 1, ring), 16u);
  EXPECT_EQ(volume_bytes(Verb::all_reduce, 1, DType::f64, 3, 2, ring), 8u);
}

// 1.6 MB by 4 ranks over 0.02 byte/ns each way: 1.2 MB leave each rank, so 60 ms.
TEST(Link, TakesTheTimeOfItsRate) {
  ThreadRanks how = ranks_of(4);
  how.collectives = Collectives::ring;
  how.link = Link{0.02, 0};
  on_all_ranks(how, [&](const Rank& g) {
    const Buffer b = filled(g, 400'000);
    (void)g.world.gather("");
    const std::int64_t begin = now_ns();
    (void)g.comm.reduce_scatter(
        b.view(), b.view().slice({static_cast<std::size_t>(g.comm.rank()) * 100'000, 100'000}),
        {Reduce::Op::sum, DType::f32}, 0, Event::none());
    g.device.drain();
    EXPECT_GE(now_ns() - begin, 60'000'000);
    EXPECT_EQ(g.comm.moved_bytes(), 1'200'000u);
  });
}

// Every hop of a ring waits for the one before it.
TEST(Link, ItsLatencyIsPaidInEveryRound) {
  ThreadRanks how = ranks_of(3);
  how.collectives = Collectives::ring;
  how.link = Link{100, 2'000'000};
  on_all_ranks(how, [&](const Rank& g) {
    const Buffer b = filled(g, 3);
    (void)g.world.gather("");
    const std::int64_t begin = now_ns();
    (void)g.comm.all_reduce(b.view(), {Reduce::Op::sum, DType::f32}, 0, Event::none());
    g.device.drain();
    EXPECT_GE(now_ns() - begin, 4 * 2'000'000);  // 2 (N - 1) rounds
  });
}

TEST(Failure, ARankThatDoesNotComeIsNamed) {
  const auto said = run_on_threads(ranks_of(3, 0.2), [](const Rank& g) {
    if (g.comm.rank() == 1) {
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
  const auto said = run_on_threads(ranks_of(3), [](const Rank& g) {
    if (g.comm.rank() == 2) throw Error("a disk was full");
    (void)g.world.gather("x");
  });
  EXPECT_EQ(said[0], "rank 2 failed: a disk was full");
  EXPECT_EQ(said[1], "rank 2 failed: a disk was full");
}

TEST(Failure, RanksThatDisagreeAreTold) {
  for (const Collectives made_by : {Collectives::memory, Collectives::ring}) {
    ThreadRanks how = ranks_of(2);
    how.collectives = made_by;
    const auto said = run_on_threads(how, [](const Rank& g) {
      const Buffer b = filled(g, g.comm.rank() == 0 ? 8 : 16);
      (void)g.comm.all_reduce(b.view(), {Reduce::Op::sum, DType::f32}, 0, Event::none());
      g.device.drain();
    });
    EXPECT_NE((said[0] + said[1]).find("ranks disagree on what to do"), std::string::npos)
        << said[0] << said[1];
  }
}

TEST(Ways, ThatThreadsCannotGoAreRefused) {
  ThreadRanks how = ranks_of(1);
  how.collectives = Collectives::library;
  EXPECT_NE(run_on_threads(how, {})[0].find("may use memory or ring"), std::string::npos);
  how.collectives = Collectives::memory;
  how.link = Link{1, 0};
  EXPECT_NE(run_on_threads(how, {})[0].find("it needs the collectives of the ring"),
            std::string::npos);
}

}  // namespace
}  // namespace shardmark
