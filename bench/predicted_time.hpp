#pragma once
// How long would a step take on a cluster that is not here? The strategy's own step on the dry
// device, by the cluster's clock: what is hidden follows from the events, not from a formula.
#include <map>
#include <string>

#include "bench/cell.hpp"
#include "impl/cluster.hpp"
#include "impl/dry_run.hpp"
#include "profilers/breakdown.hpp"

namespace shardmark {

struct PredictedTime {
  StepTimes step;
  // What would have to be faster, by words for people, and its part of the step; without `other`.
  std::map<std::string, double> shares;
  double tokens_per_s = 0;  // all ranks
  // Of the forward and backward products, recomputed ones not counted, over the peak of all ranks;
  // 0 where the cluster has no rate for the type.
  double mfu = 0;
  std::pair<std::string, double> binds() const;  // the largest share
};

// The cluster that a cell sees: an emulated link is the only one it has.
Cluster cluster_for(Cluster, const Cell&);
// held_bytes: of one rank.
Placement placement_of(const Cluster&, const Cell&, double held_bytes);
// What a prediction for this cell does not know of this cluster, a sentence; empty: nothing.
std::string caveat_of(const Cluster&, const Cell&);

// Makes the clock of a dry run, and reads it afterwards.
class ClusterClock {
 public:
  ClusterClock(const Cluster&, const Placement&);
  ClusterClock(const ClusterClock&) = delete;
  ClusterClock& operator=(const ClusterClock&) = delete;
  DryClock clock();
  static constexpr int steps = 3;  // that are run dry: the one in the middle is any step
  PredictedTime read(const DryReport&, double flops_per_step, double tokens_per_step, DType) const;

 private:
  const Cluster& cluster_;
  Placement placement_;
  Cost compute_, collectives_;
};

}  // namespace shardmark
