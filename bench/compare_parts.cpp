// Of what is a comparison shown, whatever the form? See compare_parts.hpp.
#include "bench/compare_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/blocks.hpp"
#include "bench/text.hpp"
#include "bench/units.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

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

bool timed(const Comparison& c) {
  return std::any_of(c.cells.begin(), c.cells.end(),
                     [](const ComparedCell& cell) { return cell.ratio.has_value(); });
}

std::string nothing_compared(const Comparison& c) {
  return "Nothing was compared: " +
         (timed(c)
              ? "no cell has rounds enough to judge its time; " + more_rounds(c.base.kind) + "."
              : std::string("no cell has figures on both sides that may be compared."));
}

// What was compared of any cell, in the order in which it is read.
std::string exact_legend(const Comparison& c) {
  std::vector<std::string> kinds;
  for (const char* kind : {"bytes", "peaks", "calls", "volumes", "allocations", "spans", "losses",
                           "norms", "final parameters"})
    if (std::any_of(c.cells.begin(), c.cells.end(),
                    [&](const ComparedCell& cell) { return cell.kinds.contains(kind); }))
      kinds.emplace_back(kind);
  std::string text;
  if (!kinds.empty()) {
    const std::string last = kinds.back();
    kinds.pop_back();
    text = kinds.empty() ? last : join(kinds, ", ") + " and " + last;
    text = fmt::format("exact: {}, to the last bit{}. ", text,
                       c.options.across_machines ? ", but no workspace" : "");
  }
  if (c.options.across_machines)
    text += "Times, peaks, losses, norms and final parameters are not compared across machines. ";
  if (c.options.exact_only) text += "Times are not compared. ";
  return text;
}

std::string interval_legend(const Comparison& c, double confidence) {
  const double most = 1 + c.options.threshold;
  const bool moved = c.count(Verdict::slower) + c.count(Verdict::faster) > 0;
  return fmt::format(
      "head/base: the median of all pairs of rounds, with an interval that holds the true ratio in "
      "{:.0f} % of runs or more (rank sums). SAME: all of it from {:.3f} to {:.3f} ({:g} %); "
      "SLOWER, FASTER: all of it beyond; AMBIGUOUS: across an edge, or no interval.{}",
      std::floor(confidence * 100), 1 / most, most, c.options.threshold * 100,
      moved ? " Where one run followed the other, what else the machine did in the meantime counts "
              "too: let them take turns to tell."
            : "");
}

}  // namespace

std::string cells_text(std::size_t count) {
  return fmt::format("{} cell{}", count, count == 1 ? "" : "s");
}

std::string TimeUnit::text(double value) const {
  return value > 0 ? fixed(value / ns, decimals) : missing;
}

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

std::string value_text(const json& v) {
  if (v.is_null()) return "none";
  if (v.is_number() && v.get<double>() == std::floor(v.get<double>())) return grouped(v);
  if (v.is_array()) return fmt::format("{} values", v.size());
  return v.is_string() ? v.get<std::string>() : v.dump();
}

std::string side_text(const char* which, const Side& s) {
  return fmt::format("{} {}{}", which, s.path, s.commit.empty() ? "" : " (" + s.commit + ")");
}

std::string compare_summary(const Comparison& c) {
  if (c.compared() == 0) return nothing_compared(c);
  std::vector<std::string> parts;
  for (const Verdict v : shown_verdicts)
    if (const std::size_t n = c.count(v); n > 0) parts.push_back(fmt::format("{} {}", n, name(v)));
  if (const std::size_t n = c.differing(); n > 0)
    parts.push_back(cells_text(n) + " with another exact value");
  const std::size_t n = c.unjudged();
  return fmt::format("{}, {} compared: {}{}.", c.red() ? "Regression" : "No regression found",
                     cells_text(c.compared()), join(parts, ", "),
                     n > 0 ? fmt::format("; times of {} were not judged", cells_text(n)) : "");
}

std::string compare_legend(const Comparison& c) {
  double least = 2;
  for (const ComparedCell& cell : c.cells)
    if (cell.ratio && cell.ratio->has_interval) least = std::min(least, cell.ratio->confidence);
  if (least <= 1) return exact_legend(c) + interval_legend(c, least);
  return exact_legend(c) + (timed(c) ? "head/base: the median of all pairs of rounds." : "");
}

}  // namespace shardmark
