#pragma once
// Which strategy is to be taken for a model on so many GPUs of so much memory, what binds it, and
// what is the smallest change of memory, link or GPUs that would change the answer? A search over
// predictions: bytes from the claims, times from the strategy's own step on the cluster's clock.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/prediction.hpp"

namespace shardmark {

struct Question {
  Cell cell;           // whose strategy is asked for; recompute, batch and prefetch as a start
  Cluster cluster;     // with the memory and the link that are asked about
  double reserve = 0;  // bytes of a GPU's memory that are kept for others
  // What was said and is not to be varied.
  bool recompute_given = false, prefetch_given = false;
  bool cluster_given = false;  // else only memory and link are of the one that is asked about
  bool bandwidth_given = false;
  double room() const { return cluster.memory_bytes - reserve; }
};

// A strategy with its settings. Every choice of a question has as many tokens a step.
struct Choice {
  Prediction prediction;
  double over_bytes = 0;  // what the peak has more than there is room; at most 0: it fits
  bool naive = false;     // there to compare with, never advised
  bool fits() const { return over_bytes <= 0; }
  double step_ns() const { return static_cast<double>(prediction.time->step.step_ns); }
  const std::string& strategy() const { return prediction.cell.strategy; }
};

// A rate at which another strategy is surely faster, by which of its settings.
struct Turn {
  double bytes_per_ns = 0;
  std::string strategy;
  double step_ns = 0, step_ns_of_best = 0;  // at this rate
};

struct Advice {
  Question question;
  std::vector<Choice> tried;        // by strategy, naive ones last
  std::optional<std::size_t> best;  // answer_of() them
  std::vector<std::size_t> ties;  // other strategies that fit and are no slower than by `distinct`
  std::size_t smallest = 0;       // the lowest peak
  // Do not fit and are faster than the best: what needs least memory, and what is fastest.
  std::optional<std::size_t> next_faster, fastest;
  std::optional<Turn> slower_link, faster_link;
  // On other numbers of GPUs there are as many tokens a GPU. Of each lower stage that does not fit:
  // the first of twice, four times ... as many GPUs where it does; where it does on none up to
  // most_gpus, what misses least.
  std::vector<Choice> lower_stages;
  // The fewest GPUs, by halves, that would do, and what misses least on half of them; where nothing
  // fits, the first of twice, four times ... as many where something does, or what misses least.
  std::optional<Choice> fewest, half_of_fewest, more;
  std::optional<Choice> other_recompute, shorter;  // where nothing fits: fits with that changed
};
// Steps that differ by less are called equal: no prediction is so sure.
inline constexpr double distinct = 0.01;
inline constexpr double widest_link = 64;  // times and parts of the link, between which is searched
inline constexpr double link_step = 1.4142135623730951;  // from one rate that is tried to the next

// Throws InputError: the cell cannot be predicted.
Advice advise(const Question&);

// Which rate is asked about: where ranks are on several nodes that between them, else that inside
// of one; of one rank, that to a second one.
bool is_between_nodes(const Cluster&, std::int64_t ranks);
double link_rate(const Cluster&, std::int64_t ranks);  // bytes a ns
Cluster with_link_rate(Cluster, std::int64_t ranks, double bytes_per_ns);

// Every bucket is run dry many times: few large ones where nobody said how large.
std::uint64_t advised_bucket_bytes(const Prediction&);
// Throws InputError where there are too many, or too many layers in all micro-steps.
void check_calls(const Prediction&);

nlohmann::json to_json(const Advice&);
std::string advice_text(const Advice&);
std::string advice_table(const Advice&);   // what was tried
std::string advice_legend(const Advice&);  // the words of the table, without a line's end

}  // namespace shardmark
