// How good are predictions, for people and for pages? See score.hpp.
#include <fmt/format.h>

#include <cmath>
#include <map>

#include "bench/score.hpp"
#include "bench/text.hpp"
#include "bench/units.hpp"

namespace shardmark {
namespace {

using nlohmann::json;

constexpr std::size_t columns = 100;
constexpr const char* part_names[] = {"forward", "backward", "update", "exposed"};

std::string counted(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string signed_percent(double share) { return fmt::format("{:+.1f}", share * 100); }

std::string table(const Score& score) {
  Grid grid(1);
  grid.row({"", "measured", "predicted", "error", "forward", "backward", "update", "exposed"});
  grid.row({"cell", "ms", "ms", "%", "%", "%", "%", "%"});
  for (const Scored& s : score.cells) {
    if (!s.why_not.empty()) continue;
    std::vector<std::string> row = {"  ", readable(s.measured_ns * 1e-6, 2),
                                    readable(s.predicted_ns * 1e-6, 2), signed_percent(s.error())};
    for (const ScoredPart& p : s.parts) {
      const auto error = s.error_of(p);
      row.push_back(error ? signed_percent(*error) : "·");
    }
    grid.row({s.id});
    grid.row(std::move(row));
  }
  return grid.text();
}

// Cells that are not scored, by reason.
std::string left_out(const Score& score) {
  std::map<std::string, std::size_t> reasons;
  for (const Scored& s : score.cells)
    if (!s.why_not.empty()) ++reasons[s.why_not];
  std::string text;
  for (const auto& [why, count] : reasons)
    text += wrapped(fmt::format("{} {} not scored: {}.", count,
                                count == 1 ? "cell is" : "cells are", why),
                    columns) +
            "\n";
  return text;
}

}  // namespace

std::string score_text(const Score& score, const Cluster& c) {
  if (score.scored() == 0) return left_out(score);
  std::string text = table(score) + "\n";
  text += wrapped(fmt::format("{} against {}: |error| of the step {} in the median, {} at worst.",
                              counted(score.scored(), "cell"), c.name,
                              percent(score.step_error(0.5)), percent(score.step_error(1))),
                  columns) +
          "\n";
  std::vector<std::string> parts;
  for (const char* part : part_names)
    if (const auto middle = score.part_error(part, 0.5))
      parts.push_back(
          fmt::format("{} {}, {}", part, percent(*middle), percent(*score.part_error(part, 1))));
  if (!parts.empty())
    text += wrapped("By part, where it is at least a twentieth of the step, median and worst: " +
                        join(parts, "; ") + ".",
                    columns) +
            "\n";
  if (score.pairs > 0)
    text +=
        wrapped(
            fmt::format(
                "Of {} of strategies whose steps surely differ, the faster one is predicted in {} "
                "({}).",
                counted(score.pairs, "pair"), score.right,
                percent(static_cast<double>(score.right) / static_cast<double>(score.pairs), 0)),
            columns) +
        "\n";
  return text + left_out(score);
}

json to_json(const Score& score, const Cluster& c) {
  json cells = json::array(), parts = json::object();
  for (const Scored& s : score.cells) {
    json cell = {{"id", s.id}};
    if (!s.why_not.empty()) {
      cell["why_not"] = s.why_not;
    } else {
      cell["measured_ns"] = s.measured_ns, cell["predicted_ns"] = s.predicted_ns;
      cell["error"] = s.error();
      for (const ScoredPart& p : s.parts) {
        const auto error = s.error_of(p);
        cell["parts"][p.name] = {{"measured_ns", p.measured_ns},
                                 {"predicted_ns", p.predicted_ns},
                                 {"error", error ? json(*error) : json()}};
      }
    }
    cells.push_back(std::move(cell));
  }
  for (const char* part : part_names)
    if (const auto middle = score.part_error(part, 0.5))
      parts[part] = {{"median", *middle}, {"worst", *score.part_error(part, 1)}};
  return {{"cluster", c.name},
          {"scored", score.scored()},
          {"median", score.scored() > 0 ? json(score.step_error(0.5)) : json()},
          {"worst", score.scored() > 0 ? json(score.step_error(1)) : json()},
          {"parts", parts},
          {"pairs", score.pairs},
          {"right", score.right},
          {"cells", cells}};
}

}  // namespace shardmark
