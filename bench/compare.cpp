// What became of each cell between two runs? See compare.hpp.
#include "bench/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "bench/compare_exact.hpp"
#include "bench/text.hpp"
#include "kernels/error.hpp"

namespace shardmark {

namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) / 2];
}

// An id leaves out what is as usual, which another version may take for something else.
std::string other_setting(const Sampled& base, const Sampled& head) {
  if (base.exact.empty() || head.exact.empty()) return "";
  const Facts& mine = head.exact.front().settings;
  for (const auto& [key, value] : base.exact.front().settings)
    if (const auto it = mine.find(key); it != mine.end() && it->second != value)
      return fmt::format("{} is {} in base and {} in head", key, value.dump(), it->second.dump());
  return "";
}

// "traced" or "profiled", whose times are not measurements; empty: they are.
std::string watched(const Sampled& s) {
  if (s.exact.empty()) return "";
  const Facts& settings = s.exact.front().settings;
  return value_of(settings, "trace") == true        ? "traced"
         : value_of(settings, "profile") == "cupti" ? "profiled"
                                                    : "";
}

void compare_times(const Sampled& base, const Sampled& head, const CompareOptions& options,
                   ComparedCell& out) {
  if (options.across_machines || options.exact_only) return;
  if (const std::string how = watched(base); !how.empty()) {
    out.verdict = Verdict::untimed;
    out.base_ns = out.head_ns = 0;
    out.notes.push_back(
        fmt::format("not compared: the time, since a {} run's times are not measurements", how));
    return;
  }
  out.ratio = ratio_of(base.step_ns, head.step_ns);
  out.verdict = verdict_of(*out.ratio, options.threshold);
  if (out.ratio->has_interval) return;
  const bool records = !base.exact.empty();
  out.notes.push_back(fmt::format(
      "not judged: the time, since {}; {}",
      base.step_ns.size() > 1 && head.step_ns.size() > 1 ? "so few have no interval of 90 %"
      : records                                          ? "one round has no interval"
                                                         : "one repetition has no interval",
      more_rounds(records ? SideKind::records : SideKind::google_benchmark)));
}

std::size_t all_rounds(const Sampled& s) { return s.step_ns.size() + s.failed; }

std::string failed_text(const Sampled& s) {
  return fmt::format("{} of {}", s.failed, all_rounds(s));
}

std::string failed_text(const Sampled& s, const char* which) {
  return fmt::format("{} in {} ({})", failed_text(s), which, s.reason);
}

// Rounds that did not end, where others did.
void compare_failed(const Sampled& base, const Sampled& head, ComparedCell& out) {
  if (base.failed + head.failed == 0) return;
  std::vector<std::string> sides;
  if (base.failed > 0) sides.push_back(failed_text(base, "base"));
  if (head.failed > 0) sides.push_back(failed_text(head, "head"));
  out.notes.push_back("rounds that did not end: " + join(sides, ", "));
  if (head.failed * all_rounds(base) > base.failed * all_rounds(head))
    out.differences.push_back({"rounds that did not end", failed_text(base), failed_text(head)});
}

ComparedCell compared(const std::string& id, const Sampled& base, const Sampled& head,
                      const CompareOptions& options) {
  ComparedCell out{.id = id,
                   .verdict = options.across_machines || options.exact_only ? Verdict::untimed
                                                                            : Verdict::ambiguous,
                   .ratio = std::nullopt,
                   .base_rounds = base.step_ns.size(),
                   .head_rounds = head.step_ns.size(),
                   .kinds = {},
                   .differences = {},
                   .notes = {}};
  if (out.base_rounds > 0) out.base_ns = median(base.step_ns);
  if (out.head_rounds > 0) out.head_ns = median(head.step_ns);
  if (out.base_rounds == 0 && out.head_rounds == 0) {
    out.verdict = Verdict::untimed;
    out.notes.push_back("not compared: it ended in neither, in head since " + head.reason);
    return out;
  }
  if (out.base_rounds == 0 || out.head_rounds == 0) {
    const bool lost = out.head_rounds == 0;
    out.verdict = lost ? Verdict::missing : Verdict::added;
    out.notes.push_back(fmt::format("it did not end in {}: {}", lost ? "head" : "base",
                                    lost ? head.reason : base.reason));
    return out;
  }
  if (const std::string other = other_setting(base, head); !other.empty()) {
    out.verdict = Verdict::missing;
    out.notes.push_back("another cell has its id in head: " + other);
    return out;
  }
  compare_failed(base, head, out);
  compare_exactly(base, head, options, out);
  compare_times(base, head, options, out);
  return out;
}

ComparedCell one_sided(const std::string& id, const Sampled& only, bool in_base) {
  ComparedCell out{.id = id,
                   .verdict = in_base ? Verdict::missing : Verdict::added,
                   .ratio = std::nullopt,
                   .kinds = {},
                   .differences = {},
                   .notes = {}};
  const double ns = only.step_ns.empty() || !watched(only).empty() ? 0 : median(only.step_ns);
  (in_base ? out.base_ns : out.head_ns) = ns;
  (in_base ? out.base_rounds : out.head_rounds) = only.step_ns.size();
  const char* which = in_base ? "base" : "head";
  if (only.step_ns.empty()) {
    // What never worked is not lost.
    if (in_base) out.verdict = Verdict::untimed;
    out.notes.push_back(fmt::format("{}it did not end in {}: {}",
                                    in_base ? "not compared: it is in base only, and " : "", which,
                                    only.reason));
  } else if (only.failed > 0) {
    out.notes.push_back("rounds that did not end: " + failed_text(only, which));
  }
  return out;
}

void check(const Side& base, const Side& head, const CompareOptions& options) {
  if (base.kind != head.kind)
    throw InputError(fmt::format(
        "{} holds {} and {} {}; compare two of one kind.", base.path,
        base.kind == SideKind::records ? "records" : "Google Benchmark's times", head.path,
        head.kind == SideKind::records ? "records" : "Google Benchmark's times"));
  if ((options.across_machines || options.exact_only) && base.kind == SideKind::google_benchmark)
    throw InputError(
        fmt::format("{}, but a Google Benchmark JSON holds times; compare the runs' records.",
                    options.exact_only ? "--exact compares what must repeat"
                                       : "--across-machines compares what formulas give"));
  // Of two machines it is the times that differ.
  if (options.across_machines || options.exact_only) return;
  if (const std::string other = other_fact(base.machine, head.machine); !other.empty())
    throw InputError(
        fmt::format("{} and {} come from two machines ({}), so their times are not comparable; "
                    "--across-machines compares bytes, calls and volumes alone.",
                    base.path, head.path, other));
}

void check_rounds(const Side& side) {
  for (const auto& [id, cell] : side.cells)
    if (cell.step_ns.size() > most_rounds)
      throw InputError(fmt::format("{}: {} has {} rounds, but at most {} are compared.", side.path,
                                   id, cell.step_ns.size(), most_rounds));
}

using SampledCells = std::map<std::string, Sampled>;

// When a cell is given up says nothing of what it is: one cell of each side that have no partner
// and differ by that alone go under base's id. Where several could be it, none is.
void match_timeouts(const SampledCells& base, SampledCells& head) {
  std::map<std::string, std::pair<std::vector<std::string>, std::vector<std::string>>> alone;
  for (const auto& [id, cell] : base)
    if (!head.contains(id)) alone[without_time_limits(id)].first.push_back(id);
  for (const auto& [id, cell] : head)
    if (!base.contains(id)) alone[without_time_limits(id)].second.push_back(id);
  for (const auto& [key, ids] : alone) {
    if (ids.first.size() != 1 || ids.second.size() != 1) continue;
    auto cell = head.extract(ids.second.front());
    cell.key() = ids.first.front();
    head.insert(std::move(cell));
  }
}

}  // namespace

std::string without_time_limits(const std::string& id) {
  std::istringstream segments(id);
  std::string out;
  for (std::string s; std::getline(segments, s, '/');)
    if (!s.starts_with("timeout-") && !s.starts_with("comm-timeout-")) out += s + "/";
  if (!out.empty()) out.pop_back();
  return out;
}

std::string more_rounds(SideKind kind) {
  return kind == SideKind::records
             ? "run it with --rounds 5"
             : "run it with --benchmark_repetitions=10 and keep every repetition";
}

bool ComparedCell::regression() const {
  return verdict == Verdict::slower || verdict == Verdict::missing || !differences.empty();
}

std::size_t Comparison::count(Verdict v) const {
  return static_cast<std::size_t>(std::count_if(
      cells.begin(), cells.end(), [&](const ComparedCell& c) { return c.verdict == v; }));
}

std::size_t Comparison::differing() const {
  return static_cast<std::size_t>(std::count_if(
      cells.begin(), cells.end(), [](const ComparedCell& c) { return !c.differences.empty(); }));
}

std::size_t Comparison::compared() const {
  return static_cast<std::size_t>(std::count_if(
      cells.begin(), cells.end(),
      [](const ComparedCell& c) { return c.exactly || (c.ratio && c.ratio->has_interval); }));
}

std::size_t Comparison::unjudged() const {
  return static_cast<std::size_t>(
      std::count_if(cells.begin(), cells.end(),
                    [](const ComparedCell& c) { return c.ratio && !c.ratio->has_interval; }));
}

bool Comparison::red() const {
  return compared() == 0 || std::any_of(cells.begin(), cells.end(),
                                        [](const ComparedCell& c) { return c.regression(); });
}

Comparison compare(Side base, Side head, const CompareOptions& options) {
  check(base, head, options);
  check_rounds(base);
  check_rounds(head);
  if (base.kind == SideKind::records) match_timeouts(base.cells, head.cells);
  const auto mine = std::move(base.cells), theirs = std::move(head.cells);
  base.cells.clear();
  head.cells.clear();
  Comparison out{std::move(base), std::move(head), options, {}};
  std::set<std::string> ids;
  for (const auto* side : {&mine, &theirs})
    for (const auto& [id, cell] : *side) ids.insert(id);
  for (const std::string& id : ids) {
    const auto a = mine.find(id), b = theirs.find(id);
    out.cells.push_back(a == mine.end()     ? one_sided(id, b->second, false)
                        : b == theirs.end() ? one_sided(id, a->second, true)
                                            : compared(id, a->second, b->second, options));
  }
  return out;
}

}  // namespace shardmark
