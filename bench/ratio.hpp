#pragma once
// By what factor do two sets of times differ, and how sure is that? All ratios of one of head to
// one of base, sorted: their median is the estimate (Hodges and Lehmann), and an interval runs from
// the k-th smallest to the k-th largest, k from the distribution of the rank-sum statistic (Moses;
// Hollander and Wolfe, Nonparametric Statistical Methods, ch. 4). No seed, no normal distribution:
// from 3 rounds a side on. It takes rounds as independent of each other; a machine that drifts
// between two runs is a difference to it, so interleave them where that matters.
#include <optional>
#include <string>
#include <vector>

namespace shardmark {

struct Ratio {
  double estimate = 1;  // head / base
  bool has_interval = false;
  double low = 1, high = 1, confidence = 0;  // of the interval: how often it holds the true ratio
};

enum class Verdict { same, faster, slower, ambiguous, missing, added, untimed };
std::string name(Verdict);  // SAME, FASTER, SLOWER, AMBIGUOUS, MISSING, NEW, UNTIMED

// How many times of a side are compared at most: all pairs are made.
inline constexpr std::size_t most_rounds = 2000;

// Both of at least one time above 0 and at most most_rounds. 95 % where rounds are enough for it;
// else all pairs, and what that is worth; no interval below 90 % or from a single round.
Ratio ratio_of(const std::vector<double>& base, const std::vector<double>& head);

// threshold: a fraction, such as 0.03. A ratio between 1 / (1 + threshold) and 1 + threshold is the
// same: what is slower one way round is faster the other way round.
Verdict verdict_of(const Ratio&, double threshold);

}  // namespace shardmark
