#pragma once
// How fast is the wire that ranks pretend to have? A laptop without a network then shows what a
// network would.

#include <cstdint>

namespace shardmark {

// One link a rank, the same speed out and in; messages leave one after another.
struct Link {
  double bytes_per_ns = 0;      // 1 Gbit/s is 0.125
  std::int64_t latency_ns = 0;  // that each message travels on top
  bool operator==(const Link&) const = default;
};

}  // namespace shardmark
