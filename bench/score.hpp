#pragma once
// How good are predictions? Runs of a machine against what its own cluster file predicts for them,
// cell by cell and phase by phase.
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "impl/cluster.hpp"

namespace shardmark {

struct ScoredPart {
  // forward, backward (with what is computed again), update (with clip), and what is exposed of
  // transfers: waiting for a slower rank is nothing that a cluster's figures could say.
  std::string name;
  double measured_ns = 0, predicted_ns = 0;
};

struct Scored {
  std::string id;
  std::string why_not;  // one sentence where it is not scored; the figures below are 0 then
  double measured_ns = 0, predicted_ns = 0;  // the step
  std::vector<ScoredPart> parts;
  double error() const { return predicted_ns / measured_ns - 1; }
  // None where the part is less than `least_part` of the step: its error would say nothing.
  std::optional<double> error_of(const ScoredPart&) const;
};

struct Score {
  std::vector<Scored> cells;
  // Of two strategies whose measured steps surely differ, in all rounds and by least_difference,
  // and nothing else of their cells: how often is the faster one predicted to be?
  std::size_t pairs = 0, right = 0;
  Score& operator+=(const Score&);  // of another run
  std::size_t scored() const;
  // q of all |errors|: 0.5 is the median, 1 the worst; 0 where nothing is scored.
  double step_error(double q) const;
  // The same of one part, in cells where it has an error; none: nowhere.
  std::optional<double> part_error(const std::string& part, double q) const;
};
inline constexpr double least_part = 0.05, least_difference = 0.01;

// records: of one run. link: what connects ranks that are processes, as --link writes
// it; empty: not known, and they are not scored.
Score score(const std::vector<nlohmann::json>& records, const Cluster&,
            const std::string& link = "");

std::string score_text(const Score&, const Cluster&);
nlohmann::json to_json(const Score&, const Cluster&);

}  // namespace shardmark
