#pragma once
// When is a cell slower? Base and head run in pairs, one right after the other, and only which of
// the two was slower counts: what the machine does for longer than a pair touches both. A cell that
// is slower too often is suspect; it is measured again, in fresh pairs, and only those decide. A
// coin would make of an unchanged cell a suspect with a chance of 13 %, and a regression of a
// suspect with 0.8 %: 0.1 % a cell together, before the minima have to differ as well.
#include <cstddef>
#include <vector>

namespace shardmark {

// What one side of a pair took: the shortest step, each of its slowest rank.
struct TimePair {
  double base_ns = 0, head_ns = 0;
};

struct GateRules {
  std::size_t pairs = 20, confirm = 30;
  // So many slower ones make a suspect, and of fresh ones a regression; so many faster ones of the
  // first pairs an improvement, which nobody confirms.
  std::size_t suspect = 13, regression = 22, improvement = 18;
  double threshold = 0.03;  // a fraction by which the minima must differ as well
};

// The same chances for other numbers of pairs. Beyond 20 cells a regression is one more slower pair
// out of 30. Throws InputError: so few pairs that no count is that improbable.
GateRules gate_rules(std::size_t pairs, std::size_t confirm, std::size_t cells);

// How often n coins show heads at least k times.
double at_least(std::size_t k, std::size_t n);

enum class Gated { same, suspect, faster, slower };

// Without confirmation: suspect, faster or the same. With it: slower or the same.
Gated judged(const std::vector<TimePair>& first, const std::vector<TimePair>& confirming,
             const GateRules&);

struct Tally {
  std::size_t slower = 0, faster = 0, pairs = 0;  // head
  double base_ns = 0, head_ns = 0;                // minima over the pairs
  double ratio() const { return base_ns > 0 ? head_ns / base_ns : 1; }
};
Tally tally(const std::vector<TimePair>&);

}  // namespace shardmark
