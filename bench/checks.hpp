#pragma once
// Which records contradict each other, or their own claims? Sharding changes where bytes are and
// never what is computed, so cells that differ only in that must end bit for bit alike on thread
// ranks, where every sum is made in rank order.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace shardmark {

struct Finding {
  std::string cell;  // its id
  std::int64_t round = 0;
  std::string check;     // bytes_exact, same_parameters ...
  std::string sentence;  // what differs
};

// Checks of single records that came out false.
std::vector<Finding> failed_checks(const std::vector<nlohmann::json>& records);

// same_parameters, same_loss: between strategies, overlap on and off, bucket sizes, and rounds of
// otherwise equal cells; with more than one micro-step only between rounds and layouts of one
// strategy, since strategies then add in different orders.
std::vector<Finding> cross_checks(const std::vector<nlohmann::json>& records);

// How many groups of at least two different cells were compared: 0 says that nothing was shown.
int compared_groups(const std::vector<nlohmann::json>& records);

}  // namespace shardmark
