// Do ranks that are processes give the right sums, and train the same model? Started by a launcher:
// every rank runs all tests, with groups of every size that the world has.
#include <gtest/gtest.h>

#include "impl/comm/exact_sums.hpp"
#include "impl/comm/mpi.hpp"
#include "impl/train.hpp"
#include "kernels/cpu/device.hpp"

namespace shardmark {
namespace {

mpi::Session* session = nullptr;

using exact::filled;
using exact::first_wrong;

struct Way {
  Collectives made_by;
  std::optional<Link> link;
  bool overlap;
};

// On the ranks of every group, all others waiting until the next.
template <class Body>
void on_groups(Body body) {
  for (int size = 1; size <= session->size(); ++size) {
    if (session->rank() < size) {
      const auto group = session->group(size, 20, {});
      body(*group);
    }
    if (session->rank() == 0)
      session->tell("next");
    else
      EXPECT_EQ(session->listen(), "next");
  }
}

template <class Body>
void on_all_ways(Body body) {
  on_groups([&](mpi::Group& group) {
    for (const Way& way :
         {Way{Collectives::ring, {}, true}, Way{Collectives::ring, {}, false},
          Way{Collectives::ring, Link{1, 10'000}, true}, Way{Collectives::library, {}, true}}) {
      CpuOptions o;
      o.overlap = way.overlap;
      o.on_error = [](std::exception_ptr e) { std::rethrow_exception(e); };
      CpuDevice device(o);
      const auto comm = group.communicator(device, way.made_by, way.link, 20, false);
      body(group, device, *comm, way);
      device.drain();
    }
  });
}

TEST(Mpi, AllReduceOfAnyCount) {
  on_all_ways([](mpi::Group& g, Device& d, Communicator& comm, const Way& way) {
    for (const std::size_t n : {1, 2, 63, 1000, 400'001}) {
      const Buffer b = filled(d, g.rank(), n);
      (void)comm.all_reduce(b.view(), {Reduce::Op::sum, DType::f32}, 0, Event::none());
      d.drain();
      EXPECT_EQ(first_wrong(b.view(), g.size(), 0), n);
    }
    if (way.made_by == Collectives::ring) {
      EXPECT_EQ(comm.moved_bytes(), comm.traffic().at({Verb::all_reduce, DType::f32}).volume);
    }
  });
}

TEST(Mpi, ReduceScatterAndAllGatherInPlaceAndNot) {
  on_all_ways([](mpi::Group& g, Device& d, Communicator& comm, const Way&) {
    for (const std::size_t part : {1, 1001, 100'003})
      for (const bool inside : {true, false})
        for (const auto op : {Reduce::Op::sum, Reduce::Op::mean}) {
          const std::size_t count = part * static_cast<std::size_t>(g.size());
          const std::size_t begin = part * static_cast<std::size_t>(g.rank());
          const Buffer whole = filled(d, g.rank(), count), apart = filled(d, g.rank(), part);
          const View mine = inside ? whole.view().slice({begin, part}) : apart.view();
          const Event reduced =
              comm.reduce_scatter(whole.view(), mine, {op, DType::f32}, 0, Event::none());
          d.drain();
          const float factor = op == Reduce::Op::mean ? static_cast<float>(1.0 / g.size()) : 1.0f;
          EXPECT_EQ(first_wrong(mine, g.size(), begin, factor), part);
          (void)comm.all_gather(mine, whole.view(), 0, reduced);
          d.drain();
          EXPECT_EQ(first_wrong(whole.view(), g.size(), 0, factor), count);
        }
  });
}

TEST(Mpi, HostBytesOfAnyLengthReachEverybodyInOrder) {
  on_groups([](mpi::Group& g) {
    const auto text = [](int r) { return std::string(static_cast<std::size_t>(r) * 1000, 'a'); };
    const auto all = g.gather(text(g.rank()));
    ASSERT_EQ(all.size(), static_cast<std::size_t>(g.size()));
    for (int r = 0; r < g.size(); ++r) EXPECT_EQ(all[static_cast<std::size_t>(r)], text(r));
    EXPECT_TRUE(g.one_clock());
    EXPECT_EQ(g.ranks_on_this_host(), g.size());
  });
}

Training tiny(const std::string& strategy, int ranks) {
  Training t;
  t.model = "gpt:layers=2,width=10,heads=2", t.strategy = strategy, t.ranks = ranks;
  t.batch = 2, t.sequence = 6, t.warmup = 1, t.steps = 3;
  t.options.bucket_elements = 600, t.options.clip = 0.5, t.options.adam.lr = 0.01f;
  for (int i = 0; i < 4000; ++i)
    t.corpus.push_back(static_cast<std::uint8_t>(32 + (i * i / 7 + i % 13 * 5) % 90));
  t.comm_timeout_s = 20;
  t.options.collectives = Collectives::ring;
  return t;
}

// The same ring, whether its messages go through memory or through MPI: bit for bit.
TEST(Mpi, TrainsAsThreadRanksDoOnTheSameRing) {
  on_groups([](mpi::Group& g) {
    for (const char* strategy : {"ddp", "zero1", "zero2", "zero3", "zero1_naive", "zero2_naive"})
      for (const bool overlap : {false, true}) {
        Training t = tiny(strategy, g.size());
        t.overlap = overlap;
        const TrainingReport threads = train(t), processes = train(t, g);
        ASSERT_EQ(processes.ranks.size(), threads.ranks.size());
        for (std::size_t r = 0; r < threads.ranks.size(); ++r) {
          const RankReport &a = threads.ranks[r], &b = processes.ranks[r];
          EXPECT_EQ(a.parameter_hash, b.parameter_hash) << strategy << " N=" << g.size();
          EXPECT_EQ(a.loss, b.loss) << strategy;
          EXPECT_EQ(a.norm_before, b.norm_before) << strategy;
          EXPECT_EQ(a.held_by_step, b.held_by_step) << strategy;
          EXPECT_EQ(a.traffic_by_step, b.traffic_by_step) << strategy;
          EXPECT_EQ(a.moved_bytes, b.moved_bytes) << strategy;
          EXPECT_EQ(b.steps.size(), 4u);
          EXPECT_EQ(b.ideal.empty(), !overlap);
          EXPECT_FALSE(b.host.empty());
        }
        EXPECT_TRUE(processes.clocks_comparable);
      }
  });
}

// Small whole numbers are exact in every type, however sums are made and wherever they are rounded.
TEST(Mpi, AddsTwoByteNumbers) {
  on_all_ways([](mpi::Group& g, Device& d, Communicator& comm, const Way&) {
    for (const DType wire : {DType::bf16, DType::f16})
      for (const std::size_t n : {std::size_t{1}, std::size_t{1001}, std::size_t{100'003}}) {
        const Buffer b = filled(d, g.rank(), n);
        (void)comm.all_reduce(b.view(), {Reduce::Op::sum, wire}, 0, Event::none());
        d.drain();
        EXPECT_EQ(first_wrong(b.view(), g.size(), 0), n) << name(wire);
        const std::size_t part = n, all = n * static_cast<std::size_t>(g.size());
        const Buffer whole = filled(d, g.rank(), all), mine = filled(d, g.rank(), part);
        (void)comm.reduce_scatter(whole.view(), mine.view(), {Reduce::Op::sum, wire}, 0,
                                  Event::none());
        d.drain();
        EXPECT_EQ(first_wrong(mine.view(), g.size(), part * static_cast<std::size_t>(g.rank())),
                  part)
            << name(wire);
      }
  });
}

TEST(Mpi, TrainsInTwoBytesAsThreadRanksDo) {
  on_groups([](mpi::Group& g) {
    for (const DType type : {DType::bf16, DType::f16})
      for (const char* strategy : {"ddp", "zero2", "zero3"}) {
        Training t = tiny(strategy, g.size());
        t.options.precision = precision_in(type, type);
        t.options.accumulate = 2, t.options.recompute = Recompute::unit;
        const TrainingReport threads = train(t), processes = train(t, g);
        t.options.collectives = Collectives::library;
        const TrainingReport library = train(t, g);
        for (std::size_t r = 0; r < threads.ranks.size(); ++r) {
          EXPECT_EQ(threads.ranks[r].parameter_hash, processes.ranks[r].parameter_hash);
          EXPECT_EQ(threads.ranks[r].loss, processes.ranks[r].loss);
          EXPECT_EQ(threads.ranks[r].loss_scale, processes.ranks[r].loss_scale);
          for (std::size_t i = 0; i < threads.ranks[r].loss.size(); ++i)
            EXPECT_NEAR(library.ranks[r].loss[i] / threads.ranks[r].loss[i], 1, 5e-3);
        }
      }
  });
}

TEST(Mpi, TheLibraryTrainsTheSameModelUpToRounding) {
  on_groups([](mpi::Group& g) {
    Training t = tiny("zero1", g.size());
    const TrainingReport ring = train(t, g);
    t.options.collectives = Collectives::library;
    const TrainingReport library = train(t, g);
    EXPECT_TRUE(library.ranks[0].moved_witness.empty());
    for (std::size_t i = 0; i < ring.ranks[0].loss.size(); ++i)
      EXPECT_NEAR(library.ranks[0].loss[i] / ring.ranks[0].loss[i], 1, 1e-5);
  });
}

}  // namespace
}  // namespace shardmark

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  shardmark::mpi::Session session;
  shardmark::session = &session;
  return RUN_ALL_TESTS();
}
