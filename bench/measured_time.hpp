#pragma once
// Where did the time of the measured steps go? The record's "time", and the step that stands for
// all others.
#include <nlohmann/json.hpp>

#include "impl/train.hpp"

namespace shardmark {

struct Median {
  int step = 0, rank = 0;
};

// The measured step whose time (the maximum over ranks) is the lower median, and its slowest rank.
Median median_of(const Training&, const TrainingReport&);

nlohmann::json time_section(const Training&, const TrainingReport&, Median);

}  // namespace shardmark
