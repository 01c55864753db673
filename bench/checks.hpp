#pragma once
// Which records contradict each other, or their own claims? Sharding changes where bytes are and
// never what is computed, so cells that differ only in that must end alike: bit for bit where every
// sum is made in rank order (collectives "memory"), else but for rounding.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace shardmark {

// Relative: what other orders of adding may come to. In the first step the weights are the same;
// later Adam turns what is rounded around zero into steps of another sign.
struct Rounding {
  double first, loss, norm;
};
inline constexpr Rounding rounding{1e-5, 1e-3, 1e-2};
// Where something of two bytes is added: it has 8 digits (bf16) or 11 (fp16) in binary.
inline constexpr Rounding rounding_short{1e-3, 1e-2, 0.25};
// Of the first so many steps: later ones drift apart by themselves.
inline constexpr std::size_t rounding_steps = 50;

struct Finding {
  std::string cell;  // its id
  std::int64_t round = 0;
  std::string check;     // bytes_exact, same_parameters ...
  std::string sentence;  // what differs
};

// Strategies that add the gradients of micro-steps in one order: ddp (whole, reduced once a step)
// or zero2 (reduced and added once a micro-step); itself where nobody here knows its order.
std::string summing_family(const std::string& strategy);

// Checks of single records that came out false.
std::vector<Finding> failed_checks(const std::vector<nlohmann::json>& records);

// same_parameters and same_loss, bit for bit, and same_norms, to 1e-12: between strategies, overlap
// on and off, bucket sizes, and rounds of otherwise equal cells. With more than one micro-step
// strategies add in two orders, once a step or once a micro-step: then within {ddp, zero1,
// zero1_naive}, within {zero2, zero2_naive, zero3}, and any other strategy only with itself.
// Cells of a ring or of a library: losses and norms but for rounding, between strategies,
// collectives, communicators and links.
std::vector<Finding> cross_checks(const std::vector<nlohmann::json>& records);

// How many groups of at least two different cells were compared bit for bit: 0 says that nothing
// was shown.
int compared_groups(const std::vector<nlohmann::json>& records);

// What is shown where cross_checks() finds nothing: a line for each kind of comparison that was
// made.
std::string agreement_text(const std::vector<nlohmann::json>& records);

// Strategies of otherwise equal cells that were not compared, since they add micro-steps in other
// orders: "ddp, zero1 | zero3"; those between two bars were. Empty where all were compared.
std::string not_compared(const std::vector<nlohmann::json>& records);

}  // namespace shardmark
