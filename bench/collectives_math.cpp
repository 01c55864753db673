// What do the times of a verb say about the wire? See collectives_math.hpp.
#include "bench/collectives_math.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/error.hpp"

namespace shardmark {

double bus_factor(Verb verb, std::int64_t ranks) {
  const auto n = static_cast<double>(ranks);
  return (verb == Verb::all_reduce ? 2.0 : 1.0) * (n - 1) / n;
}

double memory_traffic_bytes(Verb verb, double payload_bytes, std::int64_t ranks) {
  const auto n = static_cast<double>(ranks);
  const double scatter = payload_bytes * (1 + 1 / n), gather = 2 * payload_bytes * (n - 1) / n;
  return verb == Verb::reduce_scatter ? scatter
         : verb == Verb::all_gather   ? gather
                                      : scatter + gather;
}

Spread spread_of(std::vector<std::int64_t> values) {
  require(!values.empty(), "a spread needs at least one value");
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  const std::size_t rank95 = (95 * n + 99) / 100;  // ceil(0.95 n), without rounding errors
  const auto at = [&](std::size_t i) { return static_cast<double>(values[i]); };
  return {at(0), (at((n - 1) / 2) + at(n / 2)) / 2, at(rank95 - 1)};
}

double median_of(std::vector<double> values) {
  require(!values.empty(), "a median needs at least one value");
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

// With weights w = 1 / time^2 the normal equations are those of the relative residuals
// (alpha + beta bytes - time) / time.
Line line_through(std::span<const Point> points) {
  double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
  for (const Point& p : points) {
    require(p.ns > 0, "a line of times needs times above 0");
    const double weight = 1 / (p.ns * p.ns);
    w += weight;
    wx += weight * p.bytes;
    wy += weight * p.ns;
    wxx += weight * p.bytes * p.bytes;
    wxy += weight * p.bytes * p.ns;
  }
  const double determinant = w * wxx - wx * wx;
  require(determinant > 1e-12 * w * wxx, "a line needs points of at least two sizes");
  const Line line{(wxx * wy - wx * wxy) / determinant, (w * wxy - wx * wy) / determinant};
  // The best line within the bounds lies on the bound that was crossed; both cannot be crossed,
  // since times are above 0.
  if (line.alpha_ns < 0) return {0, wxy / wxx};
  if (line.beta_ns_per_byte < 0) return {wy / w, 0};
  return line;
}

ScoredLine fit_and_score(std::vector<Point> points) {
  std::sort(points.begin(), points.end(),
            [](const Point& a, const Point& b) { return a.bytes < b.bytes; });
  ScoredLine out;
  std::vector<Point> fitted, between;
  for (std::size_t i = 0; i < points.size(); ++i) (i % 2 ? between : fitted).push_back(points[i]);
  if (points.size() < 3 || fitted.front().bytes == fitted.back().bytes) {
    out.why_none = "a line that is fitted on every other size needs at least three sizes";
    return out;
  }
  out.line = line_through(fitted);
  std::vector<double> errors;
  for (const Point& p : between) {
    errors.push_back(std::abs(out.line.at(p.bytes) - p.ns) / p.ns);
    out.scored.push_back(p.bytes);
  }
  out.error = median_of(errors);
  return out;
}

}  // namespace shardmark
