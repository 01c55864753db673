// By what factor do two sets of times differ, and how sure is that? See ratio.hpp.
#include "bench/ratio.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace shardmark {

namespace {

constexpr double wanted_confidence = 0.95, least_confidence = 0.90;
// Beyond so many times a side the normal distribution is as good as the exact one.
constexpr std::size_t counted_exactly = 20;

// Pr(U < k) where both sides are alike, U = pairs in which head is the smaller one: for each k from
// 0 to m n + 1. Orders of m + n times with u such pairs are counted by which side the largest is
// of.
std::vector<double> rank_sum_below(std::size_t m, std::size_t n) {
  using Row = std::vector<double>;
  std::vector<Row> orders(n + 1, Row(m * n + 1, 0.0));  // [n][u], for the m of this pass
  for (Row& row : orders) row[0] = 1;
  for (std::size_t i = 1; i <= m; ++i)
    for (std::size_t j = 1; j <= n; ++j) {
      // Largest of the one side: larger than all j of the other. Of the other: as with j - 1.
      Row row(m * n + 1, 0.0);
      for (std::size_t u = 0; u < row.size(); ++u)
        row[u] = (u >= j ? orders[j][u - j] : 0.0) + orders[j - 1][u];
      orders[j] = std::move(row);
    }
  double all = 0, so_far = 0;
  for (const double count : orders[n]) all += count;
  std::vector<double> below = {0};
  for (const double count : orders[n]) below.push_back((so_far += count) / all);
  return below;
}

struct Ends {
  std::size_t from_each_end;  // 1: the smallest and the largest
  double confidence;
};

Ends ends_for(std::size_t m, std::size_t n) {
  const auto pairs = static_cast<double>(m * n);
  if (std::max(m, n) > counted_exactly) {
    const double z = 1.959964, sd = std::sqrt(pairs * static_cast<double>(m + n + 1) / 12);
    const double k = std::max(1.0, std::floor(pairs / 2 - z * sd));
    return {static_cast<std::size_t>(k), wanted_confidence};
  }
  const std::vector<double> below = rank_sum_below(m, n);
  std::size_t k = 1;
  while (2 * (k + 1) <= m * n && 1 - 2 * below[k + 1] >= wanted_confidence) ++k;
  return {k, 1 - 2 * below[k]};
}

}  // namespace

std::string name(Verdict v) {
  constexpr std::array<const char*, 7> names = {"SAME",    "FASTER", "SLOWER", "AMBIGUOUS",
                                                "MISSING", "NEW",    "UNTIMED"};
  return names[static_cast<std::size_t>(v)];
}

Ratio ratio_of(const std::vector<double>& base, const std::vector<double>& head) {
  std::vector<double> all;
  all.reserve(base.size() * head.size());
  for (const double b : base)
    for (const double h : head) all.push_back(h / b);
  std::sort(all.begin(), all.end());
  const std::size_t n = all.size();
  Ratio r;
  r.estimate = n % 2 == 1 ? all[n / 2] : std::sqrt(all[n / 2 - 1] * all[n / 2]);
  if (std::min(base.size(), head.size()) < 2) return r;
  const Ends ends = ends_for(base.size(), head.size());
  if (ends.confidence < least_confidence) return r;
  r.has_interval = true;
  r.low = all[ends.from_each_end - 1];
  r.high = all[n - ends.from_each_end];
  r.confidence = ends.confidence;
  return r;
}

Verdict verdict_of(const Ratio& r, double threshold) {
  if (!r.has_interval) return Verdict::ambiguous;
  const double most = 1 + threshold, least = 1 / most;
  if (r.low > most) return Verdict::slower;
  if (r.high < least) return Verdict::faster;
  return r.low >= least && r.high <= most ? Verdict::same : Verdict::ambiguous;
}

}  // namespace shardmark
