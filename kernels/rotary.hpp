#pragma once
// What do rotary positions ask of their operands, and what becomes of a frequency where a text is
// longer than the model was made for?
#include "kernels/layer_ops.hpp"
#include "kernels/operands.hpp"

namespace shardmark {

// Of a frequency, in radians a position, what is left (layer_ops.hpp).
SHARDMARK_BOTH inline double scaled_frequency(double frequency, const RotaryScaling& s) {
  constexpr double pi = 3.14159265358979323846;
  if (s.original == 0) return frequency / s.factor;
  const double turns = static_cast<double>(s.original) * frequency / (2 * pi);
  if (turns < s.low) return frequency / s.factor;
  if (turns > s.high) return frequency;
  const double smooth = (turns - s.low) / (s.high - s.low);
  return frequency * ((1 - smooth) / s.factor + smooth);
}

inline void check_head(const Operands& is, std::size_t head_dim) {
  is.not_zero("head_dim", head_dim);
  is.need(head_dim % 2 == 0, "head_dim is " + std::to_string(head_dim) +
                                 ", but its elements turn in pairs: it must be even");
}
// Positions.
inline std::size_t rows_of_table(const Operands& is, const RotaryTable& o) {
  check_head(is, o.head_dim);
  is.need(o.theta > 0 && o.scaling.factor > 0, "theta and the scaling factor must be positive");
  is.need(o.scaling.original == 0 || o.scaling.low < o.scaling.high,
          "of the scaling, low must be less than high");
  return is.rows("to", o.to, o.head_dim);
}
inline std::size_t rows_to_turn(const Operands& is, const Rotary& o) {
  check_head(is, o.head_dim);
  is.not_zero("sequence", o.sequence);
  is.not_zero("heads", o.heads);
  is.need(o.heads * o.head_dim <= o.stride,
          std::to_string(o.heads) + " heads of " + std::to_string(o.head_dim) +
              " are longer than a row, which has " + std::to_string(o.stride) + " elements");
  return is.rows("x", o.x, o.stride);
}

}  // namespace shardmark
