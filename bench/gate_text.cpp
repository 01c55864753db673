// How is what the gate found shown? See gate_text.hpp.
#include "bench/gate_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/blocks.hpp"
#include "bench/compare_parts.hpp"
#include "bench/compare_text.hpp"
#include "bench/text.hpp"
#include "bench/units.hpp"

namespace shardmark {

namespace {

std::string cell_name(const GateCell& c) { return c.control ? "control: " + c.id : c.id; }

std::string of(const std::vector<TimePair>& pairs) {
  const Tally t = tally(pairs);
  return t.pairs == 0 ? missing : fmt::format("{} of {}", t.slower, t.pairs);
}

std::string verdict_text(const GateReport& r, const GateCell& c) {
  if (!c.failure.empty()) return c.base_failed ? "base fails" : "FAILED";
  switch (r.verdict(c)) {
    case Gated::slower:
      return "SLOWER";
    case Gated::faster:
      return "FASTER";
    case Gated::suspect:
      return "suspect";
    case Gated::same:
      break;
  }
  return "same";
}

const std::vector<TimePair>& decisive(const GateCell& c) {
  return c.confirming.empty() ? c.first : c.confirming;
}

Cells figures_of(const GateReport& r, const GateCell& c) {
  const Tally t = tally(decisive(c));
  const bool any = t.pairs > 0;
  return {any ? fixed(t.base_ns / 1e6, 2) : missing,
          any ? fixed(t.head_ns / 1e6, 2) : missing,
          any ? fixed(t.ratio(), 3) : missing,
          of(c.first),
          of(c.confirming),
          verdict_text(r, c) + (c.crowded ? "*" : "")};
}

std::string headline(const GateReport& r) {
  switch (r.end()) {
    case GateEnd::regression:
      break;
    case GateEnd::inconclusive:
      return "inconclusive";
    case GateEnd::passed:
      return "passed";
  }
  return r.compared() == 0 || (r.timed && r.measured() == 0) ? "nothing was measured"
                                                             : "regression";
}

// "regression: 1 of 43 cells differs exactly; of 9 timed cells 1 is slower, 0 are faster"
std::string summary(const GateReport& r) {
  std::string text = fmt::format("Gate {}: ", headline(r));
  text += r.differing() == 0
              ? fmt::format("{} equal exactly", cells_text(r.compared()))
              : fmt::format("{} not equal exactly, of {}", cells_text(r.differing()), r.compared());
  if (r.timed)
    text += fmt::format("; of {} timed, {} slower, {} faster, {} failed", cells_text(r.measured()),
                        r.count(Gated::slower), r.count(Gated::faster), r.failed());
  if (r.timed && r.control_flagged())
    text += "; the control, base against itself, was flagged too, so times say nothing";
  return text + ".";
}

std::string failures(const GateReport& r, const char* line) {
  std::string text;
  for (const GateCell& c : r.cells)
    if (!c.failure.empty())
      text +=
          fmt::format(fmt::runtime(line), cell_name(c), c.base_failed ? "base" : "head", c.failure);
  return text;
}

std::string legend(const GateReport& r) {
  const bool crowded =
      std::any_of(r.cells.begin(), r.cells.end(), [](const GateCell& c) { return c.crowded; });
  const std::string faster =
      r.rules.improvement > r.rules.pairs
          ? ""
          : fmt::format("FASTER: it was in {} of {} or more, and head/base is below {:.3f}. ",
                        r.rules.improvement, r.rules.pairs, 1 / (1 + r.rules.threshold));
  return fmt::format(
      "base, head: the shortest step, of the slowest rank. slower: pairs in which head was; from "
      "{} of {} on a cell is measured again, and SLOWER from {} of {} on where head/base is above "
      "{:g} as well. {}control: base against itself.{}",
      r.rules.suspect, r.rules.pairs, r.rules.regression, r.rules.confirm, 1 + r.rules.threshold,
      faster,
      crowded ? " *: more threads than cores, so the system decides much of its time." : "");
}

std::string facts(const GateReport& r) {
  std::string text = r.exact.empty() ? ""
                                     : side_text("base", r.exact[0].base) + ", " +
                                           side_text("head", r.exact[0].head) + "; ";
  return fmt::format("{}seed {}, {:.0f} s; samples in {}", text, r.seed, r.seconds, r.folder);
}

}  // namespace

std::string gate_text(const GateReport& r, std::size_t columns) {
  std::string text;
  for (const Comparison& c : r.exact) {
    if (c.red()) text += compare_text(c, columns) + "\n";
  }
  if (r.timed && !r.cells.empty()) {
    const Cells titles = {"base ms", "head ms", "head/base", "slower", "again", "time"};
    Grid grid(1);
    // An id is long: it has a line of its own.
    Cells first = {" "};
    first.insert(first.end(), titles.begin(), titles.end());
    grid.row({"cell"});
    grid.row(first);
    for (const GateCell& c : r.cells) {
      Cells row = {" "};
      for (const std::string& f : figures_of(r, c)) row.push_back(f);
      grid.row({cell_name(c)});
      grid.row(row);
    }
    text += grid.text() + failures(r, "{} did not end in {}: {}.\n") + "\n" +
            wrapped(legend(r), columns) + "\n\n";
  }
  return text + wrapped(facts(r), columns) + "\n" + wrapped(summary(r), columns) + "\n";
}

std::string gate_markdown(const GateReport& r) {
  std::string text = fmt::format("**{}**\n\n", summary(r));
  if (r.timed && !r.cells.empty()) {
    text +=
        "| cell | base ms | head ms | head/base | slower | again | time |\n"
        "|---|--:|--:|--:|--:|--:|---|\n";
    for (const GateCell& c : r.cells)
      text += fmt::format("| `{}` | {} |\n", cell_name(c), join(figures_of(r, c), " | "));
    text += failures(r, "\n`{}` did not end in {}: {}.\n");
    text += "\n" + legend(r) + "\n";
  }
  for (const Comparison& c : r.exact)
    if (c.red()) text += "\n" + compare_markdown(c);
  return text + "\n" + facts(r) + "\n";
}

}  // namespace shardmark
