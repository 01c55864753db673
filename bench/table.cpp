// What does sharding buy, and what does it cost? See table.hpp; the blocks are in blocks.hpp.
#include "bench/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "bench/blocks.hpp"
#include "bench/registry.hpp"
#include "bench/units.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

std::string times(double count, const char* one, const char* many) {
  return fmt::format("{} {}", grouped(count), count == 1 ? one : many);
}

// "4 MB", not "4.00 MB": somebody has chosen it.
std::string round_bytes(double bytes) {
  const DecimalUnit unit = unit_for(bytes, "B");
  return fmt::format("{:g} {}", bytes / unit.size, unit.name);
}

// A setting in words; empty where there is nothing to say.
std::string setting(const std::string& key, const json& value) {
  if (value.is_null() || key.ends_with("_reason")) return "";
  if (key == "accumulate") return times(value, "micro-step a step", "micro-steps a step");
  if (key == "threads_per_rank") return times(value, "thread a rank", "threads a rank");
  if (key == "steps") return times(value, "step", "steps");
  if (key == "warmup") return times(value, "of warm-up", "of warm-up");
  if (key == "clip")
    return value == 0 ? "no clipping" : fmt::format("norm clipped to {}", value.get<double>());
  if (key == "lr") return fmt::format("learning rate {}", value.get<double>());
  if (key == "seed") return fmt::format("seed {}", value.get<std::uint64_t>());
  if (key == "bucket_bytes")
    return value == 0 ? "a bucket a unit" : "buckets of " + round_bytes(value);
  if (key == "buckets") return times(value, "bucket alive", "buckets alive");
  if (key == "memory_limit_bytes") return "memory limit " + round_bytes(value);
  if (key == "all_reduce") return value.get<std::string>() + " all-reduce";
  if (key == "device") return "device " + value.get<std::string>();
  if (key == "comm") return value.get<std::string>() + " ranks";
  if (key == "data") {
    std::string files;
    for (const json& file : value) files += " " + file.get<std::string>();
    return files.empty() ? "" : "data" + files;
  }
  if (key == "inject") return value == "" ? "" : "fault on purpose: " + value.get<std::string>();
  if (key == "timeout_s") return fmt::format("timeout {} s", value.get<double>());
  if (key == "comm_timeout_s") return fmt::format("collectives' timeout {} s", value.get<double>());
  return key + " " + value.dump();
}

const std::string beneath(9, ' ');  // the sentences of the legend, not its titles
constexpr const char* in_title[] = {"model", "ranks", "batch", "sequence"};
constexpr const char* shown_first[] = {
    "device", "comm", "threads_per_rank", "steps",       "warmup", "accumulate", "clip",
    "lr",     "seed", "buckets",          "bucket_bytes"};
// Of no interest unless they differ, since they decide only when a cell is given up.
constexpr const char* unremarkable[] = {"timeout_s", "comm_timeout_s"};

template <class List>
bool contains(const List& list, const std::string& key) {
  return std::find(std::begin(list), std::end(list), key) != std::end(list);
}

bool differs(const std::vector<Group>& groups, const std::string& key) {
  return std::any_of(groups.begin(), groups.end(), [&](const Group& g) {
    return g.settings.value(key, json()) != groups.front().settings.value(key, json());
  });
}

std::string joined(const std::vector<std::string>& parts, const char* between = ", ") {
  std::string all;
  for (const std::string& part : parts)
    if (!part.empty()) all += (all.empty() ? "" : between) + part;
  return all;
}

std::string common_settings(const std::vector<Group>& groups) {
  std::vector<std::string> parts;
  const json& settings = groups.front().settings;
  std::vector<std::string> keys(std::begin(shown_first), std::end(shown_first));
  for (const auto& [key, value] : settings.items())
    if (!contains(keys, key)) keys.push_back(key);
  for (const std::string& key : keys)
    if (!contains(in_title, key) && !contains(unremarkable, key) && !differs(groups, key))
      parts.push_back(setting(key, settings.value(key, json())));
  return joined(parts);
}

std::string title(const Group& group, const std::vector<Group>& groups) {
  const json& s = group.settings;
  std::vector<std::string> parts = {
      s["model"], times(s["ranks"], "rank", "ranks"),
      fmt::format("{} x {} tokens a rank", s["batch"].get<int>(), s["sequence"].get<int>())};
  for (const Row& row : group.rows)
    if (row.shown) {
      parts.push_back(grouped((*row.shown)["bytes"]["parameters"]) + " parameters");
      break;
    }
  for (const auto& [key, value] : s.items())
    if (!contains(in_title, key) && differs(groups, key)) parts.push_back(setting(key, value));
  return joined(parts, "  ·  ");
}

std::string machine_line(const json& m) {
  std::vector<std::string> parts = {m.value("cpu", json()).is_string() ? m["cpu"].get<std::string>()
                                                                       : "unknown processor"};
  if (m.value("cores_usable", json()).is_number())
    parts.push_back(times(m["cores_usable"], "core", "cores"));
  if (m.value("instruction_set", json()).is_string()) parts.push_back(m["instruction_set"]);
  if (m.contains("libraries")) parts.push_back(m["libraries"].value("matrix", ""));
  if (m.contains("build")) {
    parts.push_back(m["build"].value("compiler", ""));
    parts.push_back(m["build"].value("type", ""));
  }
  return joined(parts);
}

std::string heading(const std::vector<json>& records, const std::vector<Group>& groups,
                    std::size_t columns) {
  const json& first = records.front();
  std::string commit = "no commit known";
  if (first["commit"].is_string()) {
    commit = "commit " + first["commit"].get<std::string>().substr(0, 10);
    if (first["dirty"].is_boolean() && first["dirty"].get<bool>()) commit += " with changes";
  }
  const std::size_t rounds = rounds_of(groups);
  std::string text =
      joined({"shardmark", "suite " + first["suite"].get<std::string>(),
              times(static_cast<double>(rounds), "round", "rounds in random order"), commit},
             "  ·  ");
  text += "\n" + wrapped(machine_line(first["machine"]), columns);
  text += "\n" + wrapped(common_settings(groups), columns) + "\n";
  return text;
}

bool any(const std::vector<Group>& groups,
         const std::function<bool(const Group&, const Row&)>& holds) {
  for (const Group& group : groups)
    for (const Row& row : group.rows)
      if (holds(group, row)) return true;
  return false;
}

// With what chance does low..high hold the true median?
std::string interval_text(const std::vector<Group>& groups) {
  const std::set<std::size_t> counts = interval_rounds(groups);
  if (counts.empty())
    return rounds_of(groups) > 1
               ? "no row has two rounds that ended, so there is no interval: differences may be "
                 "chance."
               : "one round has no interval: differences may be chance; --rounds 5 tells them "
                 "apart.";
  const auto chance = [](std::size_t n) {
    return fmt::format("{:.4g} %", 100 * (1 - std::pow(2.0, 1 - static_cast<double>(n))));
  };
  if (counts.size() == 1)
    return fmt::format(
        "low..high: of {0} rounds; holds the true median with a chance of {1} (1 - 2/2^{0}).",
        *counts.begin(), chance(*counts.begin()));
  std::vector<std::string> each;
  for (const std::size_t n : counts) each.push_back(fmt::format("{} for {}", chance(n), n));
  return "low..high: holds the true median with a chance of 1 - 2/2^n, where n of the row's rounds "
         "came to their end: " +
         joined(each) + ".";
}

std::vector<std::string> time_legend(const std::vector<Group>& groups) {
  const bool recompute = any(groups, [](const Group&, const Row& r) {
    return r.shown && (*r.shown)["time"]["median"]["recompute_ns"].get<double>() > 0;
  });
  std::vector<std::string> lines = {
      fmt::format("TIME     of the round whose step is the median: step = forward{} + backward + "
                  "clip + update + exposed + other. exposed: communication while the rank computed "
                  "nothing; hidden: while it computed, so no part of the sum.",
                  recompute ? " + recompute" : ""),
      beneath + interval_text(groups)};
  if (any(groups, [](const Group& g, const Row& r) {
        const Row* ddp = g.find("ddp", r.overlap);
        const Row* off = g.find(r.strategy, false);
        return (ddp && ddp != &r && indistinct(r, *ddp)) ||
               (r.overlap && off && indistinct(r, *off));
      }))
    lines.push_back(beneath +
                    "≈ intervals overlap, so no difference is shown: of step, from ddp's; of net "
                    "gain, step on from off.");
  if (any(groups, [](const Group&, const Row& r) { return !crowded_mark(r).empty(); }))
    lines.push_back(beneath +
                    "* more compute and communication threads than cores: ranks with cores of "
                    "their own are faster.");
  return lines;
}

// apart: the strategies that were not compared, see not_compared().
std::string legend(const std::vector<Group>& groups, const std::string& apart,
                   std::size_t columns) {
  std::vector<std::string> lines = time_legend(groups);
  lines.emplace_back(
      "RATES    matrix %: of the rate that the model's bare matrix products reach in the same "
      "process. comm. %: communication, hidden or not, of the step.");
  if (!apart.empty())
    lines.push_back(beneath + "checks: not compared, since they add micro-steps in other orders: " +
                    apart + ".");
  lines.emplace_back(
      "BYTES    what a rank holds. sum: the model states, measured; exact: their formula with "
      "padding; textbook: the formula of P and N alone; peak: all memory at its worst moment.");
  lines.emplace_back(
      "TRAFFIC  what a rank sends in a step, by the ring's count; moved: what the transport itself "
      "saw leave.");
  std::vector<std::string> by_unit;
  for (const Group& g : groups)
    for (const Row& r : g.rows)
      if (r.shown && gathers_by_unit(r.strategy) && !contains(by_unit, r.strategy))
        by_unit.push_back(r.strategy);
  if (!by_unit.empty()) lines.push_back(beneath + joined(by_unit) + ": " + gathered_by_unit_text);
  lines.push_back(beneath + "kB, MB, GB are 1e3, 1e6, 1e9 bytes.");
  std::string text;
  for (const std::string& line : lines) text += wrapped(line, columns, beneath) + "\n";
  return text;
}

}  // namespace

std::string table(const std::vector<json>& records, int columns) {
  if (records.empty()) return "no records\n";
  const auto width = static_cast<std::size_t>(std::max(columns, 80));
  const std::vector<Group> groups = summarize(records);
  const std::vector<Finding> findings = cross_checks(records);
  Notes notes;
  std::string text = heading(records, groups, width);
  for (const Group& group : groups) {
    text += "\n" + wrapped(title(group, groups), width, "  ") + "\n";
    for (const std::string& block :
         {time_block(group, notes, width), overlap_block(group, width),
          rates_block(group, findings, notes, width), bytes_block(group, notes, width),
          traffic_block(group, notes, width)})
      if (!block.empty()) text += "\n" + block;
  }
  text += "\n";
  const auto& sentences = notes.sentences();
  for (std::size_t i = 0; i < sentences.size(); ++i)
    text += wrapped(Notes::number(i + 1) + " " + sentences[i], width, "  ") + "\n";
  if (!sentences.empty()) text += "\n";
  return text + legend(groups, not_compared(records), width);
}

}  // namespace shardmark
