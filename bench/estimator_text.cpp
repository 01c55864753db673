// How do estimators stand beside each other: as tables with a letter for each reason, and as JSON?
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "bench/estimator_terms.hpp"
#include "bench/text.hpp"
#include "bench/units.hpp"

namespace shardmark {

namespace {

using nlohmann::json;
constexpr std::size_t columns = 100;

std::set<Reason> reasons_of(const EstimatorTerm& t, const EstimatorsShown& shown) {
  std::set<Reason> all;
  if (shown.deepspeed) all.insert(t.deepspeed_reasons.begin(), t.deepspeed_reasons.end());
  if (shown.textbook) all.insert(t.textbook_reasons.begin(), t.textbook_reasons.end());
  return all;
}

class Tables {
 public:
  explicit Tables(const EstimatorsShown& shown) : shown_(shown) {}

  std::string of(const Prediction& p) {
    const Estimate e = estimate(p);
    const DecimalUnit unit = unit_for(std::max(e.sum.exact, p.peak_bytes) / 50, "B");
    Grid grid(1);
    std::vector<std::string> head = {
        fmt::format("{}, N = {}", p.cell.strategy, grouped(p.cell.ranks))};
    if (shown_.deepspeed) head.insert(head.end(), {"deepspeed", unit.name});
    if (shown_.textbook) head.insert(head.end(), {"textbook", unit.name});
    head.insert(head.end(),
                {"exact, " + unit.name, shown_.deepspeed || shown_.textbook ? "why" : ""});
    grid.row(head);
    for (const EstimatorTerm& t : e.terms) row(grid, t, unit.size);
    row(grid, e.sum, unit.size);
    EstimatorTerm peak;
    peak.what = p.peak_exact ? "all at the worst moment" : "all at the worst moment, at most";
    peak.exact = p.peak_bytes;
    row(grid, peak, unit.size);
    std::string text = grid.text();
    if (shown_.deepspeed && e.sum.deepspeed && p.cell.strategy == "zero3")
      text += wrapped(fmt::format("L: the largest layer, {}, with {} elements", e.largest_layer,
                                  grouped(e.largest_elements)),
                      columns, "  ") +
              "\n";
    return text + "\n";
  }

  // Of all tables.
  std::string legend() const {
    std::string text;
    for (std::size_t i = 0; i < letters_.size(); ++i)
      text += wrapped(fmt::format("{}: {}", letter(i), reason_text(letters_[i])), columns, "   ") +
              "\n";
    return text;
  }

 private:
  static char letter(std::size_t i) { return static_cast<char>('a' + i); }

  std::string letters(const EstimatorTerm& t) {
    std::vector<std::string> all;
    for (const Reason r : reasons_of(t, shown_)) {
      auto at = std::find(letters_.begin(), letters_.end(), r);
      if (at == letters_.end()) at = letters_.insert(at, r);
      all.emplace_back(1, letter(static_cast<std::size_t>(at - letters_.begin())));
    }
    return join(all, " ");
  }

  void row(Grid& grid, const EstimatorTerm& t, double unit) {
    const auto number = [&](double bytes) { return two_decimals(bytes / unit); };
    std::vector<std::string> cells = {t.what};
    const auto add = [&](const std::optional<Estimated>& e) {
      cells.push_back(e ? e->formula : "-");
      cells.push_back(e ? number(e->bytes) : "-");
    };
    if (shown_.deepspeed) add(t.deepspeed);
    if (shown_.textbook) add(t.textbook);
    cells.push_back(number(t.exact));
    cells.push_back(letters(t));
    grid.row(cells);
  }

  EstimatorsShown shown_;
  std::vector<Reason> letters_;  // in the order in which they were met
};

json estimated_json(const std::optional<Estimated>& e) {
  if (!e) return nullptr;
  return {{"formula", e->formula}, {"bytes", e->bytes}};
}

json term_json(const EstimatorTerm& t, const EstimatorsShown& shown) {
  json out = {{"term", t.what}, {"exact_bytes", t.exact}};
  if (shown.deepspeed) out["deepspeed"] = estimated_json(t.deepspeed);
  if (shown.textbook) out["textbook"] = estimated_json(t.textbook);
  json why = json::array();
  for (const Reason r : reasons_of(t, shown)) why.push_back(reason_text(r));
  out["why"] = why;
  return out;
}

}  // namespace

json estimators_json(const Prediction& p, const EstimatorsShown& shown) {
  const Estimate e = estimate(p);
  json terms = json::array();
  for (const EstimatorTerm& t : e.terms) terms.push_back(term_json(t, shown));
  return {{"terms", terms},
          {"sum", term_json(e.sum, shown)},
          {"largest_layer", {{"name", e.largest_layer}, {"elements", e.largest_elements}}}};
}

std::string estimators_text(const std::vector<Prediction>& all, const EstimatorsShown& shown) {
  Tables tables(shown);
  std::string text = "\n";
  for (const Prediction& p : all) text += tables.of(p);
  return text + tables.legend();
}

}  // namespace shardmark
