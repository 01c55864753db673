// Which columns do the blocks of memory and traffic have? See blocks.hpp.
#include <algorithm>
#include <functional>
#include <optional>

#include "bench/blocks.hpp"
#include "bench/units.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

struct Values {
  Cells cells;
  std::string marks;
};

// Rows of one strategy with and without overlap that read the same become one, with the marks of
// both.
Block without_twins(const Group& group, const Cells& rest,
                    const std::function<Values(const Row&)>& values, const std::string& title) {
  Block all{header(title, true, rest), 2, {}}, single{header(title, false, rest), 1, {}};
  bool twins = true;
  const auto add = [](Block& to, const Row& row, const Values& v) {
    Cells cells = labels(row, to.labels == 2, v.marks);
    cells.insert(cells.end(), v.cells.begin(), v.cells.end());
    to.rows.push_back(cells);
  };
  for (const Row& row : group.rows) {
    if (!row.shown) continue;
    Values v = values(row);
    add(all, row, v);
    const Row* twin = group.find(row.strategy, !row.overlap);
    if (twin && twin->shown) {
      const Values other = values(*twin);
      twins &= other.cells == v.cells;
      if (row.overlap) continue;
      if (other.marks != v.marks) v.marks += other.marks;
    }
    add(single, row, v);
  }
  return twins ? single : all;
}

// Sum over the entries of an array for which `wanted` holds; null counts as nothing.
double sum(const json& entries, const char* key, const std::function<bool(const json&)>& wanted) {
  double total = 0;
  for (const json& e : entries)
    if (wanted(e) && e[key].is_number()) total += e[key].get<double>();
  return total;
}

bool is_gradient(const json& called) {
  return called["dtype"] != "f64" &&
         (called["verb"] == "all_reduce" || called["verb"] == "reduce_scatter");
}
bool is_parameter(const json& called) {
  return called["verb"] == "all_gather" || called["verb"] == "broadcast";
}
bool is_any(const json&) { return true; }

}  // namespace

double held_bytes(const Row& row, const std::vector<std::string>& tags) {
  return sum((*row.shown)["bytes"]["held"], "measured_bytes", [&](const json& e) {
    return std::find(tags.begin(), tags.end(), e["tag"].get<std::string>()) != tags.end();
  });
}

std::optional<double> moved_a_step(const json& record) {
  const json& traffic = record["traffic"];
  const std::string witness = witness_of(record);
  double moved = 0, steps = 0;
  if (witness == "interface") {
    moved = traffic["interface"]["by_rank"][0]["payload_bytes"];
    steps = traffic["interface"]["steps"];
  } else if (witness == "transport") {
    moved = traffic["moved_bytes"][0];
    steps = traffic["total_steps"];
  }
  return steps > 0 ? std::optional(moved / steps) : std::nullopt;
}

ByteScale::ByteScale(double largest)
    : unit(unit_for(largest, "B")),
      decimals(unit.size == 1 ? 0 : decimals_for(largest / unit.size)) {}

std::string ByteScale::operator()(double bytes) const { return fixed(bytes / unit.size, decimals); }

std::string bytes_block(const Group& group, Notes& notes, std::size_t columns) {
  double largest = 0;
  for (const Row& row : group.rows)
    if (row.shown) largest = std::max(largest, (*row.shown)["bytes"]["peak_bytes"].get<double>());
  const ByteScale in(largest);
  const auto values = [&](const Row& row) {
    const json& bytes = (*row.shown)["bytes"];
    const json& states = bytes["model_state"];
    const Row* ddp = group.find("ddp", row.overlap);
    double base_states = 0, base_peak = 0;
    if (ddp && ddp->shown) {
      base_states = (*ddp->shown)["bytes"]["model_state"]["measured_bytes"];
      base_peak = (*ddp->shown)["bytes"]["peak_bytes"];
    }
    Values v;
    v.cells = {in(held_bytes(row, {"parameter"})),
               in(held_bytes(row, {"gradient"})),
               in(held_bytes(row, {"master", "first_moment", "second_moment"})),
               in(states["measured_bytes"]),
               in(states["exact_bytes"]),
               in(states["textbook_bytes"]),
               ratio(states["measured_bytes"], base_states),
               in(bytes["peak_bytes"]),
               ratio(bytes["peak_bytes"], base_peak)};
    v.marks = check_marks(row, {"bytes_exact", "nothing_left"}, notes);
    return v;
  };
  const Cells rest = {"parameters", "gradients", "optimizer", "sum", "exact",
                      "textbook",   "/ddp",      "peak",      "/ddp"};
  return without_twins(group, rest, values, "BYTES, " + in.unit.name).text(columns);
}

std::string traffic_block(const Group& group, Notes& notes, std::size_t columns) {
  const auto volume = [](const Row& row) {
    return sum((*row.shown)["traffic"]["called"], "volume_bytes", is_any);
  };
  double largest = 0;
  for (const Row& row : group.rows)
    if (row.shown) largest = std::max(largest, volume(row));
  const ByteScale in(largest);
  const auto values = [&](const Row& row) {
    const json& traffic = (*row.shown)["traffic"];
    const json& called = traffic["called"];
    const Row* ddp = group.find("ddp", row.overlap);
    Values v;
    const auto per_step = moved_a_step(*row.shown);
    if (!per_step)
      v.marks +=
          notes.mark("no moved_bytes: " + traffic.value("moved_bytes_reason", "no reason given"));
    // One rank sends nothing, and nothing is no part of nothing.
    const std::string over = volume(row) == 0 || !per_step
                                 ? missing
                                 : number_or_why(traffic, "moved_over_volume", notes, v.marks,
                                                 [](double share) { return fixed(share, 4); });
    v.marks += check_marks(row, {"traffic_exact", "moved_agrees"}, notes);
    v.cells = {in(sum(called, "volume_bytes", is_gradient)),
               in(sum(called, "volume_bytes", is_parameter)),
               in(volume(row)),
               in(sum(called, "exact_volume_bytes", is_any)),
               in(sum(called, "textbook_volume_bytes", is_any)),
               ratio(volume(row), ddp && ddp->shown ? volume(*ddp) : 0),
               per_step ? in(*per_step) : missing,
               over,
               grouped(sum(called, "calls", is_any))};
    return v;
  };
  const Cells rest = {"gradients", "parameters", "sum",       "exact", "textbook",
                      "/ddp",      "moved",      "moved/vol", "calls"};
  return without_twins(group, rest, values, "TRAFFIC, " + in.unit.name).text(columns);
}

}  // namespace shardmark
