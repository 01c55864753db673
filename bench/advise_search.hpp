#pragma once
// What does advise try, for a strategy and a number of GPUs? And which change of the question is
// searched for, once the answer is known?
#include <functional>

#include "bench/advise.hpp"

namespace shardmark {

class AdviseSearch {
 public:
  AdviseSearch(const Question& q, const ModelConfig& model) : q_(q), model_(model) {}

  // As asked for; and where that does not fit, with recompute and in smaller micro-batches, until
  // nothing more can be gained. The last one has the lowest peak where none fits.
  std::vector<Choice> tries(const std::string& strategy, std::int64_t ranks) const;
  static std::vector<std::string> strategies();  // by stage, naive ones last
  // The fastest that fits, or the lowest stage that no prediction tells apart from it: on one GPU
  // the lowest, where all stages are the same. all: by stage. None: nothing fits.
  static std::optional<std::size_t> answer_of(const std::vector<Choice>& all);

  void take_turns(Advice&) const;
  void take_lower_stages(Advice&) const;
  void take_fewest(Advice&) const;
  void take_way_out(Advice&) const;  // where nothing fits

 private:
  Choice choice(const Cell&) const;
  Cell start(const std::string& strategy, std::int64_t ranks) const;
  Choice leanest(Cell) const;
  // All claims together.
  double held(const std::string& strategy, std::int64_t ranks, bool states_alone) const;
  // Twice, four times ... as many ranks, where a strategy holds least; as many, where none helps.
  std::int64_t least_at(const std::string& strategy) const;
  bool can_fit(const std::string& strategy, std::int64_t ranks) const;
  std::vector<std::string> can_fit(std::vector<std::string> strategies, std::int64_t ranks) const;
  void take_more(Advice&) const;
  // Of strategies some of which fit.
  Choice best_of(const std::vector<std::string>& strategies, std::int64_t ranks) const;

  const Question& q_;
  const ModelConfig& model_;
};

}  // namespace shardmark
