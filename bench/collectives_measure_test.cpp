// Is a wrong result found wherever it is, and are right ones called right, by every algorithm?
#include "bench/collectives_measure.hpp"

#include <gtest/gtest.h>

#include "bench/collectives_execute.hpp"
#include "bench/collectives_inputs.hpp"
#include "impl/comm/thread_ranks.hpp"
#include "kernels/cpu/device.hpp"

namespace shardmark {
namespace {

CollectivesCell small_cell(std::int64_t ranks) {
  CollectivesCell cell;
  cell.ranks = ranks;
  cell.collectives = {"memory", "ring"};
  cell.verbs = {"reduce_scatter", "all_gather", "all_reduce"};
  cell.sizes_bytes = {4, 1024, 40'000};
  cell.repeats = 1;
  cell.comm_timeout_s = 20;
  return cell;
}

TEST(measurement, finds_nothing_wrong_with_right_collectives) {
  for (const std::int64_t ranks : {1, 2, 3, 5}) {
    const auto section = collectives_on_threads(small_cell(ranks));
    EXPECT_EQ(section["wrong_elements"], 0) << ranks;
    EXPECT_EQ(section["rows"].size(), 18u);
    for (const auto& row : section["rows"]) {
      EXPECT_EQ(row["calls"], 8);
      EXPECT_GT(row["min_ns"], 0);
    }
  }
}

TEST(measurement, goes_over_an_emulated_link) {
  CollectivesCell cell = small_cell(2);
  cell.link = "1gbit";
  cell.collectives = {"ring"};
  cell.verbs = {"all_reduce"};
  cell.sizes_bytes = {400'000};
  cell.repeats = 1;
  const auto section = collectives_on_threads(cell);
  EXPECT_EQ(section["wrong_elements"], 0);
  // 400,000 bytes a rank at 125 MB/s.
  EXPECT_GE(section["rows"][0]["min_ns"], 3'000'000);
}

// Four ranks, whose own part is three elements.
TEST(check, sees_an_element_of_another_rank_place_or_call) {
  constexpr int ranks = 4;
  constexpr std::size_t elements = 12;
  std::vector<float> is(elements);
  const View view(reinterpret_cast<std::uintptr_t>(is.data()), elements, DType::f32, Space::host);
  std::vector<std::vector<float>> inputs;
  for (int r = 0; r < ranks; ++r) {
    fill_input({Verb::all_reduce, 9, ranks, r}, view);
    inputs.push_back(is);
  }
  const auto sum = [&](int without, int twice) {
    for (std::size_t i = 0; i < elements; ++i) {
      is[i] = 0;
      for (int r = 0; r < ranks; ++r)
        is[i] += inputs[static_cast<std::size_t>(r == without ? twice : r)][i];
    }
  };
  const CheckedCall reduced{Verb::all_reduce, 9, ranks, 2}, part{Verb::reduce_scatter, 9, ranks, 2};
  sum(-1, -1);
  EXPECT_EQ(wrong_elements(reduced, view), 0u);
  EXPECT_EQ(wrong_elements(part, view), 0u);
  EXPECT_GT(wrong_elements({Verb::all_reduce, 10, ranks, 2}, view), 6u);  // of another call
  is[5] += 1;
  EXPECT_EQ(wrong_elements(reduced, view), 1u);
  EXPECT_EQ(wrong_elements(part, view), 0u);  // rank 2 has elements 6, 7, 8
  is[8] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(wrong_elements(part, view), 1u);
  sum(3, 0);  // rank 0 counted twice, rank 3 not at all
  EXPECT_EQ(wrong_elements(reduced, view), elements);
  sum(-1, -1);
  std::rotate(is.begin(), is.begin() + 1, is.end());
  EXPECT_GT(wrong_elements(reduced, view), 6u);
}

TEST(check, sees_a_part_that_was_not_gathered) {
  std::vector<float> is(12);
  const View view(reinterpret_cast<std::uintptr_t>(is.data()), 12, DType::f32, Space::host);
  for (int missing : {-1, 0, 2}) {
    std::vector<float> gathered(12, 0);
    for (int r = 0; r < 3; ++r) {
      fill_input({Verb::all_gather, 4, 3, r}, view);
      for (std::size_t i = 0; i < 12; ++i)
        if (i / 4 == static_cast<std::size_t>(r) && r != missing) gathered[i] = is[i];
    }
    fill_input({Verb::all_gather, 4, 3, 1}, view);
    EXPECT_EQ(wrong_elements({Verb::all_gather, 4, 3, 1}, view), 8u);  // only its own part is here
    is = gathered;
    EXPECT_EQ(wrong_elements({Verb::all_gather, 4, 3, 1}, view), missing < 0 ? 0u : 4u);
  }
}

// Right for one rank, where nothing has to be done, but for one element of its third call.
class Liar final : public Communicator {
 public:
  explicit Liar(Device& d) : Communicator(d, 1, 0, Collectives::memory) {}
  std::uint64_t moved_bytes() const override { return 0; }
  std::string_view moved_witness() const override { return "none"; }

 private:
  void do_all_reduce(View inout, Reduce::Op, int) override {
    device().comm().run(Transfer{inout, inout, {}, 0, [this, inout] {
                                   if (++calls_ == 3) inout.host<float>()[inout.size() - 1] += 1;
                                 }});
  }
  void do_reduce_scatter(View, View, Reduce::Op, int) override {}
  void do_all_gather(ConstView, View, int) override {}
  int calls_ = 0;
};

TEST(measurement, counts_what_a_communicator_got_wrong) {
  ThreadHub hub(1, 20, 0);
  ThreadWorld world(hub, 0);
  CpuOptions options;
  options.overlap = false;
  CpuDevice device(options);
  Liar liar(device);
  CollectivesCell cell = small_cell(1);
  cell.collectives = {"memory"};
  cell.verbs = {"all_reduce"};
  cell.sizes_bytes = {4096};
  const Measured measured = measure_collectives(cell, {world, device, {&liar}});
  ASSERT_EQ(measured.calls.size(), 1u);
  EXPECT_EQ(measured.calls[0].wrong, 1u);
  EXPECT_EQ(measured.calls[0].time_ns.size(), 8u);
  EXPECT_EQ(collectives_section(cell, measured)["wrong_elements"], 1);
}

}  // namespace
}  // namespace shardmark
