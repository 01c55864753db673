// What do the letters, marks and columns of a table mean? See legend.hpp.
#include "bench/legend.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "bench/blocks.hpp"
#include "bench/link_text.hpp"
#include "bench/registry.hpp"
#include "bench/units.hpp"
#include "bench/watched.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

const std::string beneath(9, ' ');  // the sentences of the legend, not its titles

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
         fmt::format("{}.", fmt::join(each, ", "));
}

bool recomputes(const std::vector<Group>& groups) {
  return any(groups, [](const Group&, const Row& r) {
    return r.shown && (*r.shown)["time"]["median"]["recompute_ns"].get<double>() > 0;
  });
}

std::vector<std::string> time_legend(const std::vector<Group>& groups) {
  std::vector<std::string> lines = {
      fmt::format("TIME     of the round whose step is the median: step = forward{} + backward + "
                  "clip + update + exposed + other. exposed: communication while the rank computed "
                  "nothing; hidden: while it computed, so no part of the sum.",
                  recomputes(groups) ? " + recompute" : ""),
      beneath + interval_text(groups)};
  for (const auto& [text, flag] : {std::pair(traced_text, "--trace"), {profiled_text, "--profile"}})
    if (any(groups,
            [text = text](const Group& g, const Row&) { return watched_text(g.settings) == text; }))
      lines.push_back(
          fmt::format("{}{}, here or below; without {} they are.", beneath, text, flag));
  if (any(groups, [](const Group& g, const Row& r) {
        const Row* ddp = g.find("ddp", r.overlap);
        const Row* off = g.find(r.strategy, false);
        return (ddp && ddp != &r && indistinct(r, *ddp)) ||
               (r.overlap && off && indistinct(r, *off));
      }))
    lines.push_back(beneath +
                    "≈ intervals overlap, so no difference is shown: of step, from ddp's; of net "
                    "gain, step on from off.");
  const auto marked = [](const char* mark) {
    return [mark](const Group&, const Row& r) {
      return crowded_mark(r).find(mark) != std::string::npos;
    };
  };
  if (any(groups, marked("°")))
    lines.push_back(beneath +
                    "° several ranks share one GPU: they take turns on it, so no time of theirs "
                    "says how strategies scale.");
  if (any(groups, marked("*")))
    lines.push_back(beneath +
                    "* more compute and communication threads than cores: ranks with cores of "
                    "their own are faster.");
  return lines;
}

// The blocks between time and rates, where there are any.
std::vector<std::string> communication_legend(const std::vector<Group>& groups) {
  std::vector<std::string> lines;
  if (any(groups, [](const Group& g, const Row& r) {
        return r.shown && g.settings["ranks"].get<int>() > 1;
      }))
    lines.emplace_back(
        "COMMUNICATION  transfer: of a step's collectives, each from the last rank's begin to the "
        "last rank's end; median of all steps and rounds. Of the step and rank in TIME: skew, "
        "waiting for the last rank to begin; reduce, gather, of gradients and of parameters, "
        "waiting "
        "included.");
  if (any(groups, [](const Group& g, const Row& r) {
        const Row* off = g.find(r.strategy, false);
        return r.overlap && r.shown && off && off->shown;
      }))
    lines.emplace_back(
        "OVERLAP  ideal: what would be hidden if every span were as long as it was, less waiting "
        "for the last rank, and began as early as its events allow; ideal %: how much of that "
        "was hidden, less such waiting as well.");
  return lines;
}

// Who counted what moved: a line a witness.
std::string interface_text(const json& interface) {
  const std::string mtu = interface["mtu"].is_number()
                              ? fmt::format("MTU {}", interface["mtu"].get<int>())
                              : "its MTU is not known";
  return fmt::format(
      "the counters of interface {} ({}) in {} steps of their own, less {} bytes of headers a "
      "packet",
      interface["name"].get<std::string>(), mtu, interface["steps"].get<int>(),
      interface["header_bytes_per_packet"].get<int>());
}

std::vector<std::string> witness_legend(const std::vector<Group>& groups) {
  std::set<std::string> witnesses;
  for (const Group& g : groups)
    for (const Row& r : g.rows) {
      const std::string witness = r.shown ? witness_of(*r.shown) : "";
      if (witness == "interface")
        witnesses.insert(interface_text((*r.shown)["traffic"]["interface"]));
      if (witness == "transport") witnesses.insert((*r.shown)["traffic"]["moved_witness"]);
    }
  if (witnesses.empty()) return {};
  return {fmt::format("WITNESS  of what moved: {}. moved/vol: over the ledger's volume, all ranks.",
                      fmt::join(witnesses, "; or "))};
}

// What the bytes went through: nobody may take a pretended wire, or memory, for a network.
std::vector<std::string> link_legend(const std::vector<Group>& groups) {
  std::set<std::string> links;
  bool memory = false;
  for (const Group& g : groups) {
    const std::string link = g.settings.value("link", "none");
    if (link != "none") links.insert(link_in_words(link));
    memory |= link == "none" && g.settings.value("comm", "thread") == "thread" &&
              g.settings["ranks"].get<int>() > 1;
  }
  std::vector<std::string> lines;
  if (!links.empty())
    lines.push_back(fmt::format(
        "LINK     emulated link {}: a token bucket in front of each rank's messages; times are "
        "those of such a wire, not of a network.",
        fmt::join(links, ", ")));
  if (memory)
    lines.push_back((links.empty() ? "LINK     " : beneath) +
                    "thread ranks without a link have memory for a wire; --link 1gbit gives them "
                    "one.");
  return lines;
}

}  // namespace

std::string legend(const std::vector<Group>& groups, const std::string& apart,
                   std::size_t columns) {
  std::vector<std::string> lines = time_legend(groups);
  const auto add = [&](const std::vector<std::string>& more) {
    lines.insert(lines.end(), more.begin(), more.end());
  };
  add(communication_legend(groups));
  lines.push_back(fmt::format(
      "RATES    matrix %: of the rate that the model's bare matrix products reach in the same "
      "process{}. comm. %: communication, hidden or not, of the step.",
      recomputes(groups) ? "; recompute's time is not in it" : ""));
  if (!apart.empty())
    lines.push_back(beneath + "checks: not compared, since they add micro-steps in other orders: " +
                    apart + ".");
  lines.emplace_back(
      "BYTES    what a rank holds. sum: the model states, measured; exact: their formula with "
      "padding; textbook: the formula of P, T (trained) and N alone; peak: all memory at its worst "
      "moment.");
  lines.emplace_back(
      "TRAFFIC  what a rank sends in a step, by the ring's count; moved: what a witness saw "
      "leave.");
  std::vector<std::string> by_unit;
  for (const Group& g : groups)
    for (const Row& r : g.rows)
      if (r.shown && gathers_by_unit(r.strategy) &&
          std::find(by_unit.begin(), by_unit.end(), r.strategy) == by_unit.end())
        by_unit.push_back(r.strategy);
  if (!by_unit.empty())
    lines.push_back(
        fmt::format("{}{}: {}", beneath, fmt::join(by_unit, ", "), gathered_by_unit_text));
  lines.push_back(beneath + "kB, MB, GB are 1e3, 1e6, 1e9 bytes.");
  add(witness_legend(groups));
  add(link_legend(groups));
  std::string text;
  for (const std::string& line : lines) text += wrapped(line, columns, beneath) + "\n";
  return text;
}

}  // namespace shardmark
