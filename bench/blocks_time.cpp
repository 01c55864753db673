// Which columns do the blocks of time and rates have? See blocks.hpp.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "bench/blocks.hpp"
#include "bench/units.hpp"

namespace shardmark {

using nlohmann::json;

namespace {

// started: and then nothing more was heard of it.
bool failed(const json* record) {
  return (*record)["status"] == "failed" || (*record)["status"] == "started";
}
bool some_failed(const Row& row) {
  return std::any_of(row.not_ok.begin(), row.not_ok.end(), failed);
}

// Why rounds did not come to their end: a mark a reason.
std::string failure_marks(const Row& row, Notes& notes) {
  const bool any = some_failed(row);
  std::map<std::string, std::vector<std::string>> rounds;  // by reason
  for (const json* record : row.not_ok)
    // Rounds skipped because an earlier one failed have no reason of their own.
    if (!any || failed(record))
      rounds[record->value("reason", "no reason given")].push_back((*record)["round"].dump());
  std::size_t told = 0;
  for (const auto& [reason, list] : rounds) told += list.size();
  std::string marks;
  for (const auto& [reason, list] : rounds)
    marks += notes.mark(fmt::format("{} in round{} {} of {}{}: {}", any ? "failed" : "skipped",
                                    list.size() == 1 ? "" : "s", fmt::join(list, ", "),
                                    row.ok.size() + row.not_ok.size(),
                                    told < row.not_ok.size() ? ", then skipped" : "", reason));
  return marks;
}

std::string skipped_mark(const Row& row, Notes& notes) {
  std::size_t skipped = 0, steps = 0;
  for (const json* record : row.ok) {
    skipped += skipped_steps(*record).size();
    steps += (*record)["time"]["step_ns"].size();
  }
  if (skipped == 0) return "";
  return notes.mark(
      fmt::format("{} of {} measured steps were skipped: gradients were not finite{}", skipped,
                  steps, skipped == steps ? "; nothing was trained" : "; times are of the others"));
}

// What other cells contradict: a mark a check, with the first of its sentences.
std::string finding_marks(const Row& row, const std::vector<Finding>& findings, Notes& notes) {
  std::string marks;
  std::set<std::string> seen;
  for (const Finding& f : findings)
    if (f.cell == row.id && seen.insert(f.check).second)
      marks += notes.mark(fmt::format("{} is false: {}", f.check, f.sentence));
  return marks;
}

}  // namespace

std::string time_block(const Group& group, Notes& notes, std::size_t columns) {
  const bool both = group.both_overlaps();
  const int decimals = decimals_of_ms(group);
  bool interval = false, recompute = false;
  for (const Row& row : group.rows) {
    interval |= row.ok.size() > 1;
    recompute |= row.shown && part_ms(row, "recompute") > 0;
  }
  Cells parts = {"forward", "backward", "clip", "update", "exposed", "other", "hidden"};
  if (recompute) parts.insert(parts.begin() + 1, "recompute");
  Cells rest = {"step"};
  if (interval) rest.emplace_back("low..high");
  rest.insert(rest.end(), parts.begin(), parts.end());

  Block block{header("TIME, ms", both, rest), both ? 2u : 1u, {}};
  for (const Row& row : group.rows) {
    Cells cells =
        labels(row, both, crowded_mark(row) + failure_marks(row, notes) + skipped_mark(row, notes));
    const Row* ddp = group.find("ddp", row.overlap);
    const bool alike = ddp && ddp != &row && indistinct(row, *ddp);
    cells.push_back(!row.shown ? (some_failed(row) ? "failed" : "skipped")
                               : (alike ? "≈ " : "") + fixed(row.step_ns() * 1e-6, decimals));
    if (interval)
      cells.push_back(row.ok.size() < 2 ? missing
                                        : fmt::format("{}..{}", fixed(row.low_ns * 1e-6, decimals),
                                                      fixed(row.high_ns * 1e-6, decimals)));
    for (const std::string& part : parts)
      cells.push_back(row.shown ? fixed(part_ms(row, part), decimals) : missing);
    block.rows.push_back(cells);
  }
  return block.text(columns);
}

std::string rates_block(const Group& group, const std::vector<Finding>& findings, Notes& notes,
                        std::size_t columns) {
  const bool both = group.both_overlaps();
  const auto share = [](double v) { return fixed(100 * v, 1); };
  const auto written = [](const json& v) {
    return v.is_number() ? readable(v.get<double>(), 3) : "not finite";
  };
  Block block{
      header("RATES", both,
             {"tokens/s", "time/ddp", "matrix %", "comm. %", "exposed %", "loss", "checks"}),
      both ? 2u : 1u,
      {}};
  for (const Row& row : group.rows) {
    if (!row.shown) continue;
    const json& rates = (*row.shown)["rates"];
    const Row* ddp = group.find("ddp", row.overlap);
    const json& loss = (*row.shown)["training"]["loss"];
    std::string marks;
    Cells values = {number_or_why(rates, "tokens_per_second", notes, marks,
                                  [](double v) { return grouped(v); }),
                    ratio(row.step_ns(), ddp ? ddp->step_ns() : 0),
                    number_or_why(rates, "matrix_share", notes, marks, share),
                    number_or_why(rates, "communication_share", notes, marks, share),
                    number_or_why(rates, "exposed_share", notes, marks, share),
                    loss.empty() ? missing : written(loss.front()) + " → " + written(loss.back())};
    const std::string failed =
        check_marks(row,
                    {"bytes_exact", "traffic_exact", "moved_agrees", "ranks_agree", "nothing_left",
                     "norms_agree", "loss_finite", "trained"},
                    notes) +
        finding_marks(row, findings, notes);
    values.emplace_back(failed.empty() ? "ok" : "FAILED");
    Cells cells = labels(row, both, crowded_mark(row) + marks + failed);
    cells.insert(cells.end(), values.begin(), values.end());
    block.rows.push_back(cells);
  }
  return block.text(columns);
}

}  // namespace shardmark
