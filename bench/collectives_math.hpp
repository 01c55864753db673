#pragma once
// What do the times of a verb say about the wire? Bandwidths as they are usually given, the memory
// traffic of thread ranks, and a line through times by size: time = alpha + beta x bytes.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "profilers/words.hpp"

namespace shardmark {

// busbw / algbw, where algbw is payload over time: 2(N-1)/N for an all-reduce, (N-1)/N for the
// others; 0 for one rank, which sends nothing.
double bus_factor(Verb, std::int64_t ranks);

// Bytes that a rank which reads its peers' memory must read and write: reduce-scatter in place
// S(1 + 1/N), all-gather 2S(N-1)/N, all-reduce both.
double memory_traffic_bytes(Verb, double payload_bytes, std::int64_t ranks);

struct Spread {
  double least = 0, median = 0, p95 = 0;
};
// p95: the smallest value that at least 95 % do not exceed. Of at least one value.
Spread spread_of(std::vector<std::int64_t> values);
double median_of(std::vector<double> values);  // of at least one

struct Point {
  double bytes = 0, ns = 0;
};
struct Line {
  double alpha_ns = 0, beta_ns_per_byte = 0;
  double at(double bytes) const { return alpha_ns + beta_ns_per_byte * bytes; }
};
// Least squares of relative residuals, so that a small size counts as much as a large one; neither
// parameter is below 0. Of at least two points of different sizes and times above 0.
Line line_through(std::span<const Point>);

// Fitted on every other size, from the smallest on, and scored on those between.
struct ScoredLine {
  Line line;
  double error = 0;            // the median of |fit - time| / time over the scored points
  std::vector<double> scored;  // bytes
  std::string why_none;        // not empty: there is no line
  bool poor() const { return error > 0.25; }
};
ScoredLine fit_and_score(std::vector<Point>);

}  // namespace shardmark
