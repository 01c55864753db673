// Are bandwidths and lines what arithmetic by hand gives, and do flags mean what they say?
#include "bench/collectives_math.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "bench/collectives_cell.hpp"
#include "bench/collectives_measure.hpp"
#include "bench/link_text.hpp"
#include "bench/test_support.hpp"
#include "impl/comm/mpi.hpp"

namespace shardmark {
namespace {

using testing::refused;

TEST(bus_factor, is_what_a_ring_sends_over_the_payload) {
  EXPECT_DOUBLE_EQ(bus_factor(Verb::all_reduce, 2), 1.0);
  EXPECT_DOUBLE_EQ(bus_factor(Verb::all_reduce, 4), 1.5);
  EXPECT_DOUBLE_EQ(bus_factor(Verb::reduce_scatter, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(Verb::all_gather, 2), 0.5);
  EXPECT_EQ(bus_factor(Verb::all_gather, 1), 0.0);
}

TEST(memory_traffic, follows_reads_and_writes) {
  // N = 4, S = 100: each reads its 25 from 4 arrays and writes 25; then reads 75 and writes 75.
  EXPECT_DOUBLE_EQ(memory_traffic_bytes(Verb::reduce_scatter, 100, 4), 125);
  EXPECT_DOUBLE_EQ(memory_traffic_bytes(Verb::all_gather, 100, 4), 150);
  EXPECT_DOUBLE_EQ(memory_traffic_bytes(Verb::all_reduce, 100, 4), 275);
}

TEST(spread, of_few_and_many_values) {
  const Spread odd = spread_of({30, 10, 20});
  EXPECT_EQ(odd.least, 10);
  EXPECT_EQ(odd.median, 20);
  EXPECT_EQ(odd.p95, 30);
  EXPECT_EQ(spread_of({10, 20}).median, 15);
  std::vector<std::int64_t> hundred;
  for (int i = 100; i >= 1; --i) hundred.push_back(i);
  EXPECT_EQ(spread_of(hundred).p95, 95);
  hundred.resize(20);  // 100 .. 81: the 19th smallest is 99
  EXPECT_EQ(spread_of(hundred).p95, 99);
}

std::vector<Point> on_a_line(double alpha, double beta) {
  std::vector<Point> points;
  for (double bytes = 4; bytes <= 1 << 26; bytes *= 4)
    points.push_back({bytes, alpha + beta * bytes});
  return points;
}

TEST(line, is_found_exactly_where_there_is_one) {
  for (const auto& [alpha, beta] : {std::pair{2000.0, 0.25}, {50'000.0, 8.0}, {1.0, 100.0}}) {
    const ScoredLine found = fit_and_score(on_a_line(alpha, beta));
    EXPECT_EQ(found.why_none, "");
    EXPECT_NEAR(found.line.alpha_ns / alpha, 1, 1e-6);
    EXPECT_NEAR(found.line.beta_ns_per_byte / beta, 1, 1e-9);
    EXPECT_NEAR(found.error, 0, 1e-6);
    EXPECT_FALSE(found.poor());
    EXPECT_EQ(found.scored.size(), 6u);  // 16, 256, ...: every other one of 13
    EXPECT_EQ(found.scored.front(), 16);
  }
}

// By absolute residuals the millisecond at the end would outweigh all small sizes.
TEST(line, small_sizes_count_as_much_as_large_ones) {
  auto points = on_a_line(2000, 0.25);
  points.back().ns *= 1.1;
  const Line line = line_through(points);
  EXPECT_NEAR(line.alpha_ns, 2000, 20);
}

// (1, 3), (2, 1): weights 1/9 and 1. Through both goes 5 - 2 x, whose slope is below 0; the best
// constant is (3/9 + 1) / (1/9 + 1) = 1.2. (1, 1), (3, 6): through both goes -1.5 + 2.5 x; the best
// slope from 0 is (1 + 18/36) / (1 + 9/36) = 1.2.
TEST(line, has_no_negative_part) {
  const Point falling[] = {{1, 3}, {2, 1}}, steep[] = {{1, 1}, {3, 6}};
  EXPECT_DOUBLE_EQ(line_through(falling).alpha_ns, 1.2);
  EXPECT_EQ(line_through(falling).beta_ns_per_byte, 0);
  EXPECT_EQ(line_through(steep).alpha_ns, 0);
  EXPECT_DOUBLE_EQ(line_through(steep).beta_ns_per_byte, 1.2);
}

TEST(line, says_where_it_is_poor_or_where_there_is_none) {
  auto points = on_a_line(2000, 0.25);
  for (std::size_t i = 1; i < points.size(); i += 2) points[i].ns *= 2;  // error |1 - 2| / 2
  const ScoredLine poor = fit_and_score(points);
  EXPECT_NEAR(poor.error, 0.5, 1e-6);
  EXPECT_TRUE(poor.poor());
  EXPECT_NE(fit_and_score({{4, 10}, {16, 20}}).why_none, "");
}

TEST(sizes, ranges_go_by_factors_of_four_and_lists_are_sorted) {
  using Sizes = std::vector<std::uint64_t>;
  EXPECT_EQ(sizes_in("--size", "4B..1KiB"), (Sizes{4, 16, 64, 256, 1024}));
  EXPECT_EQ(sizes_in("--size", "4B..100B"), (Sizes{4, 16, 64, 100}));
  EXPECT_EQ(sizes_in("--size", "1MiB,4kB,1MiB"), (Sizes{4000, 1 << 20}));
  EXPECT_NE(refused([] { sizes_in("--size", "6B"); }).find("a multiple of 4 bytes"),
            std::string::npos);
  EXPECT_NE(refused([] { sizes_in("--size", "2GiB"); }).find("from 4B to 1GiB"), std::string::npos);
  EXPECT_NE(refused([] { sizes_in("--size", "1KiB..4B"); }).find("from small to large"),
            std::string::npos);
  EXPECT_NE(refused([] { sizes_in("--size", "4B,,8B"); }).find("an empty entry"),
            std::string::npos);
}

TEST(sizes, are_rounded_up_to_whole_parts) {
  EXPECT_EQ(elements_of(Verb::all_reduce, 4, 3), 1u);
  EXPECT_EQ(elements_of(Verb::reduce_scatter, 4, 3), 3u);
  EXPECT_EQ(elements_of(Verb::all_gather, 1 << 20, 3), 262146u);  // 262144 = 3 x 87381 + 1
}

TEST(cells, are_a_communicator_a_number_of_ranks_and_a_link_each) {
  const auto cells =
      collectives_cells({{"--comm", "thread"}, {"--ranks", "2,3"}, {"--link", "none,1gbit,5us"}});
  ASSERT_EQ(cells.size(), 4u);
  EXPECT_EQ(id_of(cells[0]), "collectives/thread/n2");
  EXPECT_EQ(id_of(cells[3]), "collectives/thread/n3/link-1gbit,5us");
  EXPECT_EQ(cells[0].collectives, (std::vector<std::string>{"memory", "ring"}));
  EXPECT_EQ(cells[3].collectives, (std::vector<std::string>{"ring"}));
  EXPECT_EQ(collectives_cell_from_json(to_json(cells[3])), cells[3]);
}

TEST(cells, that_cannot_be_are_refused_with_what_can) {
  const auto why = [](CollectivesFlags flags) {
    flags.emplace("--comm", "thread");
    return refused([&] { (void)collectives_cells(flags); });
  };
  EXPECT_NE(why({{"--collectives", "library"}}).find("give memory or ring"), std::string::npos);
  EXPECT_NE(why({{"--collectives", "memory"}, {"--link", "1gbit"}}).find("give ring"),
            std::string::npos);
  EXPECT_EQ(why({{"--collectives", "ring,library"}}),
            "--collectives library needs --comm mpi and --link none.");
  EXPECT_NE(why({{"--verb", "all_reduc"}}).find("did you mean all_reduce?"), std::string::npos);
  EXPECT_NE(why({{"--ranks", "0"}}).find("from 1 to 256"), std::string::npos);
  EXPECT_NE(why({{"--launcher", "srun"}}).find("give --comm mpi"), std::string::npos);
  if (!mpi::built()) {
    EXPECT_NE(why({{"--comm", "mpi"}}).find("this build lacks"), std::string::npos);
  }
}

TEST(cells, of_communicators_that_nobody_named_are_those_that_can_run_what_is_named) {
  for (const CollectivesCell& c : collectives_cells({{"--collectives", "memory"}}))
    EXPECT_EQ(c.comm, "thread");
  if (!mpi::built()) GTEST_SKIP() << "built without MPI";
  for (const CollectivesCell& c : collectives_cells({{"--collectives", "library"}}))
    EXPECT_EQ(c.comm, "mpi");
  EXPECT_NE(refused([] {
              (void)collectives_cells({{"--collectives", "memory"}, {"--comm", "thread,mpi"}});
            }),
            "");
}

TEST(cells, have_the_launcher_and_the_network_of_a_training) {
  const auto refusal = [](const CollectivesFlags& flags) {
    return refused([&] { (void)collectives_cells(flags); });
  };
  EXPECT_NE(refusal({{"--comm", "thread"}, {"--network", "a\nb"}}).find("one line of text"),
            std::string::npos);
  if (!mpi::built()) GTEST_SKIP() << "built without MPI";
  EXPECT_NE(refusal({{"--comm", "mpi"}, {"--launcher", "srun -n 4"}}).find("{ranks}"),
            std::string::npos);
  for (const char* word : {"none", "given"})
    EXPECT_NE(refusal({{"--comm", "mpi"}, {"--launcher", word}}).find("must be a command"),
              std::string::npos);
}

TEST(cells, of_a_file_are_looked_at) {
  const nlohmann::json good = to_json(collectives_cells({{"--comm", "thread"}})[0]);
  const auto why = [&](const char* key, const nlohmann::json& value) {
    nlohmann::json bad = good;
    bad[key] = value;
    return refused([&] { (void)collectives_cell_from_json(bad); });
  };
  EXPECT_NE(why("ranks", 1.5).find("wrong type under \"ranks\""), std::string::npos);
  EXPECT_NE(why("ranks", 0).find("\"ranks\""), std::string::npos);
  EXPECT_NE(why("rank", 2).find("unknown key \"rank\""), std::string::npos);
  EXPECT_NE(why("sizes_bytes", {8, 4}).find("rising"), std::string::npos);
  EXPECT_NE(why("collectives", {"library"}).find("memory, ring"), std::string::npos);
}

// Two ranks, 1 GB in 100 ms: algbw 10 GB/s; busbw half of that for a reduce-scatter. Both ranks
// together read and write 3 GB meanwhile, 30 GB/s, and the copy does 60 GB/s.
TEST(section, is_worked_out_from_times) {
  CollectivesCell cell;
  cell.collectives = {"memory"};
  cell.verbs = {"reduce_scatter"};
  cell.sizes_bytes = {1'000'000'000};
  const auto section = collectives_section(
      cell, {{{0, 0, 0, {300'000'000, 100'000'000, 90'000'000}, 7}}, {50'000'000}, 3'000'000'000});
  const auto& row = section["rows"][0];
  EXPECT_DOUBLE_EQ(row["algbw_bytes_per_s"], 1e10);
  EXPECT_DOUBLE_EQ(row["busbw_bytes_per_s"], 5e9);
  EXPECT_DOUBLE_EQ(row["copy_share"], 0.5);
  EXPECT_EQ(row["min_ns"], 90'000'000);
  EXPECT_EQ(row["p95_ns"], 300'000'000);
  EXPECT_EQ(section["wrong_elements"], 7);
  EXPECT_TRUE(section["lines"][0]["alpha_ns"].is_null());
  cell.ranks = 1;
  const auto alone = collectives_section(cell, {{{0, 0, 0, {100}, 0}}});
  EXPECT_TRUE(alone["rows"][0]["busbw_bytes_per_s"].is_null());
  EXPECT_NE(alone["rows"][0]["busbw_bytes_per_s_reason"], "");
}

}  // namespace
}  // namespace shardmark
