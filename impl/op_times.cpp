#include "impl/op_times.hpp"

#include "impl/cluster.hpp"

namespace shardmark {

void OpTimer::add(const Op& op, std::int64_t ns) {
  if (std::holds_alternative<Transfer>(op)) return;  // waits for others
  times_[{kind_of(op), flops(op), traffic_bytes(op)}].push_back(ns);
}

std::vector<OpTime> OpTimer::all() const {
  std::vector<OpTime> out;
  for (const auto& [what, ns] : times_)
    out.push_back({std::get<0>(what), std::get<1>(what), std::get<2>(what), ns});
  return out;
}

}  // namespace shardmark
