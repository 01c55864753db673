#pragma once
// What would a run of this cell hold and send, on ranks and with models that need not be here?
// Bytes and calls come from the claims that every run is held against: there is no second set of
// formulas.
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/cell.hpp"
#include "bench/predicted_time.hpp"
#include "impl/models/model_config.hpp"

namespace shardmark {

// By the exact claim, what one rank holds of all kinds together, each at its own worst moment.
double held_bytes(const Claims&);

struct Prediction {
  Cell cell;
  std::shared_ptr<const ModelConfig> model;  // one for all cells of a model and batch shape
  Claims claims;
  double flops_per_step = 0;   // one rank, forward + backward
  double tokens_per_step = 0;  // all ranks
  // One rank, everything at the worst moment. Exact where the step was run on the dry device, as it
  // is while that takes milliseconds; else the sum of all peaks, each at its own worst moment: no
  // run holds more.
  double peak_bytes = 0;
  bool peak_exact = false;
  std::optional<PredictedTime> time;  // where there is a cluster
  double held_bytes(Tag) const;       // exact claim, all element types
  double model_state_bytes() const;
  double volume_bytes() const;  // a step, all verbs
};

// cells: of predicted_cells_of(). Throws InputError where one cannot be.
std::vector<Prediction> predict(const std::vector<Cell>& cells, const std::optional<Cluster>& = {});

// The same cell on another cluster, which changes none of its bytes.
PredictedTime time_on(const Cluster&, const Prediction&);

nlohmann::json to_json(const Prediction&);

}  // namespace shardmark
