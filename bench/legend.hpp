#pragma once
// What do the letters, marks and columns of a table mean? Only those that it has.
#include <string>
#include <vector>

#include "bench/summary.hpp"

namespace shardmark {

// apart: the strategies that were not compared, see not_compared().
std::string legend(const std::vector<Group>&, const std::string& apart, std::size_t columns);

}  // namespace shardmark
