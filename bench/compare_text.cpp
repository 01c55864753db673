// How is a comparison shown: to people, as a job's summary, to programs? See compare_text.hpp.
#include "bench/compare_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/blocks.hpp"
#include "bench/text.hpp"
#include "bench/units.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

constexpr Verdict verdicts[] = {Verdict::same,      Verdict::faster,  Verdict::slower,
                                Verdict::ambiguous, Verdict::missing, Verdict::added,
                                Verdict::untimed};
// A difference a line; the rest is counted.
constexpr std::size_t shown_differences = 8, markdown_rows = 20;

std::string cells_text(std::size_t count) {
  return fmt::format("{} cell{}", count, count == 1 ? "" : "s");
}

std::string exact_text(const ComparedCell& c) {
  if (!c.differences.empty()) {
    const std::size_t n = c.differences.size();
    return fmt::format("{} differ{}", n, n == 1 ? "s" : "");
  }
  return c.exactly ? "equal" : missing;
}

std::string interval_text(const ComparedCell& c) {
  if (!c.ratio || !c.ratio->has_interval) return missing;
  return fmt::format("{:.3f}–{:.3f}", c.ratio->low, c.ratio->high);
}

// One unit for all, in which the smallest is no fraction.
struct TimeUnit {
  double ns = 1e6;
  const char* name = "ms";
  int decimals = 0;
  std::string text(double value) const { return value > 0 ? fixed(value / ns, decimals) : missing; }
};

TimeUnit unit_of(const Comparison& c) {
  double least = 1e18, most = 0;
  for (const ComparedCell& cell : c.cells)
    for (const double value : {cell.base_ns, cell.head_ns})
      if (value > 0) least = std::min(least, value), most = std::max(most, value);
  TimeUnit unit;
  if (least < 1e6) unit = least < 1e3 ? TimeUnit{1, "ns"} : TimeUnit{1e3, "us"};
  unit.decimals = std::max(decimals_for(most / unit.ns), decimals_for(least / unit.ns) - 1);
  return unit;
}

Cells figures(const ComparedCell& c, const TimeUnit& unit, const std::string& marks) {
  return {unit.text(c.base_ns),
          unit.text(c.head_ns),
          c.ratio ? fmt::format("{:.3f}", c.ratio->estimate) : missing,
          interval_text(c),
          fmt::format("{}, {}", c.base_rounds, c.head_rounds),
          exact_text(c),
          name(c.verdict) + marks};
}

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

std::string value_text(const json& v) {
  if (v.is_null()) return "none";
  if (v.is_number() && v.get<double>() == std::floor(v.get<double>())) return grouped(v);
  if (v.is_array()) return fmt::format("{} values", v.size());
  return v.is_string() ? v.get<std::string>() : v.dump();
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

std::string summary(const Comparison& c) {
  if (c.compared() == 0)
    return "Nothing was compared: no cell has figures on both sides that may be compared.";
  std::vector<std::string> parts;
  for (const Verdict v : verdicts)
    if (const std::size_t n = c.count(v); n > 0) parts.push_back(fmt::format("{} {}", n, name(v)));
  if (const std::size_t n = c.differing(); n > 0)
    parts.push_back(cells_text(n) + " with another exact value");
  return fmt::format("{}, {} compared: {}.", c.red() ? "Regression" : "No regression found",
                     cells_text(c.compared()), join(parts, ", "));
}

std::string side_text(const char* which, const Side& s) {
  return fmt::format("{} {}{}", which, s.path, s.commit.empty() ? "" : " (" + s.commit + ")");
}

bool timed(const Comparison& c) {
  return std::any_of(c.cells.begin(), c.cells.end(),
                     [](const ComparedCell& cell) { return cell.ratio.has_value(); });
}

std::string legend_text(const Comparison& c) {
  const std::string exact =
      c.base.kind == SideKind::google_benchmark ? ""
      : c.options.across_machines
          ? "exact: bytes (but of workspace), calls and volumes, to the byte; times, peaks and "
            "losses are not compared across machines. "
          : "exact: bytes, peaks, calls, volumes, losses, norms and final parameters, to the last "
            "bit. ";
  if (!timed(c)) return exact;
  double least = 1;
  for (const ComparedCell& cell : c.cells)
    if (cell.ratio && cell.ratio->has_interval) least = std::min(least, cell.ratio->confidence);
  const double most = 1 + c.options.threshold;
  const bool moved = c.count(Verdict::slower) + c.count(Verdict::faster) > 0;
  return exact + fmt::format(
                     "head/base: the median of all pairs of rounds, with an interval that holds "
                     "the true ratio in {:.0f} % of runs or more (rank sums). SAME: all of it "
                     "from {:.3f} to {:.3f} ({:g} %); SLOWER, FASTER: all of it beyond; "
                     "AMBIGUOUS: across an edge, or no interval.{}",
                     std::floor(least < 1 ? least * 100 : 95), 1 / most, most,
                     c.options.threshold * 100,
                     moved ? " Where one run followed the other, what else the machine did in the "
                             "meantime counts too: let them take turns to tell."
                           : "");
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

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

std::string difference_line(const ComparedCell& c) {
  if (c.differences.empty()) return exact_text(c);
  const Difference& d = c.differences.front();
  const std::size_t more = c.differences.size() - 1;
  return fmt::format("{}: {} → {}{}", d.what, value_text(d.base), value_text(d.head),
                     more > 0 ? fmt::format(" and {} more", more) : "");
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
  if (const std::string legend = trimmed(legend_text(c)); !legend.empty())
    text += "\n" + wrapped(legend, columns) + "\n";
  return text + "\n" + wrapped(summary(c), columns) + "\n";
}

std::string compare_markdown(const Comparison& c) {
  std::string text = fmt::format("**{}**\n\n{}, {}\n", summary(c), side_text("base", c.base),
                                 side_text("head", c.head));
  std::size_t rows = 0, left = 0;
  const TimeUnit unit = unit_of(c);
  for (const ComparedCell& cell : c.cells) {
    if (cell.verdict == Verdict::same && cell.differences.empty()) continue;
    if (cell.verdict == Verdict::untimed && cell.differences.empty()) continue;
    if (rows == 0)
      text += fmt::format(
          "\n| cell | base {0} | head {0} | head/base | interval | exact | time |\n"
          "|---|--:|--:|--:|--:|---|---|\n",
          unit.name);
    if (++rows > markdown_rows) {
      ++left;
      continue;
    }
    const Cells f = figures(cell, unit, "");
    text += fmt::format("| `{}` | {} | {} | {} | {} | {} | {} |\n", escaped(cell.id), f[0], f[1],
                        f[2], f[3], escaped(difference_line(cell)), f[6]);
  }
  if (left > 0) text += fmt::format("\nand {} like these\n", cells_text(left));
  return text;
}

json compare_json(const Comparison& c) {
  json verdict_counts, cells = json::array();
  for (const Verdict v : verdicts) verdict_counts[name(v)] = c.count(v);
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
