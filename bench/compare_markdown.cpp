// How is a comparison shown as a job's summary? See compare_text.hpp.
#include "bench/compare_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/blocks.hpp"
#include "bench/compare_parts.hpp"
#include "bench/text.hpp"

namespace shardmark {

namespace {

// Regressions are all shown, whatever their number.
constexpr std::size_t most_rows = 20;

std::string replaced(const std::string& text, char from, const char* to) {
  std::string out;
  for (const char c : text) out += c == from ? std::string(to) : std::string(1, c);
  return out;
}

std::string escaped(const std::string& text) { return replaced(text, '|', "\\|"); }

std::string difference_line(const ComparedCell& c, const std::string& exact) {
  if (c.differences.empty()) return exact;
  const Difference& d = c.differences.front();
  const std::size_t more = c.differences.size() - 1;
  return fmt::format("{}: {} → {}{}", d.what, value_text(d.base), value_text(d.head),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

std::string row(const ComparedCell& c, const TimeUnit& unit, const std::string& marks) {
  const Cells f = figures(c, unit, marks);
  return fmt::format("| `{}` | {} | {} | {} | {} | {} | {} |\n", escaped(c.id), f[0], f[1], f[2],
                     f[3], escaped(difference_line(c, f[5])), f[6]);
}

bool worth_a_row(const ComparedCell& c) {
  return c.regression() || (c.verdict != Verdict::same && c.verdict != Verdict::untimed);
}

std::string left_text(const std::vector<const ComparedCell*>& left) {
  std::vector<std::string> counts;
  for (const Verdict v : shown_verdicts) {
    const auto n = std::count_if(left.begin(), left.end(),
                                 [&](const ComparedCell* c) { return c->verdict == v; });
    if (n > 0) counts.push_back(fmt::format("{} {}", n, name(v)));
  }
  return left.empty() ? "" : fmt::format("\nand {} more: {}\n", left.size(), join(counts, ", "));
}

// Each with the cell it is about, or with their number.
std::string notes_text(const Comparison& c, const Notes& notes) {
  std::string text;
  for (std::size_t i = 0; i < notes.sentences().size(); ++i) {
    const std::string& sentence = notes.sentences()[i];
    std::vector<std::string> ids;
    for (const ComparedCell& cell : c.cells)
      if (std::find(cell.notes.begin(), cell.notes.end(), sentence) != cell.notes.end())
        ids.push_back(cell.id);
    text += fmt::format("\n{} {}: {}\n", Notes::number(i + 1), replaced(sentence, '\n', " "),
                        ids.size() == 1 ? "`" + ids.front() + "`" : cells_text(ids.size()));
  }
  return text;
}

}  // namespace

std::string compare_markdown(const Comparison& c) {
  std::vector<const ComparedCell*> cells, left;
  for (const ComparedCell& cell : c.cells) cells.push_back(&cell);
  std::stable_partition(cells.begin(), cells.end(),
                        [](const ComparedCell* cell) { return cell->regression(); });
  const TimeUnit unit = unit_of(c);
  Notes notes;
  std::string rows;
  std::size_t shown = 0;
  for (const ComparedCell* cell : cells) {
    std::string marks;
    for (const std::string& note : cell->notes) marks += notes.mark(note);
    if (!worth_a_row(*cell)) continue;
    if (!cell->regression() && shown >= most_rows) {
      left.push_back(cell);
      continue;
    }
    rows += row(*cell, unit, marks);
    ++shown;
  }
  if (shown > 0)
    rows = fmt::format(
               "\n| cell | base {0} | head {0} | head/base | interval | exact | time |\n"
               "|---|--:|--:|--:|--:|---|---|\n",
               unit.name) +
           rows;
  const std::string legend = trimmed(compare_legend(c));
  return fmt::format("**{}**\n\n{}, {}\n", compare_summary(c), side_text("base", c.base),
                     side_text("head", c.head)) +
         rows + left_text(left) + notes_text(c, notes) +
         (legend.empty() ? "" : "\n" + legend + "\n");
}

}  // namespace shardmark
