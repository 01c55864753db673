// Is Google Benchmark's JSON read in every shape that it has, and is a run that was exported to it
// judged as the run itself?
#include "bench/gbench.hpp"

#include <gtest/gtest.h>

#include "bench/compare.hpp"
#include "bench/example_records.hpp"
#include "bench/test_support.hpp"

namespace shardmark {
namespace {

using example::has;
using nlohmann::json;
using testing::Folder;
using testing::refused;

json entry(const std::string& name, double time, const char* unit, int index = 0) {
  return {{"name", name},       {"run_name", name},          {"run_type", "iteration"},
          {"repetitions", 3},   {"repetition_index", index}, {"threads", 1},
          {"iterations", 1000}, {"real_time", time},         {"cpu_time", time / 2},
          {"time_unit", unit}};
}

json aggregate(const std::string& run, const std::string& what, double time) {
  json out = entry(run, time, "us");
  out.erase("repetition_index");
  out.update({{"name", run + "_" + what}, {"run_type", "aggregate"}, {"aggregate_name", what}});
  return out;
}

json file_of(const std::vector<json>& entries, int cpus = 2) {
  return {{"context", {{"num_cpus", cpus}, {"host_name", "any"}, {"executable", "./bench"}}},
          {"benchmarks", entries}};
}

Side side(const json& file) { return side_of_google_benchmark(file, "x.json"); }

TEST(google_benchmark, units_are_converted) {
  const Side s = side(file_of(
      {entry("a", 2.5, "ns"), entry("b", 2.5, "us"), entry("c", 2.5, "ms"), entry("d", 2.5, "s")}));
  EXPECT_EQ(s.cells.at("a").step_ns, std::vector<double>{2.5});
  EXPECT_EQ(s.cells.at("b").step_ns, std::vector<double>{2.5e3});
  EXPECT_EQ(s.cells.at("c").step_ns, std::vector<double>{2.5e6});
  EXPECT_EQ(s.cells.at("d").step_ns, std::vector<double>{2.5e9});
}

// 1 ms is 1000 us, whoever wrote which.
TEST(google_benchmark, two_files_in_two_units_are_the_same) {
  std::vector<json> ms, us;
  for (int i = 0; i < 4; ++i) {
    ms.push_back(entry("a", 1 + i * 1e-3, "ms", i));
    us.push_back(entry("a", 1000 + i, "us", i));
  }
  const Comparison c = compare(side(file_of(ms)), side(file_of(us)), {});
  EXPECT_EQ(c.cells.at(0).verdict, Verdict::same);
  EXPECT_NEAR(c.cells[0].ratio->estimate, 1, 1e-12);
  EXPECT_FALSE(c.cells[0].exactly);
}

TEST(google_benchmark, raw_repetitions_win_over_aggregates_and_the_median_is_what_is_left) {
  const Side s = side(
      file_of({entry("a", 1, "us", 0), entry("a", 3, "us", 1), aggregate("a", "mean", 2),
               aggregate("a", "median", 2), aggregate("a", "stddev", 1), aggregate("b", "mean", 9),
               aggregate("b", "median", 7), aggregate("b", "cv", 0.1)}));
  EXPECT_EQ(s.cells.at("a").step_ns, (std::vector<double>{1000, 3000}));
  EXPECT_EQ(s.cells.at("b").step_ns, std::vector<double>{7000});
  EXPECT_EQ(s.cells.size(), 2u);
}

TEST(google_benchmark, files_without_a_run_type_are_read_by_their_names) {
  std::vector<json> entries = {entry("a/64", 1, "us"), entry("a/64", 3, "us"),
                               entry("a/64_median", 2, "us"), entry("a/64_stddev", 1, "us")};
  for (json& e : entries)
    for (const char* key : {"run_type", "run_name", "repetition_index"}) e.erase(key);
  const Side s = side(file_of(entries));
  ASSERT_EQ(s.cells.size(), 1u);
  EXPECT_EQ(s.cells.at("a/64").step_ns, (std::vector<double>{1000, 3000}));
}

TEST(google_benchmark, what_failed_or_has_no_time_is_named) {
  json failed = entry("a", 1, "us"), skipped = entry("b", 1, "us");
  failed.update({{"error_occurred", true}, {"error_message", "no memory"}});
  skipped.update({{"skipped", true}, {"skip_message", "not here"}});
  const Side s = side(file_of({failed, skipped, aggregate("c", "mean", 2)}));
  EXPECT_EQ(s.cells.at("a").reason, "no memory");
  EXPECT_EQ(s.cells.at("b").reason, "not here");
  EXPECT_TRUE(has(s.cells.at("c").reason, "neither its repetitions nor their median"));
  for (const auto& [id, cell] : s.cells) EXPECT_TRUE(cell.step_ns.empty()) << id;
}

TEST(google_benchmark, names_of_one_side_are_reported) {
  const Comparison c = compare(side(file_of({entry("a", 1, "us"), entry("b", 1, "us")})),
                               side(file_of({entry("b", 1, "us"), entry("c", 1, "us")})), {});
  ASSERT_EQ(c.cells.size(), 3u);
  EXPECT_EQ(c.cells[0].verdict, Verdict::missing);
  EXPECT_EQ(c.cells[1].verdict, Verdict::ambiguous);
  EXPECT_EQ(c.cells[2].verdict, Verdict::added);
  EXPECT_TRUE(c.red());
}

TEST(google_benchmark, wrong_files_are_refused) {
  EXPECT_TRUE(has(refused([] { side(file_of({entry("a", 1, "min")})); }),
                  "x.json: a has the time_unit \"min\", but it must be ns, us, ms or s."));
  EXPECT_TRUE(has(refused([] { side(file_of({entry("a", 0, "ms")})); }), "must be above 0"));
  EXPECT_TRUE(has(refused([] { side(file_of({{{"name", "a"}}})); }), "not as Google Benchmark"));
  EXPECT_TRUE(has(refused([] { side(file_of({json(3)})); }), "not as Google Benchmark"));
  const json a = file_of({entry("a", 1, "us")}, 2), b = file_of({entry("a", 1, "us")}, 64);
  EXPECT_TRUE(has(refused([&] { compare(side(a), side(b), {}); }), "(num_cpus: 2, then 64)"));
  EXPECT_TRUE(has(refused([&] { compare(side(a), side(a), {.across_machines = true}); }),
                  "a Google Benchmark JSON holds times"));
  Side records = side(a);
  records.kind = SideKind::records;
  EXPECT_TRUE(has(refused([&] { compare(records, side(a), {}); }), "compare two of one kind"));
}

TEST(google_benchmark, an_aggregate_without_its_run_is_refused_and_fits_are_no_cells) {
  json odd = aggregate("a", "median", 2);
  odd.erase("run_name");
  odd["name"] = "a";
  EXPECT_TRUE(
      has(refused([&] { side(file_of({odd})); }), "x.json: the aggregate a has no run_name"))
      << refused([&] { side(file_of({odd})); });
  const Side s =
      side(file_of({entry("a/8", 1, "us"), aggregate("a", "BigO", 2), aggregate("a", "RMS", 2)}));
  EXPECT_EQ(s.cells.size(), 1u);
}

std::vector<json> run_of(double by) {
  std::vector<json> run;
  for (const char* strategy : {"ddp", "zero1", "zero3"})
    for (int round = 1; round <= 5; ++round)
      run.push_back(
          example::record_of(strategy, true, round, (90 + round) * (strategy[0] == 'd' ? 1 : by)));
  return run;
}

TEST(google_benchmark, an_exported_run_says_what_it_measured) {
  std::vector<json> run = run_of(1);
  example::set_failed(run[4], "failed", "a rank died");
  const json file = google_benchmark_of(run);
  ASSERT_EQ(file["benchmarks"].size(), 15u);
  const json& first = file["benchmarks"][0];
  EXPECT_EQ(first["name"], "gpt-nano/ddp/n2/overlap-on");
  EXPECT_EQ(first["run_type"], "iteration");
  EXPECT_EQ(first["repetition_index"], 0);
  EXPECT_EQ(first["repetitions"], 5);
  EXPECT_EQ(first["real_time"], 91.0);
  EXPECT_EQ(first["time_unit"], "ms");
  EXPECT_NEAR(first["tokens_per_second"], 2048 / 0.091, 1e-6);
  EXPECT_EQ(first["model_state_bytes"], 16 * example::parameters);
  EXPECT_EQ(first["volume_bytes"], 4 * example::parameters);  // 2 (N - 1) / N of 4P, N = 2
  EXPECT_EQ(file["benchmarks"][4]["error_message"], "a rank died");
  EXPECT_EQ(file["context"]["cpu"], "Example CPU @ 2.80GHz");
}

TEST(google_benchmark, an_exported_run_is_judged_as_the_run_itself) {
  const Folder folder;
  const auto written = [&](const std::string& name, const std::vector<json>& run) {
    std::string lines;
    for (const json& r : run) lines += r.dump() + "\n";
    testing::write(folder / (name + ".jsonl"), lines);
    testing::write(folder / (name + ".json"), google_benchmark_of(run).dump(1));
  };
  written("base", run_of(1));
  for (const double by : {0.8, 1.0, 1.04, 1.2}) {
    written("head", run_of(by));
    const auto of = [&](const char* end) {
      return compare(read_side("BASE", folder / (std::string("base") + end)),
                     read_side("HEAD", folder / (std::string("head") + end)), {});
    };
    const Comparison records = of(".jsonl"), exported = of(".json");
    EXPECT_EQ(exported.base.kind, SideKind::google_benchmark);
    ASSERT_EQ(records.cells.size(), 3u);
    ASSERT_EQ(exported.cells.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(exported.cells[i].id, records.cells[i].id);
      EXPECT_EQ(exported.cells[i].verdict, records.cells[i].verdict) << by;
      EXPECT_NEAR(exported.cells[i].ratio->low, records.cells[i].ratio->low, 1e-12);
      EXPECT_NEAR(exported.cells[i].ratio->high, records.cells[i].ratio->high, 1e-12);
    }
  }
}

}  // namespace
}  // namespace shardmark
