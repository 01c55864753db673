// How is a comparison shown: to people, as a job's summary, to programs? See compare_text.hpp.
#include "bench/compare_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/blocks.hpp"
#include "bench/compare_parts.hpp"
#include "bench/text.hpp"
#include "bench/units.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

constexpr std::size_t shown_differences = 8;  // one a line; the rest is counted

std::string rows(const Comparison& c, Notes& notes, std::size_t columns) {
  const TimeUnit unit = unit_of(c);
  const Cells titles = {fmt::format("base {}", unit.name),
                        fmt::format("head {}", unit.name),
                        "head/base",
                        "interval",
                        "rounds",
                        "exact",
                        "time"};
  // Beside its figures where that fits; else an id has a line of its own.
  Grid beside, below(1);
  const auto add = [&](const std::string& id, const Cells& rest) {
    Cells row = {id}, indented = {" "};
    row.insert(row.end(), rest.begin(), rest.end());
    indented.insert(indented.end(), rest.begin(), rest.end());
    beside.row(row);
    below.row({id});
    below.row(indented);
  };
  add("cell", titles);
  for (const ComparedCell& cell : c.cells) {
    std::string marks;
    for (const std::string& note : cell.notes) marks += notes.mark(note);
    add(cell.id, figures(cell, unit, marks));
  }
  return beside.width() <= columns ? beside.text() : below.text();
}

std::string differences_text(const Comparison& c) {
  std::string text;
  for (const ComparedCell& cell : c.cells) {
    if (cell.differences.empty()) continue;
    Grid grid(1, "  ");
    grid.row({"", "base", "head"});
    const std::size_t shown = std::min(cell.differences.size(), shown_differences);
    for (std::size_t i = 0; i < shown; ++i) {
      const Difference& d = cell.differences[i];
      grid.row({d.what, value_text(d.base), value_text(d.head)});
    }
    text += "\n" + cell.id + " differs\n" + grid.text();
    if (shown < cell.differences.size())
      text +=
          fmt::format("  and {} more: --format json has all\n", cell.differences.size() - shown);
  }
  return text;
}

json side_json(const Side& s) {
  return {{"path", s.path},
          {"kind", s.kind == SideKind::records ? "records" : "google_benchmark"},
          {"commit", s.commit.empty() ? json() : json(s.commit)}};
}

json cell_json(const ComparedCell& c) {
  const auto or_null = [](bool there, double value) { return there ? json(value) : json(); };
  const bool interval = c.ratio && c.ratio->has_interval;
  json differences = json::array();
  for (const Difference& d : c.differences)
    differences.push_back({{"what", d.what}, {"base", d.base}, {"head", d.head}});
  return {{"id", c.id},
          {"verdict", name(c.verdict)},
          {"regression", c.regression()},
          {"base_ns", or_null(c.base_ns > 0, c.base_ns)},
          {"head_ns", or_null(c.head_ns > 0, c.head_ns)},
          {"base_rounds", c.base_rounds},
          {"head_rounds", c.head_rounds},
          {"ratio", or_null(c.ratio.has_value(), c.ratio ? c.ratio->estimate : 0)},
          {"low", or_null(interval, interval ? c.ratio->low : 0)},
          {"high", or_null(interval, interval ? c.ratio->high : 0)},
          {"confidence", or_null(interval, interval ? c.ratio->confidence : 0)},
          {"exact", !c.differences.empty() ? json("differs")
                    : c.exactly            ? json("equal")
                                           : json()},
          {"differences", differences},
          {"notes", c.notes}};
}

}  // namespace

std::string compare_text(const Comparison& c, std::size_t columns) {
  Notes notes;
  std::string text = wrapped(fmt::format("shardmark compare  ·  {}  ·  {}",
                                         side_text("base", c.base), side_text("head", c.head)),
                             columns, "  ") +
                     "\n\n" + rows(c, notes, columns) + differences_text(c);
  const auto& sentences = notes.sentences();
  if (!sentences.empty()) text += "\n";
  for (std::size_t i = 0; i < sentences.size(); ++i)
    text += wrapped(Notes::number(i + 1) + " " + sentences[i] + ".", columns, "  ") + "\n";
  if (const std::string legend = trimmed(compare_legend(c)); !legend.empty())
    text += "\n" + wrapped(legend, columns) + "\n";
  return text + "\n" + wrapped(compare_summary(c), columns) + "\n";
}

json compare_json(const Comparison& c) {
  json verdict_counts, cells = json::array();
  for (const Verdict v : shown_verdicts) verdict_counts[name(v)] = c.count(v);
  std::size_t regressions = 0;
  for (const ComparedCell& cell : c.cells) {
    cells.push_back(cell_json(cell));
    regressions += cell.regression() ? 1 : 0;
  }
  return {{"base", side_json(c.base)},
          {"head", side_json(c.head)},
          {"threshold", c.options.threshold},
          {"across_machines", c.options.across_machines},
          {"red", c.red()},
          {"compared", c.compared()},
          {"regressions", regressions},
          {"verdicts", verdict_counts},
          {"cells", cells}};
}

}  // namespace shardmark
