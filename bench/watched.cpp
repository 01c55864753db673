// Was a run watched while it trained? See watched.hpp.
#include "bench/watched.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace shardmark {

std::string watched_text(const nlohmann::json& cell) {
  if (cell.value("trace", false)) return traced_text;
  return cell.value("profile", "none") == "none" ? "" : profiled_text;
}

void watch_all(Suite& suite, bool trace, const std::string& profile, const std::string& rounds) {
  for (Cell& c : suite.cells) {
    c.trace = c.trace || trace;
    if (profile.empty()) continue;
    c.profile = profile;
    check_device(c);
  }
  const auto any = [&suite](auto&& watched) {
    return std::any_of(suite.cells.begin(), suite.cells.end(), watched);
  };
  const bool traced = any([](const Cell& c) { return c.trace; });
  if (!traced && !any([](const Cell& c) { return c.profile != "none"; })) return;
  if (!rounds.empty() && suite.run.rounds > 1)
    suite.notes.push_back(
        fmt::format("a {} run makes one round, not the {} of --rounds: its times are not "
                    "measurements.",
                    traced ? "traced" : "profiled", suite.run.rounds));
  suite.run.rounds = 1;
}

}  // namespace shardmark
