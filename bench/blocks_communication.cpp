// Which columns do the blocks of communication and of overlap have? See blocks.hpp.
#include <algorithm>
#include <optional>

#include "bench/blocks.hpp"

namespace shardmark {

using nlohmann::json;

std::optional<double> transfer_ms(const Row& row) {
  std::vector<double> all;
  for (const json* record : row.ok) {
    const json& samples = (*record)["time"]["samples"][0]["transfer_ns"];
    if (!samples.is_array()) return std::nullopt;
    const auto skipped = skipped_steps(*record);
    const bool none_whole = skipped.size() == samples.size();
    for (std::size_t i = 0; i < samples.size(); ++i)
      if (none_whole || std::find(skipped.begin(), skipped.end(), i) == skipped.end())
        all.push_back(samples[i].get<double>() * 1e-6);
  }
  std::sort(all.begin(), all.end());
  return all.empty() ? std::nullopt : std::optional(all[(all.size() - 1) / 2]);
}

std::vector<std::size_t> skipped_steps(const json& record) {
  std::vector<std::size_t> measured;
  // Behind the measured steps may come some for a witness.
  const auto warmup = record["time"]["warmup_steps_dropped"].get<std::size_t>(),
             end = warmup + record["time"]["step_ns"].size();
  for (const std::size_t step : record["training"].value("skipped_at", std::vector<std::size_t>()))
    if (step >= warmup && step < end) measured.push_back(step - warmup);
  return measured;
}

double part_ms(const Row& row, const std::string& part) {
  return (*row.shown)["time"]["median"][part + "_ns"].get<double>() * 1e-6;
}

int decimals_of_ms(const Group& group) {
  double largest = 0;
  for (const Row& row : group.rows) largest = std::max(largest, row.high_ns * 1e-6);
  return largest < 10 ? 2 : largest < 1000 ? 1 : 0;
}

std::string communication_block(const Group& group, Notes& notes, std::size_t columns) {
  if (group.settings["ranks"].get<int>() < 2) return "";
  const bool both = group.both_overlaps();
  const int decimals = decimals_of_ms(group);
  Block block{
      header("COMMUNICATION, ms", both, {"transfer", "skew", "reduce", "gather", "transfer/ddp"}),
      both ? 2u : 1u,
      {}};
  for (const Row& row : group.rows) {
    if (!row.shown) continue;
    std::string marks = crowded_mark(row);
    const std::string skew = number_or_why((*row.shown)["time"]["median"], "skew_ns", notes, marks,
                                           [&](double ns) { return fixed(ns * 1e-6, decimals); });
    const auto transfer = transfer_ms(row);
    const Row* ddp = group.find("ddp", row.overlap);
    const auto base = ddp && ddp->shown ? transfer_ms(*ddp) : std::nullopt;
    Cells cells = labels(row, both, marks);
    cells.push_back(transfer ? fixed(*transfer, decimals) : missing);
    cells.push_back(skew);
    for (const char* part : {"reduce", "gather"})
      cells.push_back(fixed(part_ms(row, part), decimals));
    cells.push_back(transfer && base ? ratio(*transfer, *base) : missing);
    block.rows.push_back(cells);
  }
  return block.text(columns);
}

std::string overlap_block(const Group& group, Notes& notes, std::size_t columns) {
  const int decimals = decimals_of_ms(group);
  Block block{{"OVERLAP, ms", "step off", "step on", "net gain", "gain %", "backward off",
               "backward on", "hidden", "ideal", "ideal %"},
              1,
              {}};
  for (const Row& off : group.rows) {
    const Row* on = group.find(off.strategy, true);
    if (off.overlap || !off.shown || !on || !on->shown) continue;
    const auto ms = [&](const Row& row, const char* part) {
      return fixed(part_ms(row, part), decimals);
    };
    const double gain = off.step_ns() - on->step_ns();
    // One of the two is enough to make their difference another than on cores of their own.
    std::string mark = crowded_mark(off).empty() ? crowded_mark(*on) : crowded_mark(off);
    const json& median = (*on->shown)["time"]["median"];
    std::string share = missing;
    const std::string ideal = number_or_why(median, "ideal_hidden_ns", notes, mark, [&](double ns) {
      const json& hidden = median["hidden_transfer_ns"];
      if (ns > 0 && hidden.is_number()) share = fixed(100 * hidden.get<double>() / ns, 1);
      return fixed(ns * 1e-6, decimals);
    });
    block.rows.push_back({off.strategy + mark, ms(off, "step"), ms(*on, "step"),
                          (indistinct(off, *on) ? "≈ " : "") + fixed(gain * 1e-6, decimals),
                          fixed(100 * gain / off.step_ns(), 1), ms(off, "backward"),
                          ms(*on, "backward"), ms(*on, "hidden"), ideal, share});
  }
  return block.text(columns);
}

}  // namespace shardmark
