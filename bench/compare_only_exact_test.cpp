// What does a comparison without times look at, and what of a base that recorded less?
#include <gtest/gtest.h>

#include "bench/compare.hpp"
#include "bench/compare_text.hpp"
#include "bench/example_records.hpp"
#include "bench/test_support.hpp"

namespace shardmark {
namespace {

using example::has;
using nlohmann::json;

Side side_of(const json& record) {
  const testing::Folder f;
  testing::write(f / "r.jsonl", record.dump() + "\n");
  return read_side("BASE", f / "r.jsonl");
}

Comparison compared(const json& base, const json& head, bool exact_only = true) {
  return compare(side_of(base), side_of(head), {.exact_only = exact_only});
}

json record(double step_ms = 100) { return example::record_of("zero1", true, 1, step_ms); }

TEST(only_exact, judges_no_time) {
  const Comparison c = compared(record(), record(300));
  EXPECT_EQ(c.cells.at(0).verdict, Verdict::untimed);
  EXPECT_TRUE(c.cells[0].notes.empty());
  EXPECT_EQ(c.compared(), 1u);
  EXPECT_FALSE(c.red());
  EXPECT_TRUE(has(compare_text(c), "Times are not compared.")) << compare_text(c);
}

TEST(only_exact, finds_what_differs) {
  json head = record();
  head["steady"]["allocations"] = 12345;
  const Comparison c = compared(record(), head);
  EXPECT_TRUE(c.red());
  EXPECT_TRUE(has(compare_text(c), "12,345")) << compare_text(c);
}

// Another number of cores is another machine for times alone; another instruction set adds in
// another order.
TEST(only_exact, compares_losses_and_peaks_under_the_same_circumstances_alone) {
  json head = record();
  head["machine"]["cores_online"] = 96;
  head["bytes"]["peak_bytes"] = 1;
  EXPECT_NE(testing::refused([&] { compared(record(), head, false); }), "");
  EXPECT_TRUE(compared(record(), head).red());
  head["machine"]["instruction_set"] = "another";
  head["training"]["loss"][0] = 1;
  EXPECT_FALSE(compared(record(), head).red());
  head["bytes"]["held"][1]["measured_bytes"] = 1;
  EXPECT_TRUE(compared(record(), head).red());
}

TEST(a_base_that_recorded_less, is_compared_in_what_it_has) {
  json base = record();
  base["steady"] = nullptr;
  base["steady_reason"] = "older";
  const Comparison c = compared(base, record());
  EXPECT_FALSE(c.red()) << compare_text(c);
  ASSERT_EQ(c.cells.at(0).notes.size(), 1u);
  EXPECT_EQ(c.cells[0].notes[0], "not compared: allocations, spans, which base did not record");
  EXPECT_TRUE(compared(record(), base).red()) << "what head lost is a difference";
}

}  // namespace
}  // namespace shardmark
