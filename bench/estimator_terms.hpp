#pragma once
// What do DeepSpeed's estimators and the textbook count for a cell, term by term, and why is that
// not what a rank holds? The textbook's terms and the exact ones are the claims of the prediction.
#include <optional>
#include <string>
#include <vector>

#include "bench/prediction.hpp"

namespace shardmark {

struct EstimatorsShown {
  bool any = false;  // the exact bytes stand beside whatever is asked for
  bool deepspeed = false, textbook = false;
};
EstimatorsShown estimators_named(const std::string& typed);  // "deepspeed,exact"; or InputError

enum class Reason {
  none,
  types,
  copy,
  layer,
  frozen,
  whole,
  padding,
  passing,
  activations,
  stages
};

struct Estimated {
  std::string formula;  // "2P/N"
  double bytes = 0;
};
struct EstimatorTerm {
  std::string what;
  std::optional<Estimated> deepspeed, textbook;  // nothing: it counts none
  double exact = 0;
  std::vector<Reason> deepspeed_reasons, textbook_reasons;  // why it is not the exact one
};
struct Estimate {
  std::vector<EstimatorTerm> terms;
  EstimatorTerm sum;
  std::string largest_layer;  // L, of stage 3: its name and elements
  double largest_elements = 0;
};
Estimate estimate(const Prediction&);
// One sentence, for whoever reads the table.
std::string reason_text(Reason);

nlohmann::json estimators_json(const Prediction&, const EstimatorsShown&);
// A table a cell, and what its letters mean once.
std::string estimators_text(const std::vector<Prediction>&, const EstimatorsShown&);

}  // namespace shardmark
