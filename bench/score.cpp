// How good are predictions? See score.hpp.
#include "bench/score.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "bench/machine.hpp"
#include "bench/prediction.hpp"
#include "bench/record.hpp"
#include "bench/summary.hpp"
#include "bench/watched.hpp"

namespace shardmark {
namespace {

using nlohmann::json;

// Why no prediction can be held against this row; empty: one can.
std::string why_not(const Row& row, const Cell& cell, const Cluster& c, const std::string& link) {
  if (!row.shown) return "no round that came to its end";
  const json& r = *row.shown;
  if (!r.at("time").is_object()) return "no recorded time";
  if (const std::string watched = watched_text(r.at("cell")); !watched.empty()) return watched;
  if (r.at("oversubscribed") != false) return "more threads than cores";
  if (cell.threads_per_rank != 1) return "several threads a rank";
  if (cell.device != "cpu") return "another device";
  const json& machine = r.at("machine");
  if (c.cpu.empty())
    return fmt::format("{} is no measured machine; `shardmark doctor -o` makes one", c.name);
  if (cpu_in(machine) != c.cpu || machine.value("cores_usable", 0) != c.gpus_per_node)
    return fmt::format("another machine than {}", c.name);
  if (cell.comm != "thread" && cell.link == "none" && link.empty() && cell.ranks > 1)
    return "ranks are processes, and the link between them is not known (--link)";
  return "";
}

double of(const json& median, const char* part) {
  const json& value = median.at(std::string(part) + "_ns");
  return value.is_null() ? 0 : value.get<double>();
}

// Communication is waiting or moving, and moving is hidden or exposed; as the report's page says
// it. Without a common clock waiting cannot be told from moving.
double exposed_transfer(const json& m) {
  const double exposed = of(m, "exposed");
  if (m.at("skew_ns").is_null() || m.at("hidden_transfer_ns").is_null()) return exposed;
  const double moving = of(m, "communication") - of(m, "skew") - of(m, "hidden_transfer");
  return std::clamp(moving, 0.0, exposed);
}

std::vector<ScoredPart> parts_of(const json& m, const StepTimes& p) {
  const auto ns = [&p](Phase a) { return static_cast<double>(p.of(a)); };
  return {{"forward", of(m, "forward"), ns(Phase::forward)},
          {"backward", of(m, "recompute") + of(m, "backward"),
           ns(Phase::recompute) + ns(Phase::backward)},
          {"update", of(m, "clip") + of(m, "update"), ns(Phase::clip) + ns(Phase::update)},
          {"exposed", exposed_transfer(m), static_cast<double>(p.exposed_ns)}};
}

Scored scored(const Row& row, const Cluster& c, const std::string& link) {
  Scored out;
  out.id = row.id;
  Cell cell = cell_from_json((row.shown ? *row.shown : *row.not_ok.back()).at("cell"));
  out.why_not = why_not(row, cell, c, link);
  if (!out.why_not.empty()) return out;
  if (cell.comm != "thread" && cell.link == "none" && !link.empty()) cell.link = link;
  const json& median = row.shown->at("time").at("median");
  try {
    const StepTimes predicted = predict({cell}, c).front().time->step;
    out.measured_ns = of(median, "step");
    out.predicted_ns = static_cast<double>(predicted.step_ns);
    out.parts = parts_of(median, predicted);
  } catch (const InputError& e) {
    out.why_not = e.what();
    if (out.why_not.ends_with(".")) out.why_not.pop_back();
  }
  return out;
}

double quantile(std::vector<double> v, double q) {
  if (v.empty()) return 0;
  std::sort(v.begin(), v.end());
  const double at = q * static_cast<double>(v.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, v.size() - 1);
  return v[low] + (at - static_cast<double>(low)) * (v[high] - v[low]);
}

// Rows of one group and one overlap differ in their strategy alone.
void count_pairs(Score& out, const Group& group, const std::map<std::string, Scored>& known) {
  for (std::size_t i = 0; i < group.rows.size(); ++i)
    for (std::size_t j = i + 1; j < group.rows.size(); ++j) {
      const Row &a = group.rows[i], &b = group.rows[j];
      const Scored &x = known.at(a.id), &y = known.at(b.id);
      if (a.overlap != b.overlap || !x.why_not.empty() || !y.why_not.empty()) continue;
      if (a.ok.size() < 2 || b.ok.size() < 2 || indistinct(a, b)) continue;
      // Of three rounds each even equal steps lie apart one time in ten.
      if (std::abs(x.measured_ns / y.measured_ns - 1) < least_difference) continue;
      ++out.pairs;
      if ((x.measured_ns < y.measured_ns) == (x.predicted_ns < y.predicted_ns)) ++out.right;
    }
}

}  // namespace

Score& Score::operator+=(const Score& other) {
  cells.insert(cells.end(), other.cells.begin(), other.cells.end());
  pairs += other.pairs, right += other.right;
  return *this;
}

std::size_t Score::scored() const {
  return static_cast<std::size_t>(
      std::count_if(cells.begin(), cells.end(), [](const Scored& s) { return s.why_not.empty(); }));
}

double Score::step_error(double q) const {
  std::vector<double> all;
  for (const Scored& s : cells)
    if (s.why_not.empty()) all.push_back(std::abs(s.error()));
  return quantile(all, q);
}

std::optional<double> Scored::error_of(const ScoredPart& p) const {
  if (p.measured_ns < least_part * measured_ns) return {};
  return p.predicted_ns / p.measured_ns - 1;
}

std::optional<double> Score::part_error(const std::string& part, double q) const {
  std::vector<double> all;
  for (const Scored& s : cells)
    for (const ScoredPart& p : s.parts)
      if (const auto error = s.error_of(p); error && p.name == part)
        all.push_back(std::abs(*error));
  if (all.empty()) return {};
  return quantile(all, q);
}

Score score(const std::vector<json>& records, const Cluster& c, const std::string& link) {
  Score out;
  for (const Group& group : summarize(records)) {
    std::map<std::string, Scored> known;
    for (const Row& row : group.rows) {
      known[row.id] = scored(row, c, link);
      out.cells.push_back(known[row.id]);
    }
    count_pairs(out, group, known);
  }
  return out;
}

}  // namespace shardmark
