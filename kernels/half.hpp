#pragma once
// Which numbers have 2 bytes? Bits and nothing else: what computes with them widens them first.
#include <cstdint>

namespace shardmark {

struct Bf16 {  // the upper half of an f32
  std::uint16_t bits;
};
struct F16 {  // half precision (IEEE 754): 5 bits of exponent, 10 of fraction
  std::uint16_t bits;
};

}  // namespace shardmark
