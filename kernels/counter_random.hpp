#pragma once
// How does a counter become a random number, the same on every machine? Nothing is kept between
// calls.
#include <cstdint>

#include "host_device.hpp"

namespace shardmark {

inline constexpr std::uint64_t golden = 0x9e3779b97f4a7c15u;  // 2^64 over the golden ratio, odd

// A bijection of 64-bit numbers that leaves no pattern: the finaliser of SplitMix64 (Steele, Lea
// and Flood 2014).
SHARDMARK_BOTH constexpr std::uint64_t scramble(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace shardmark
