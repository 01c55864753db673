// What does a measurement of collectives say in its record? Raw times, and what follows from them;
// see collectives_measure.hpp and results/schema.json.
#include <fmt/format.h>

#include "bench/collectives_math.hpp"
#include "bench/collectives_measure.hpp"
#include "bench/self_checks.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

constexpr const char* one_rank = "one rank sends nothing";

// Bytes that all ranks read and write in a second of copying; 0: not measured.
double copy_rate(const Measured& m) {
  return m.copy_ns.empty()
             ? 0
             : static_cast<double>(m.copy_traffic_bytes) / spread_of(m.copy_ns).median * 1e9;
}

void add_copy_share(json& row, const CollectivesCell& cell, Verb verb, const Measured& m) {
  const double payload = row["payload_bytes"], ranks = static_cast<double>(cell.ranks);
  std::string why;
  if (row["collectives"] != "memory")
    why = "only collectives of kind memory read their peers' arrays in place";
  else if (cell.ranks == 1)
    why = one_rank;
  else if (payload * ranks < static_cast<double>(uncached_bytes) || m.copy_ns.empty())
    why = "a cache may hold the arrays: all ranks' together are smaller than 128 MiB";
  if (!why.empty()) return set_missing(row, "copy_share", why);
  const double traffic = memory_traffic_bytes(verb, payload, cell.ranks) * ranks;
  row["copy_share"] = traffic / row["median_ns"].get<double>() * 1e9 / copy_rate(m);
}

json row_of(const CollectivesCell& cell, const MeasuredCalls& m, const Measured& all) {
  const Verb verb = verb_named(cell.verbs[m.verb]);
  const std::uint64_t size = cell.sizes_bytes[m.size];
  const std::size_t elements = elements_of(verb, size, cell.ranks);
  const auto payload = static_cast<double>(elements * size_of(DType::f32));
  const Spread time = spread_of(m.time_ns);
  const double factor = bus_factor(verb, cell.ranks), algbw = payload / time.median * 1e9;
  json row = {{"verb", cell.verbs[m.verb]},
              {"collectives", cell.collectives[m.algorithm]},
              {"size_bytes", size},
              {"elements", elements},
              {"payload_bytes", elements * size_of(DType::f32)},
              {"calls", m.time_ns.size()},
              {"wrong_elements", m.wrong},
              {"time_ns", m.time_ns},
              {"min_ns", static_cast<std::int64_t>(time.least)},
              {"median_ns", static_cast<std::int64_t>(time.median)},
              {"p95_ns", static_cast<std::int64_t>(time.p95)},
              {"algbw_bytes_per_s", algbw},
              {"busbw_bytes_per_s", algbw * factor},
              {"factor", factor}};
  if (cell.ranks == 1)
    for (const char* key : {"busbw_bytes_per_s", "factor"}) set_missing(row, key, one_rank);
  add_copy_share(row, cell, verb, all);
  return row;
}

json line_of(const CollectivesCell& cell, std::size_t verb, std::size_t algorithm,
             const json& rows) {
  json line = {{"verb", cell.verbs[verb]}, {"collectives", cell.collectives[algorithm]}};
  std::vector<Point> points;
  for (const json& row : rows)
    if (row["verb"] == line["verb"] && row["collectives"] == line["collectives"])
      points.push_back({row["payload_bytes"], row["median_ns"]});
  const ScoredLine scored = fit_and_score(points);
  if (!scored.why_none.empty()) {
    for (const char* key : {"alpha_ns", "beta_ns_per_byte", "error", "scored_bytes", "poor"})
      set_missing(line, key, scored.why_none);
    return line;
  }
  line["alpha_ns"] = scored.line.alpha_ns;
  line["beta_ns_per_byte"] = scored.line.beta_ns_per_byte;
  line["error"] = scored.error;
  line["scored_bytes"] = json::array();
  for (const double bytes : scored.scored)
    line["scored_bytes"].push_back(static_cast<std::uint64_t>(bytes));
  line["poor"] = scored.poor();
  return line;
}

}  // namespace

json collectives_section(const CollectivesCell& cell, const Measured& measured) {
  json rows = json::array(), lines = json::array();
  std::uint64_t wrong = 0;
  for (const MeasuredCalls& m : measured.calls) {
    rows.push_back(row_of(cell, m, measured));
    wrong += m.wrong;
  }
  for (std::size_t v = 0; v < cell.verbs.size(); ++v)
    for (std::size_t a = 0; a < cell.collectives.size(); ++a)
      lines.push_back(line_of(cell, v, a, rows));
  json section = {{"wrong_elements", wrong}, {"rows", rows}, {"lines", lines}};
  if (measured.copy_ns.empty())
    set_missing(section, "copy",
                "copied only where ranks read each other's arrays, and no cache may hold them");
  else
    section["copy"] = {{"traffic_bytes", measured.copy_traffic_bytes},
                       {"time_ns", measured.copy_ns},
                       {"bytes_per_s", copy_rate(measured)}};
  return section;
}

}  // namespace shardmark
