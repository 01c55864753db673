// What ends a gate as what? Reports made by hand: which of them is red, which is inconclusive, and
// what its table says.
#include "bench/gate.hpp"

#include <gtest/gtest.h>

#include "bench/example_records.hpp"
#include "bench/gate_text.hpp"
#include "bench/test_support.hpp"
#include "bench/units.hpp"

namespace shardmark {
namespace {

using example::has;
using Pairs = std::vector<TimePair>;

const Pairs same(20, TimePair{1e6, 1e6}), slow(20, TimePair{1e6, 1.1e6}),
    slow_again(30, TimePair{2e6, 2.2e6}), fast(20, TimePair{1e6, 0.9e6});

Comparison exactly(bool equal) {
  const testing::Folder f;
  nlohmann::json r = example::record_of("zero1", true, 1, 100);
  testing::write(f / "base.jsonl", r.dump() + "\n");
  if (!equal) r["bytes"]["held"][1]["measured_bytes"] = 12'345'678;
  testing::write(f / "head.jsonl", r.dump() + "\n");
  return compare(read_side("base", f / "base.jsonl"), read_side("head", f / "head.jsonl"),
                 {.exact_only = true});
}

GateCell cell(const std::string& id, const Pairs& first, const Pairs& again = {},
              bool control = false) {
  GateCell c{id, {}, {}, false, control};
  c.first = first;
  c.confirming = again;
  return c;
}

GateReport report(std::vector<GateCell> cells, bool equal = true) {
  GateReport r;
  r.exact = {exactly(equal)};
  r.cells = std::move(cells);
  r.folder = "results/runs/x";
  return r;
}

TEST(a_gate, passes_what_is_the_same_and_what_is_faster) {
  const GateReport r = report({cell("a", same), cell("b", fast), cell("a", same, {}, true)});
  EXPECT_EQ(r.end(), GateEnd::passed);
  EXPECT_EQ(r.count(Gated::faster), 1u);
  EXPECT_EQ(r.measured(), 2u) << "the control is no cell";
  const std::string text = gate_text(r);
  EXPECT_TRUE(has(text, "Gate passed: 1 cell equal exactly; of 2 cells timed, 0 slower, 1 faster"))
      << text;
  EXPECT_TRUE(has(text, "FASTER")) << text;
}

TEST(a_gate, is_red_where_a_cell_is_slower) {
  const GateReport r = report({cell("a", slow, slow_again), cell("a", same, {}, true)});
  EXPECT_EQ(r.end(), GateEnd::regression);
  const std::string text = gate_text(r), markdown = gate_markdown(r);
  EXPECT_TRUE(has(text, "Gate regression")) << text;
  // The figures of the pairs that decided.
  EXPECT_TRUE(has(markdown, "| `a` | 2.00 | 2.20 | 1.100 | 20 of 20 | 30 of 30 | SLOWER |"))
      << markdown;
  for (const std::string& line : example::lines_of(text)) EXPECT_LE(display_width(line), 100u);
}

TEST(a_gate, is_inconclusive_where_base_differs_from_itself) {
  for (const Pairs& first : {slow, fast}) {
    const GateReport r = report({cell("a", slow, slow_again), cell("a", first, slow_again, true)});
    EXPECT_EQ(r.end(), GateEnd::inconclusive);
    EXPECT_TRUE(has(gate_markdown(r), "**Gate inconclusive: ")) << gate_markdown(r);
  }
  GateCell failed = cell("a", same, {}, true);
  failed.failure = "it was ended";
  failed.base_failed = true;
  EXPECT_EQ(report({cell("a", same), failed}).end(), GateEnd::inconclusive);
}

TEST(a_gate, is_red_for_another_exact_value_whatever_the_control_says) {
  const GateReport r =
      report({cell("a", same), cell("a", slow, slow_again, true)}, /*equal=*/false);
  EXPECT_EQ(r.end(), GateEnd::regression);
  EXPECT_TRUE(has(gate_markdown(r), "12,345,678")) << gate_markdown(r);
  EXPECT_TRUE(has(gate_text(r), "12,345,678")) << gate_text(r);
}

TEST(a_gate, is_red_where_head_does_not_end) {
  GateCell lost = cell("a", {});
  lost.failure = "it was ended by SIGSEGV";
  const GateReport r = report({lost, cell("b", same)});
  EXPECT_EQ(r.end(), GateEnd::regression);
  EXPECT_TRUE(has(gate_text(r), "a did not end in head: it was ended by SIGSEGV")) << gate_text(r);
  lost.base_failed = true;
  EXPECT_EQ(report({lost, cell("b", same)}).end(), GateEnd::passed) << "base's own failure";
}

TEST(a_gate, is_red_where_it_measured_nothing) {
  EXPECT_EQ(report({}).end(), GateEnd::regression);
  EXPECT_EQ(report({cell("a", same, {}, true)}).end(), GateEnd::regression);
  EXPECT_TRUE(has(gate_text(report({})), "nothing was measured"));
  GateReport r = report({cell("a", same)});
  r.exact.clear();
  EXPECT_EQ(r.end(), GateEnd::regression);
}

TEST(a_gate, without_times_needs_no_cells) {
  GateReport r = report({});
  r.timed = false;
  EXPECT_EQ(r.end(), GateEnd::passed);
  EXPECT_TRUE(has(gate_text(r), "Gate passed: 1 cell equal exactly.")) << gate_text(r);
}

}  // namespace
}  // namespace shardmark
