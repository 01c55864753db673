// Which launch and rates explain measured times best? See cost_fit.hpp.
#include "bench/cost_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

namespace shardmark {
namespace {

constexpr int terms = 4;  // flops, bytes, launch, cold bytes
using Terms = std::array<double, terms>;

// Each sample over its time, so that what is fitted is 1; flops and bytes in thousands, so that
// the columns are of a size.
Terms row_of(const CostSample& s) {
  return {s.flops * 1e-3 / s.ns, s.bytes * 1e-3 / s.ns, 1 / s.ns, s.cold_bytes * 1e-3 / s.ns};
}

// Gauss with pivots, over the chosen terms; none where they are not independent.
std::optional<Terms> solve(std::array<Terms, terms> a, Terms b, const std::vector<int>& chosen) {
  const double scale = [&] {
    double largest = 0;
    for (const int i : chosen) largest = std::max(largest, a[i][i]);
    return largest;
  }();
  std::vector<int> left = chosen;
  for (const int column : chosen) {
    const auto pivot = std::max_element(left.begin(), left.end(), [&](int x, int y) {
      return std::abs(a[x][column]) < std::abs(a[y][column]);
    });
    if (std::abs(a[*pivot][column]) <= 1e-12 * scale) return {};
    std::swap(a[*pivot], a[column]), std::swap(b[*pivot], b[column]);
    std::erase(left, column);
    for (const int row : chosen) {
      if (row == column) continue;
      const double factor = a[row][column] / a[column][column];
      for (const int k : chosen) a[row][k] -= factor * a[column][k];
      b[row] -= factor * b[column];
    }
  }
  Terms x{};
  for (const int i : chosen) x[i] = b[i] / a[i][i];
  return x;
}

double squares(const std::vector<Terms>& rows, const Terms& x) {
  double total = 0;
  for (const Terms& r : rows) {
    const double off = std::inner_product(r.begin(), r.end(), x.begin(), -1.0);
    total += off * off;
  }
  return total;
}

// All sets of terms, small ones first.
std::vector<std::vector<int>> choices() {
  std::vector<std::vector<int>> all;
  for (unsigned set = 1; set < 1U << terms; ++set) {
    std::vector<int>& chosen = all.emplace_back();
    for (int i = 0; i < terms; ++i)
      if (set >> i & 1) chosen.push_back(i);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.size() < b.size(); });
  return all;
}

}  // namespace

OpCost fit_cost(const std::vector<CostSample>& samples) {
  std::vector<Terms> rows;
  std::array<Terms, terms> a{};
  Terms b{};
  for (const CostSample& s : samples) {
    rows.push_back(row_of(s));
    for (int i = 0; i < terms; ++i) {
      b[i] += rows.back()[i];
      for (int j = 0; j < terms; ++j) a[i][j] += rows.back()[i] * rows.back()[j];
    }
  }
  Terms best{};
  double least = squares(rows, best);
  for (const std::vector<int>& chosen : choices()) {
    const auto x = solve(a, b, chosen);
    if (!x || std::any_of(x->begin(), x->end(), [](double v) { return v < 0; })) continue;
    const double off = squares(rows, *x);
    if (off < least * (1 - 1e-9)) least = off, best = *x;
  }
  return {best[2], best[0] * 1e-3, best[1] * 1e-3, best[3] * 1e-3};
}

double relative_error(const OpCost& c, const CostSample& s) {
  return (c.launch_ns + s.flops * c.ns_per_flop + s.bytes * c.ns_per_byte +
          s.cold_bytes * c.ns_per_cold_byte) /
             s.ns -
         1;
}

}  // namespace shardmark
