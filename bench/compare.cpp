// What became of each cell between two runs? See compare.hpp.
#include "bench/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "kernels/error.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) / 2];
}

// Of two lists by step the first step that differs says more than both.
Difference difference(const std::string& what, const json& base, const json& head) {
  if (!base.is_array() || !head.is_array()) return {what, base, head};
  if (base.size() != head.size()) return {"steps with a " + what, base.size(), head.size()};
  std::size_t step = 0;
  while (step + 1 < base.size() && base[step] == head[step]) ++step;
  return {fmt::format("{}, from step {} on", what, step), base[step], head[step]};
}

using Part = Facts Exact::*;

// A round of head that has another value than every round of base.
void compare_part(const Sampled& base, const Sampled& head, Part part, ComparedCell& out) {
  std::set<std::string> keys;
  for (const Sampled* side : {&base, &head})
    for (const Exact& e : side->exact)
      for (const auto& [key, value] : e.*part) keys.insert(key);
  for (const std::string& key : keys) {
    const json first = value_of(base.exact.front().*part, key);
    for (const Exact& h : head.exact) {
      const json value = value_of(h.*part, key);
      if (std::any_of(base.exact.begin(), base.exact.end(),
                      [&](const Exact& b) { return value_of(b.*part, key) == value; }))
        continue;
      out.differences.push_back(difference(key, first, value));
      break;
    }
  }
  out.exactly = out.exactly || !keys.empty();
}

constexpr const char* no_training = "not compared: losses, norms and final parameters, ";

void compare_training(const Sampled& base, const Sampled& head, const CompareOptions& options,
                      ComparedCell& out) {
  const Facts& a = base.exact.front().training;
  if (options.across_machines) return;
  if (value_of(base.exact.front().settings, "collectives") == "library") {
    out.notes.push_back(no_training +
                        std::string("since the MPI library adds in an order of its own"));
    return;
  }
  const std::string other =
      other_fact(base.exact.front().circumstances, head.exact.front().circumstances);
  if (!other.empty()) {
    out.notes.push_back(no_training +
                        fmt::format("computed under other circumstances ({})", other));
    return;
  }
  if (std::any_of(base.exact.begin(), base.exact.end(),
                  [&](const Exact& e) { return e.training != a; })) {
    out.notes.push_back(no_training + std::string("since rounds of base itself differ in them"));
    return;
  }
  compare_part(base, head, &Exact::training, out);
}

void compare_exactly(const Sampled& base, const Sampled& head, const CompareOptions& options,
                     ComparedCell& out) {
  if (base.exact.empty() || head.exact.empty()) return;
  compare_part(base, head, &Exact::formula, out);
  if (!options.across_machines) compare_part(base, head, &Exact::memory, out);
  compare_training(base, head, options, out);
  std::set<std::string> known;
  for (const Exact& e : base.exact)
    for (const auto& [check, value] : e.failed_checks) known.insert(check);
  for (const Exact& e : head.exact)
    for (const auto& [check, value] : e.failed_checks)
      if (known.insert(check).second) out.differences.push_back({check, true, value});
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

void compare_times(const Sampled& base, const Sampled& head, const CompareOptions& options,
                   ComparedCell& out) {
  if (options.across_machines) return;
  out.ratio = ratio_of(base.step_ns, head.step_ns);
  out.verdict = verdict_of(*out.ratio, options.threshold);
  if (out.ratio->has_interval) return;
  out.notes.push_back(
      base.step_ns.size() < 2 || head.step_ns.size() < 2
          ? "not judged: the time, since one round has no interval; run it with --rounds 5"
          : "not judged: the time, since so few rounds have no interval of 90 %; run it with "
            "--rounds 5");
}

ComparedCell compared(const std::string& id, const Sampled& base, const Sampled& head,
                      const CompareOptions& options) {
  ComparedCell out{.id = id,
                   .verdict = options.across_machines ? Verdict::untimed : Verdict::ambiguous,
                   .ratio = std::nullopt,
                   .base_rounds = base.step_ns.size(),
                   .head_rounds = head.step_ns.size(),
                   .differences = {},
                   .notes = {}};
  if (out.base_rounds > 0) out.base_ns = median(base.step_ns);
  if (out.head_rounds > 0) out.head_ns = median(head.step_ns);
  if (out.base_rounds == 0 && out.head_rounds == 0) {
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
  if (base.failed == 0 && head.failed > 0)
    out.differences.push_back({"rounds that did not end", 0, head.failed});
  compare_exactly(base, head, options, out);
  compare_times(base, head, options, out);
  return out;
}

ComparedCell one_sided(const std::string& id, const Sampled& only, bool in_base) {
  ComparedCell out{.id = id,
                   .verdict = in_base ? Verdict::missing : Verdict::added,
                   .ratio = std::nullopt,
                   .differences = {},
                   .notes = {}};
  const double ns = only.step_ns.empty() ? 0 : median(only.step_ns);
  (in_base ? out.base_ns : out.head_ns) = ns;
  (in_base ? out.base_rounds : out.head_rounds) = only.step_ns.size();
  return out;
}

void check(const Side& base, const Side& head, const CompareOptions& options) {
  if (base.kind != head.kind)
    throw InputError(fmt::format(
        "{} holds {} and {} {}; compare two of one kind.", base.path,
        base.kind == SideKind::records ? "records" : "Google Benchmark's times", head.path,
        head.kind == SideKind::records ? "records" : "Google Benchmark's times"));
  if (options.across_machines && base.kind == SideKind::google_benchmark)
    throw InputError(
        "--across-machines compares what formulas give, but a Google Benchmark JSON holds times; "
        "compare the runs' records.");
  if (options.across_machines) return;
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

}  // namespace

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
  return static_cast<std::size_t>(
      std::count_if(cells.begin(), cells.end(),
                    [](const ComparedCell& c) { return c.exactly || c.ratio.has_value(); }));
}

bool Comparison::red() const {
  return compared() == 0 || std::any_of(cells.begin(), cells.end(),
                                        [](const ComparedCell& c) { return c.regression(); });
}

Comparison compare(Side base, Side head, const CompareOptions& options) {
  check(base, head, options);
  check_rounds(base);
  check_rounds(head);
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
