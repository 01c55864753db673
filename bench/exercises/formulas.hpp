#pragma once
// What do the strategies' own claims say of one parameter? Bytes and traffic by the textbook's P
// and N, the same that every run is measured against.
#include <string>

#include "bench/cell.hpp"

namespace shardmark {

struct PerParameter {  // bytes a parameter, on one rank
  double parameter = 0, gradient = 0, master = 0, moments = 0;
  double sent_gradients = 0, sent_parameters = 0;  // a step
  double optimizer() const { return master + moments; }
  double states() const { return parameter + gradient + optimizer(); }
  double sent() const { return sent_gradients + sent_parameters; }
};
struct Setting {
  std::string strategy;
  std::int64_t ranks = 8;
  std::string precision = "bf16";  // of two bytes, as fp16
  std::int64_t accumulate = 1;
};
PerParameter per_parameter(const Setting&);

// The cell of a setting; gpt-nano, whose size does not matter to what is asked of it.
Cell cell_of(const Setting&);
// Collectives of gradients that a step makes with buckets of so many bytes, and what the buckets of
// zero2 hold then.
struct Bucketing {
  double calls = 0, bytes = 0;
};
Bucketing bucketing(std::uint64_t bucket_bytes);

}  // namespace shardmark
