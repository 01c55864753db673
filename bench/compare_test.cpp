// Does a comparison find what was changed by hand, name it, and find nothing else?
#include "bench/compare.hpp"

#include <gtest/gtest.h>

#include "bench/example_records.hpp"
#include "bench/test_support.hpp"

namespace shardmark {
namespace {

using nlohmann::json;
using testing::Folder;
using testing::refused;
using Lines = std::vector<json>;

constexpr const char* zero1 = "gpt-nano/zero1/n2/overlap-on";

// Steps of 100, 101, ... ms, times `by`: to the microsecond, as the example has it.
Lines rounds_of(const std::string& strategy, std::size_t rounds, double by = 1) {
  Lines run;
  for (std::size_t i = 0; i < rounds; ++i)
    run.push_back(example::record_of(strategy, true, static_cast<int>(i) + 1,
                                     (100 + static_cast<double>(i)) * by));
  return run;
}

Lines joined(Lines a, const Lines& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Side side_of(const std::string& what, const Lines& run) {
  const Folder folder;
  std::string text;
  for (const json& r : run) text += r.dump() + "\n";
  testing::write(folder / "records.jsonl", text);
  return read_side(what, folder.path());
}

Comparison compared(const Lines& base, const Lines& head, const CompareOptions& options = {}) {
  return compare(side_of("BASE", base), side_of("HEAD", head), options);
}

const ComparedCell& cell(const Comparison& c, const std::string& id) {
  for (const ComparedCell& cell : c.cells)
    if (cell.id == id) return cell;
  throw Error("no cell " + id);
}

bool noted(const ComparedCell& c, const std::string& part) {
  for (const std::string& note : c.notes)
    if (example::has(note, part)) return true;
  return false;
}

TEST(compare, a_run_with_itself_differs_in_nothing) {
  const Comparison c = compared(rounds_of("zero1", 5), rounds_of("zero1", 5), {.threshold = 0.05});
  ASSERT_EQ(c.cells.size(), 1u);
  EXPECT_EQ(c.cells[0].verdict, Verdict::same);
  EXPECT_TRUE(c.cells[0].differences.empty());
  EXPECT_TRUE(c.cells[0].exactly);
  EXPECT_TRUE(c.cells[0].notes.empty());
  EXPECT_NEAR(c.cells[0].ratio->estimate, 1, 1e-12);
  EXPECT_FALSE(c.red());
}

TEST(compare, known_ratios_have_known_verdicts) {
  struct Case {
    double by;
    Verdict verdict;
    bool red;
  };
  // Five rounds of 100 to 104 ms: the interval is by x 101/104 to by x 104/101.
  for (const Case k : {Case{1.07, Verdict::slower, true}, Case{1.05, Verdict::ambiguous, false},
                       Case{1.0, Verdict::same, false}, Case{0.95, Verdict::ambiguous, false},
                       Case{0.93, Verdict::faster, false}}) {
    const Comparison c = compared(rounds_of("zero1", 5), rounds_of("zero1", 5, k.by));
    EXPECT_NEAR(c.cells[0].ratio->low, k.by * 101 / 104, 1e-4);
    EXPECT_NEAR(c.cells[0].ratio->high, k.by * 104 / 101, 1e-4);
    EXPECT_EQ(c.cells[0].verdict, k.verdict) << k.by;
    EXPECT_EQ(c.red(), k.red) << k.by;
  }
}

TEST(compare, the_threshold_decides) {
  const Lines base = rounds_of("zero1", 5), head = rounds_of("zero1", 5, 1.07);
  EXPECT_EQ(compared(base, head, {.threshold = 0.03}).cells[0].verdict, Verdict::slower);
  EXPECT_EQ(compared(base, head, {.threshold = 0.04}).cells[0].verdict, Verdict::ambiguous);
  EXPECT_EQ(compared(base, head, {.threshold = 0.11}).cells[0].verdict, Verdict::same);
}

TEST(compare, one_round_judges_no_time_but_everything_exact) {
  Lines base = rounds_of("zero1", 1), head = rounds_of("zero1", 1, 3);
  Comparison c = compared(base, head);
  EXPECT_EQ(c.cells[0].verdict, Verdict::ambiguous);
  EXPECT_TRUE(noted(c.cells[0], "one round has no interval"));
  EXPECT_FALSE(c.red());
  head[0]["bytes"]["peak_bytes"] = 1;
  c = compared(base, head);
  EXPECT_EQ(c.cells[0].verdict, Verdict::ambiguous);
  EXPECT_TRUE(c.red());
}

TEST(compare, a_name_on_one_side_only_is_reported) {
  const Lines both = rounds_of("zero1", 5);
  const Comparison lost = compared(joined(both, rounds_of("ddp", 5)), both);
  EXPECT_EQ(cell(lost, "gpt-nano/ddp/n2/overlap-on").verdict, Verdict::missing);
  EXPECT_EQ(cell(lost, zero1).verdict, Verdict::same);
  EXPECT_TRUE(lost.red());
  const Comparison fresh = compared(both, joined(both, rounds_of("ddp", 5)));
  EXPECT_EQ(cell(fresh, "gpt-nano/ddp/n2/overlap-on").verdict, Verdict::added);
  EXPECT_FALSE(fresh.red());
}

TEST(compare, nothing_in_common_is_red) {
  Lines failed = rounds_of("zero1", 1);
  example::set_failed(failed[0], "failed", "it exceeded its memory limit");
  for (const auto& [base, head] :
       {std::pair(rounds_of("zero1", 3), rounds_of("ddp", 3)),
        std::pair(failed, rounds_of("zero1", 3)), std::pair(failed, failed)}) {
    const Comparison c = compared(base, head);
    EXPECT_EQ(c.compared(), 0u);
    EXPECT_TRUE(c.red());
  }
}

TEST(compare, a_cell_that_ends_no_longer_is_missing_and_says_why) {
  Lines head = joined(rounds_of("zero1", 3), rounds_of("ddp", 3));
  for (std::size_t i = 3; i < 6; ++i) example::set_failed(head[i], "failed", "a rank died");
  const Lines base = joined(rounds_of("zero1", 3), rounds_of("ddp", 3));
  const ComparedCell lost = cell(compared(base, head), "gpt-nano/ddp/n2/overlap-on");
  EXPECT_EQ(lost.verdict, Verdict::missing);
  EXPECT_TRUE(noted(lost, "it did not end in head: a rank died"));
  const ComparedCell back = cell(compared(head, base), "gpt-nano/ddp/n2/overlap-on");
  EXPECT_EQ(back.verdict, Verdict::added);
  EXPECT_FALSE(back.regression());
}

TEST(compare, a_round_that_ends_no_longer_is_a_difference) {
  Lines head = rounds_of("zero1", 5);
  example::set_failed(head[2], "failed", "a rank died");
  const Comparison c = compared(rounds_of("zero1", 5), head);
  ASSERT_EQ(c.cells[0].differences.size(), 1u);
  EXPECT_EQ(c.cells[0].differences[0].what, "rounds that did not end");
  EXPECT_EQ(c.cells[0].head_rounds, 4u);
  EXPECT_TRUE(c.red());
}

struct Field {
  const char* at;  // a pointer into the record
  const char* what;
};
class ExactField : public ::testing::TestWithParam<Field> {};

// Changed in the second of three rounds alone, so that every round is looked at.
TEST_P(ExactField, of_another_value_is_a_regression_that_is_named) {
  const Lines base = rounds_of("zero1", 3);
  Lines head = base;
  json& value = head[1][json::json_pointer(GetParam().at)];
  const json before = value;
  value = before.is_boolean() ? json(false) : before.is_string() ? json("0000") : json(77'777);
  ASSERT_NE(value, before);
  const Comparison c = compared(base, head);
  ASSERT_EQ(c.cells.size(), 1u);
  ASSERT_EQ(c.cells[0].differences.size(), 1u);
  EXPECT_EQ(c.cells[0].differences[0].what, GetParam().what);
  EXPECT_EQ(c.cells[0].differences[0].base, before);
  EXPECT_EQ(c.cells[0].differences[0].head, value);
  EXPECT_TRUE(c.red());
  EXPECT_EQ(c.differing(), 1u);
}

INSTANTIATE_TEST_SUITE_P(
    fields, ExactField,
    ::testing::Values(
        Field{"/bytes/parameters", "parameters"}, Field{"/bytes/trainable", "trainable"},
        Field{"/bytes/padding_elements", "padding_elements"},
        Field{"/bytes/held/0/measured_bytes", "bytes of parameter f32, measured"},
        Field{"/bytes/held/0/exact_bytes", "bytes of parameter f32, claimed"},
        Field{"/bytes/held/0/textbook_bytes", "bytes of parameter f32, textbook"},
        Field{"/bytes/held/8/measured_bytes", "bytes of workspace u8, measured"},
        Field{"/bytes/peak_bytes", "peak bytes"},
        Field{"/bytes/peak_by_rank_bytes/1", "peak bytes of rank 1"},
        Field{"/traffic/called/1/calls", "reduce_scatter f32, calls a step, counted"},
        Field{"/traffic/called/1/exact_calls", "reduce_scatter f32, calls a step, claimed"},
        Field{"/traffic/called/1/payload_bytes",
              "reduce_scatter f32, payload bytes a step, counted"},
        Field{"/traffic/called/1/exact_payload_bytes",
              "reduce_scatter f32, payload bytes a step, claimed"},
        Field{"/traffic/called/1/textbook_payload_bytes",
              "reduce_scatter f32, payload bytes a step, textbook"},
        Field{"/traffic/called/2/volume_bytes", "all_gather f32, volume bytes a step, counted"},
        Field{"/traffic/called/2/exact_volume_bytes",
              "all_gather f32, volume bytes a step, claimed"},
        Field{"/traffic/called/2/textbook_volume_bytes",
              "all_gather f32, volume bytes a step, textbook"},
        Field{"/traffic/total_volume_bytes/0", "volume bytes of rank 0, all steps"},
        Field{"/training/loss/3", "loss, from step 3 on"},
        Field{"/training/norm_before/5", "norm before clipping, from step 5 on"},
        Field{"/training/skipped_steps", "skipped steps"},
        Field{"/training/parameter_hash", "hash of the final parameters"},
        Field{"/checks/traffic_exact", "check traffic_exact"}));

TEST(compare, what_is_there_on_one_side_only_differs) {
  const Lines base = rounds_of("zero1", 3);
  Lines head = base;
  for (json& r : head) r["traffic"]["called"].erase(0);
  const auto c = compared(base, head).cells[0];
  EXPECT_EQ(c.differences.size(), 8u);
  for (const Difference& d : c.differences) {
    EXPECT_TRUE(d.what.starts_with("all_reduce f64, ")) << d.what;
    EXPECT_TRUE(d.head.is_null());
  }
  EXPECT_EQ(compared(head, base).cells[0].differences.size(), 8u);
}

}  // namespace
}  // namespace shardmark
