#pragma once
// Which launch, rate of products and rates of bytes explain measured times best? Least squares of
// relative errors, none of the four negative.
#include <vector>

#include "impl/cluster.hpp"

namespace shardmark {

struct CostSample {
  double flops = 0, bytes = 0, ns = 0;  // ns above 0
  double cold_bytes = 0;                // those of bytes that no cache had
};

// Of all choices of terms the best one in which no term is negative; of equally good ones that with
// fewer terms, and products before bytes before a launch. No samples: nothing costs anything.
OpCost fit_cost(const std::vector<CostSample>&);
double relative_error(const OpCost&, const CostSample&);  // 0.1: ten per cent too long

}  // namespace shardmark
