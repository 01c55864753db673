// When is a cell slower? See gate_verdict.hpp.
#include "bench/gate_verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/error.hpp"

namespace shardmark {

namespace {

// P(at least 13 of 20) = 0.1316, P(at least 22 of 30) = 0.0081, P(at least 23 of 30) = 0.0026,
// P(at least 18 of 20) = 0.0002.
constexpr double suspect_chance = 0.135, regression_chance = 0.0085,
                 regression_chance_of_many = 0.0027, improvement_chance = 0.00021;
constexpr std::size_t many_cells = 20;

// The smallest count that is no more probable than that; n + 1 where there is none.
std::size_t least_count(std::size_t n, double chance) {
  std::size_t k = 0;
  while (k <= n && at_least(k, n) > chance) ++k;
  return k;
}

}  // namespace

double at_least(std::size_t k, std::size_t n) {
  double sum = 0;
  const auto log_choose = [n](std::size_t i) {
    return std::lgamma(static_cast<double>(n) + 1) - std::lgamma(static_cast<double>(i) + 1) -
           std::lgamma(static_cast<double>(n - i) + 1);
  };
  for (std::size_t i = k; i <= n; ++i)
    sum += std::exp(log_choose(i) - static_cast<double>(n) * std::log(2.0));
  return std::min(sum, 1.0);
}

GateRules gate_rules(std::size_t pairs, std::size_t confirm, std::size_t cells) {
  GateRules rules;
  rules.pairs = pairs;
  rules.confirm = confirm;
  rules.suspect = least_count(pairs, suspect_chance);
  rules.regression =
      least_count(confirm, cells > many_cells ? regression_chance_of_many : regression_chance);
  rules.improvement = least_count(pairs, improvement_chance);
  if (rules.suspect > pairs)
    throw InputError(fmt::format(
        "--pairs is {}, but a coin would show that many heads too often; give 3 or more.", pairs));
  if (rules.regression > confirm)
    throw InputError(fmt::format(
        "--confirm is {}, but a coin would show that many heads too often; give {} or more.",
        confirm, cells > many_cells ? 9 : 7));
  return rules;
}

Tally tally(const std::vector<TimePair>& pairs) {
  Tally t;
  t.pairs = pairs.size();
  for (const TimePair& p : pairs) {
    t.slower += p.head_ns > p.base_ns ? 1 : 0;
    t.faster += p.head_ns < p.base_ns ? 1 : 0;
    if (t.base_ns == 0 || p.base_ns < t.base_ns) t.base_ns = p.base_ns;
    if (t.head_ns == 0 || p.head_ns < t.head_ns) t.head_ns = p.head_ns;
  }
  return t;
}

Gated judged(const std::vector<TimePair>& first, const std::vector<TimePair>& confirming,
             const GateRules& rules) {
  const Tally t = tally(first);
  if (t.slower >= rules.suspect) {
    if (confirming.empty()) return Gated::suspect;
    const Tally again = tally(confirming);
    const bool slower = again.slower >= rules.regression && again.ratio() > 1 + rules.threshold;
    return slower ? Gated::slower : Gated::same;
  }
  const bool faster = t.faster >= rules.improvement && t.ratio() < 1 / (1 + rules.threshold);
  return faster ? Gated::faster : Gated::same;
}

}  // namespace shardmark
