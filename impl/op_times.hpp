#pragma once
// How long did each op take, inside of the steps where caches and neighbours are what they are?
#include <map>
#include <tuple>
#include <vector>

#include "impl/train.hpp"
#include "kernels/op.hpp"

namespace shardmark {

class OpTimer {
 public:
  void add(const Op&, std::int64_t ns);
  std::vector<OpTime> all() const;

 private:
  std::map<std::tuple<std::string, double, double>, std::vector<std::int64_t>> times_;
};

}  // namespace shardmark
