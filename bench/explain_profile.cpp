// What did the GPUs of one profiled cell do, beside what events said? See explain_parts.hpp.
#include <fmt/format.h>

#include "bench/explain_parts.hpp"
#include "bench/record.hpp"
#include "bench/units.hpp"

namespace shardmark::explained {

using nlohmann::json;

namespace {

std::string ms(const json& ns) { return fmt::format("{:.3f}", ns.get<double>() * 1e-6); }

std::string by_part(const json& p) {
  Grid grid(1);
  grid.row({"  ", "by events, ms", "by activities, ms"});
  for (const char* part : {"forward", "recompute", "backward", "clip", "update", "reduce", "gather",
                           "communication", "exposed", "hidden", "other", "step"}) {
    const std::string key = fmt::format("{}_ns", part);
    grid.row({fmt::format("  {}", part), ms(p["by_events"][key]), ms(p["by_activities"][key])});
  }
  return grid.text();
}

std::string by_rank(const json& p) {
  Grid grid(1);
  grid.row({"  rank, all steps", "activities", "ms", "of NCCL", "ms", "calls", "idle spans"});
  for (const json& r : p["ranks"])
    grid.row({fmt::format("  {}", r["rank"].get<int>()), whole(r["activities"]["count"]),
              ms(r["activities"]["time_ns"]), whole(r["nccl"]["count"]), ms(r["nccl"]["time_ns"]),
              whole(r["calls"]["count"]), whole(r["idle_spans"])});
  return grid.text();
}

}  // namespace

std::string profile_section(const json& r) {
  const json& p = r["profile"];
  std::string text =
      fmt::format("PROFILE of step {} on rank {}, by {}\n\n{}\n{}", p["step"].get<int>(),
                  p["rank"].get<int>(), text_at(p, "library"), by_part(p), by_rank(p));
  const json& ratio = p["profiled_over_plain"];
  text += wrapped(fmt::format("  a step with the recorder over one without: {}",
                              ratio.is_number()
                                  ? fmt::format("{:.3f}, {} ms over {} ms", ratio.get<double>(),
                                                ms(p["profiled_step_ns"]), ms(p["plain_step_ns"]))
                                  : why(p, "profiled_over_plain")),
                  columns, "  ") +
          "\n";
  for (const json& rank : p["ranks"])
    for (const json& sentence : rank["missing"])
      text += wrapped(fmt::format("  rank {}: {}", rank["rank"].get<int>(),
                                  sentence.get<std::string>()),
                      columns, "  ") +
              "\n";
  return text;
}

}  // namespace shardmark::explained
