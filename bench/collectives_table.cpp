// How fast are the collectives? See collectives_table.hpp.
#include "bench/collectives_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/blocks.hpp"
#include "bench/collectives_math.hpp"
#include "bench/collectives_measure.hpp"
#include "bench/link_text.hpp"
#include "bench/record.hpp"
#include "bench/text.hpp"
#include "bench/units.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

std::string counted(double count, const char* one, const char* many) {
  return fmt::format("{} {}", grouped(count), count == 1 ? one : many);
}

std::string micro(double ns) { return significant(ns * 1e-3); }
std::string giga(const json& bytes_per_s, int decimals) {
  return bytes_per_s.is_null() ? "n/a" : fixed(bytes_per_s.get<double>() * 1e-9, decimals);
}

// The records of one cell, in all rounds.
struct CellRecords {
  CollectivesCell cell;
  std::vector<const json*> ok, not_ok;
};

std::vector<CellRecords> by_cell(const std::vector<json>& records) {
  std::vector<CellRecords> cells;
  for (const json& r : records) {
    auto it = std::find_if(cells.begin(), cells.end(),
                           [&](const CellRecords& m) { return id_of(m.cell) == id_at(r); });
    if (it == cells.end())
      it = cells.insert(it, {collectives_cell_from_json(r.at("cell")), {}, {}});
    (text_at(r, "status") == "ok" ? it->ok : it->not_ok).push_back(&r);
  }
  return cells;
}

std::size_t place_of(const std::vector<std::string>& names, const std::string& name) {
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

// One section with the calls of all rounds.
json pooled(const CellRecords& m) {
  Measured out;
  std::vector<MeasuredCalls>& all = out.calls;
  for (const json* record : m.ok) {
    const json& section = record->at("collectives");
    for (const json& row : section.at("rows")) {
      const auto size = std::find(m.cell.sizes_bytes.begin(), m.cell.sizes_bytes.end(),
                                  row.at("size_bytes").get<std::uint64_t>());
      const MeasuredCalls what{place_of(m.cell.verbs, text_at(row, "verb")),
                               static_cast<std::size_t>(size - m.cell.sizes_bytes.begin()),
                               place_of(m.cell.collectives, text_at(row, "collectives"))};
      auto it = std::find_if(all.begin(), all.end(), [&](const MeasuredCalls& o) {
        return o.verb == what.verb && o.size == what.size && o.algorithm == what.algorithm;
      });
      if (it == all.end()) it = all.insert(it, what);
      for (const json& ns : row.at("time_ns")) it->time_ns.push_back(ns);
      it->wrong += row.at("wrong_elements").get<std::uint64_t>();
    }
    if (const json& copy = section.at("copy"); copy.is_object()) {
      out.copy_traffic_bytes = copy.at("traffic_bytes");
      for (const json& ns : copy.at("time_ns")) out.copy_ns.push_back(ns);
    }
  }
  return collectives_section(m.cell, out);
}

// The ring's row for the same verb and size; null where it was not measured.
const json* ring_beside(const json& rows, const json& row) {
  for (const json& other : rows)
    if (other["collectives"] == "ring" && other["verb"] == row["verb"] &&
        other["size_bytes"] == row["size_bytes"])
      return &other;
  return nullptr;
}

std::string verb_block(const json& section, const std::string& verb, std::size_t columns) {
  const json& rows = section["rows"];
  const auto any = [&](auto&& holds) { return std::any_of(rows.begin(), rows.end(), holds); };
  const bool has_copy = any([](const json& r) { return r["copy_share"].is_number(); });
  const bool has_ring = any(
      [&](const json& r) { return r["collectives"] != "ring" && ring_beside(rows, r) != nullptr; });
  // A network of 1 Gbit/s has 0.125 GB/s at most.
  const int decimals =
      any([&](const json& r) { return r["verb"] == verb && r["algbw_bytes_per_s"] >= 1e9; }) ? 3
                                                                                             : 4;
  Block block;
  block.labels = 2;
  block.header = {"size",  "by",    "min µs", "median", "p95",
                  "algbw", "busbw", "factor", "wrong",  "calls"};
  if (has_copy) block.header.emplace_back("copy %");
  if (has_ring) block.header.emplace_back("/ring");
  for (const json& r : rows) {
    if (r["verb"] != verb) continue;
    Cells cells = {bytes_text(r["payload_bytes"]),
                   r["collectives"],
                   micro(r["min_ns"]),
                   micro(r["median_ns"]),
                   micro(r["p95_ns"]),
                   giga(r["algbw_bytes_per_s"], decimals),
                   giga(r["busbw_bytes_per_s"], decimals),
                   r["factor"].is_null() ? "n/a" : fmt::format("{:.3f}", r["factor"].get<double>()),
                   grouped(r["wrong_elements"]),
                   grouped(r["calls"])};
    if (has_copy)
      cells.push_back(r["copy_share"].is_number()
                          ? fmt::format("{:.0f}", 100 * r["copy_share"].get<double>())
                          : missing);
    if (has_ring) {
      const json* ring = ring_beside(rows, r);
      cells.push_back(ring && ring != &r ? ratio(r["median_ns"], (*ring)["median_ns"]) : "");
    }
    block.rows.push_back(std::move(cells));
  }
  std::string title = verb;
  for (char& c : title) c = c == '_' ? '-' : static_cast<char>(std::toupper(c));
  return fmt::format("{}, times in µs, bandwidths in GB/s\n{}\n", title, block.text(columns));
}

std::string lines_block(const json& section, std::int64_t ranks, std::size_t columns) {
  Block block;
  block.labels = 2;
  block.header = {"LINES", "by", "α µs", "β ns/byte", "busbw by β, GB/s", "error %", ""};
  for (const json& line : section["lines"]) {
    if (line["alpha_ns"].is_null()) continue;
    const double beta = line["beta_ns_per_byte"];
    const double factor = bus_factor(verb_named(line["verb"]), ranks);
    block.rows.push_back({line["verb"], line["collectives"], micro(line["alpha_ns"]),
                          significant(beta),
                          beta > 0 && factor > 0 ? significant(factor / beta) : "n/a",
                          fmt::format("{:.0f}", 100 * line["error"].get<double>()),
                          line["poor"].get<bool>() ? "poor" : ""});
  }
  return block.rows.empty() ? "" : block.text(columns);
}

std::string title_of(const CellRecords& m) {
  const CollectivesCell& c = m.cell;
  std::string link = "no link: ";
  if (c.link != "none") {
    link = fmt::format("emulated link {}", link_in_words(c.link));
  } else if (!c.network.empty()) {
    link = c.network;
  } else {
    link += c.comm == "thread" ? "the memory's own speed" : "as the library finds its way";
  }
  const bool crowded = !m.ok.empty() && m.ok.front()->value("oversubscribed", false);
  return fmt::format("{} ranks  ·  {}  ·  {}{}\n", c.comm,
                     counted(static_cast<double>(c.ranks), "rank", "ranks"), link,
                     crowded ? "  ·  * more ranks than cores" : "");
}

std::string heading(const std::vector<json>& records, std::size_t columns) {
  const json& first = records.front();
  std::int64_t rounds = 0;
  for (const json& r : records) rounds = std::max(rounds, r["round"].get<std::int64_t>());
  std::string commit = "no commit known";
  if (first["commit"].is_string())
    commit = "commit " + first["commit"].get<std::string>().substr(0, 10);
  if (first["dirty"] == true) commit += " with changes";
  const json& m = first["machine"];
  std::vector<std::string> parts = {
      m.value("cpu", json()).is_string() ? m["cpu"].get<std::string>() : "unknown processor",
      counted(m["cores_usable"], "core", "cores")};
  if (m.contains("libraries") && m["libraries"].contains("mpi"))
    parts.push_back(m["libraries"]["mpi"]);
  if (m.contains("build")) parts.push_back(m["build"].value("compiler", ""));
  return fmt::format("shardmark collectives  ·  {}  ·  {}\n{}\n",
                     counted(static_cast<double>(rounds), "round", "rounds"), commit,
                     wrapped(join(parts, ", "), columns));
}

std::string legend(const std::vector<CellRecords>& cells, std::size_t columns) {
  const auto any = [&](auto&& holds) { return std::any_of(cells.begin(), cells.end(), holds); };
  std::vector<std::string> lines = {
      "size     of the whole array, f32; reduce-scatter and all-gather round it up to N elements.",
      "time     of one call, from a barrier to the end on the slowest rank; right before it each "
      "rank has written its array. All verbs, sizes and algorithms of a block run in one process, "
      "in seeded random order.",
      "algbw    size / time; busbw: algbw x factor, 2(N-1)/N for an all-reduce, (N-1)/N for the "
      "others: a normalisation, and no limit. GB are 1e9 bytes.",
      "wrong    elements, on all ranks and in all calls, that are not exactly what they must be."};
  if (any([](const CellRecords& m) { return m.cell.collectives.front() == "memory"; }))
    lines.emplace_back(
        "copy %   traffic in memory over what a streaming copy on all ranks reaches, in turn with "
        "the calls; where a cache may hold the arrays there is none.");
  if (any([](const CellRecords& m) { return m.cell.collectives.size() > 1; }))
    lines.emplace_back("/ring    median time over the ring's.");
  lines.emplace_back(
      "LINES    time = α + β x bytes by least squares of relative residuals on every other size, "
      "from the smallest on; error: the median of |line - median time| / median time on those "
      "between. poor: above 25 %, so that no line describes these times.");
  if (any([](const CellRecords& m) { return m.cell.link != "none"; }))
    lines.emplace_back("An emulated link holds messages back in this program; no network is used.");
  std::string text;
  for (const std::string& line : lines) text += wrapped(line, columns, std::string(9, ' ')) + "\n";
  return text;
}

}  // namespace

std::string collectives_table(const std::vector<json>& records, std::size_t columns) {
  const std::vector<CellRecords> cells = by_cell(records);
  std::string text = heading(records, columns);
  for (const CellRecords& m : cells) {
    text += "\n" + title_of(m) + "\n";
    if (!m.ok.empty()) {
      const json section = pooled(m);
      for (const std::string& verb : m.cell.verbs) text += verb_block(section, verb, columns);
      text += lines_block(section, m.cell.ranks, columns);
    }
    for (const json* r : m.not_ok)
      text += wrapped(fmt::format("{} in round {}: {}", text_at(*r, "status"),
                                  r->at("round").dump(), text_at(*r, "reason")),
                      columns) +
              "\n";
  }
  return text + "\n" + legend(cells, columns);
}

}  // namespace shardmark
