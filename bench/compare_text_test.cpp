// Does what a comparison prints name every regression, every reason, and nothing that was not
// compared?
#include "bench/compare_text.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "bench/example_records.hpp"
#include "bench/gbench.hpp"
#include "bench/test_support.hpp"

namespace shardmark {
namespace {

using example::has;
using nlohmann::json;
using testing::Folder;
using Lines = std::vector<json>;

Side side_of(const Lines& run) {
  const Folder folder;
  std::string text;
  for (const json& r : run) text += r.dump() + "\n";
  testing::write(folder / "records.jsonl", text);
  return read_side("HEAD", folder.path());
}

Lines rounds_of(int rounds, double step_ms = 100) {
  Lines run;
  for (int round = 1; round <= rounds; ++round)
    run.push_back(example::record_of("zero1", true, round, step_ms));
  return run;
}

Side times_of(std::initializer_list<double> times) {
  json entries = json::array();
  for (const double t : times) entries.push_back({{"name", "a"}, {"real_time", t}});
  return side_of_google_benchmark({{"benchmarks", entries}}, "x.json");
}

ComparedCell cell(const std::string& id, Verdict verdict) {
  ComparedCell c;
  c.id = id;
  c.verdict = verdict;
  return c;
}

// 30 that are no regression stand first by name, 25 that are one behind them.
TEST(compare_markdown, lists_every_regression_and_counts_the_rest) {
  Comparison c{times_of({1}), times_of({1}), {}, {}};
  for (int i = 0; i < 29; ++i) c.cells.push_back(cell(fmt::format("a{}", i), Verdict::ambiguous));
  c.cells.push_back(cell("b", Verdict::added));
  for (int i = 0; i < 23; ++i) c.cells.push_back(cell(fmt::format("s{}", i), Verdict::slower));
  c.cells.push_back(cell("lost", Verdict::missing));
  c.cells.push_back(cell("fat", Verdict::same));
  c.cells.back().differences.push_back({"peak bytes", 1, 2});
  const std::string text = compare_markdown(c);
  for (const ComparedCell& one : c.cells)
    EXPECT_TRUE(!one.regression() || has(text, "| `" + one.id + "` |")) << one.id;
  EXPECT_TRUE(has(text, "and 30 more: 29 AMBIGUOUS, 1 NEW")) << text;
  c.cells.resize(29);
  c.cells.push_back(cell("z", Verdict::slower));
  const std::string few = compare_markdown(c);
  EXPECT_LT(few.find("`z`"), few.find("`a0`"));
  EXPECT_TRUE(has(few, "and 10 more: 10 AMBIGUOUS")) << few;
}

TEST(compare_markdown, keeps_notes_reasons_the_threshold_and_what_was_left_out) {
  Lines head = rounds_of(3);
  for (json& r : head) r["machine"]["instruction_set"] = "another";
  const std::string other = compare_markdown(compare(side_of(rounds_of(3)), side_of(head), {}));
  EXPECT_TRUE(has(other, "not compared: losses, norms and final parameters")) << other;
  EXPECT_TRUE(has(other, "(3 %)")) << other;
  const std::string across =
      compare_markdown(compare(side_of(rounds_of(3)), side_of(head), {.across_machines = true}));
  EXPECT_TRUE(has(across, "are not compared across machines")) << across;
  for (json& r : head) example::set_failed(r, "failed", "a rank died");
  const std::string lost = compare_markdown(compare(side_of(rounds_of(3)), side_of(head), {}));
  EXPECT_TRUE(has(lost, "it did not end in head: a rank died")) << lost;
}

TEST(compare_text, single_repetitions_alone_have_compared_nothing) {
  const Comparison c = compare(times_of({1}), times_of({3}), {});
  EXPECT_TRUE(c.red());
  const std::string text = compare_text(c, 1000);
  EXPECT_TRUE(has(text, "Nothing was compared: ")) << text;
  EXPECT_TRUE(has(text, "--benchmark_repetitions=10")) << text;
  EXPECT_FALSE(has(text, "--rounds")) << text;
  EXPECT_FALSE(has(text, "with an interval that holds")) << text;
}

TEST(compare_text, times_that_were_not_judged_are_counted) {
  const Comparison c = compare(side_of(rounds_of(1)), side_of(rounds_of(1, 300)), {});
  EXPECT_FALSE(c.red());
  const std::string text = compare_text(c, 1000);
  EXPECT_TRUE(has(text, "; times of 1 cell were not judged.")) << text;
  EXPECT_TRUE(has(text, "--rounds 5")) << text;
  EXPECT_FALSE(has(text, "with an interval that holds")) << text;
}

TEST(compare_text, the_legend_names_only_what_was_compared) {
  const auto text_of = [](const Lines& base, const Lines& head) {
    return compare_text(compare(side_of(base), side_of(head), {}), 1000);
  };
  EXPECT_TRUE(
      has(text_of(rounds_of(3), rounds_of(3)),
          "exact: bytes, peaks, calls, volumes, allocations, spans, losses, norms and final "
          "parameters, to"));
  Lines other = rounds_of(3);
  for (json& r : other) r["machine"]["instruction_set"] = "another";
  EXPECT_TRUE(has(text_of(rounds_of(3), other),
                  "exact: bytes, peaks, calls, volumes, allocations and spans, to"));
  Lines none = other;
  for (json& r : none) example::set_failed(r, "failed", "a rank died");
  EXPECT_FALSE(has(text_of(rounds_of(3), none), "exact: "));
}

}  // namespace
}  // namespace shardmark
