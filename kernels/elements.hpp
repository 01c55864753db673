#pragma once
// Which arithmetic must give the same bits on every device? First values, the scalars of a step and
// AdamW's corrections: written once, for the processor and for GPUs. Nothing here lets a product and
// a sum be rounded together.
#include <cmath>

#include "array_ops.hpp"
#include "counter_random.hpp"
#include "host_device.hpp"

namespace shardmark {

// The value of each element that Fill makes, in f32: whole numbers up to the last multiplication.
class FirstValues {
 public:
  explicit FirstValues(const Fill& o)
      : key_(scramble(scramble(o.seed + golden) + o.stream * golden + golden)),
        offset_(o.offset),
        constant_(o.init.kind == Init::Kind::constant),
        factor_(constant_ ? o.init.scale : static_cast<float>(double{o.init.scale} / deviation())) {
  }
  SHARDMARK_BOTH float operator()(std::uint64_t i) const {
    return constant_ ? factor_ : centred_sum(scramble(key_ + (offset_ + i) * golden)) * factor_;
  }

 private:
  // One uniform over 0 .. 2^16 - 1 has variance (2^32 - 1) / 12, and there are four.
  static double deviation() { return std::sqrt(4.0 * (4294967296.0 - 1.0) / 12.0); }
  // The sum of four 16-bit uniforms, its mean removed: |.| < 2^17, exact in float.
  SHARDMARK_BOTH static float centred_sum(std::uint64_t random) {
    const std::uint64_t sum =
        (random & 0xffff) + (random >> 16 & 0xffff) + (random >> 32 & 0xffff) + (random >> 48);
    return static_cast<float>(static_cast<std::int64_t>(sum) - 2 * 0xffff);
  }
  std::uint64_t key_, offset_;
  bool constant_;
  float factor_;
};

// 1 / (1 - beta^step), step a whole number: by squaring, since powers of libraries differ.
SHARDMARK_BOTH inline float bias_correction(float beta, float step) {
  const auto times = [](double a, double b) {
#if defined(__CUDA_ARCH__)
    return __dmul_rn(a, b);
#else
    return a * b;
#endif
  };
  double power = 1, b = beta;
  for (auto n = static_cast<std::uint32_t>(step); n > 0; n /= 2, b = times(b, b))
    if (n % 2) power = times(power, b);
  return static_cast<float>(1.0 / (1.0 - power));
}

// What ClipControl does, once its operands are checked. history: of its entry, or null.
struct Clipping {
  double* squares;
  std::size_t size;
  float* control;
  double* history;
  double clip;
  LossScaling scaling;
  bool scales;

  SHARDMARK_BOTH float& slot(ControlSlot s) const { return control[static_cast<int>(s)]; }
  SHARDMARK_BOTH void run() const {
    const double scale = slot(ControlSlot::loss_scale);
    double coefficient = 1, sum = 0;
    for (std::size_t i = 0; i < size; ++i) {
      sum += squares[i];
      squares[i] = 0;
    }
    const double norm = sqrt(sum) / scale;
    const bool finite = norm - norm == 0;
    if (finite && clip > 0 && clip / (norm + 1e-6) < 1) coefficient = clip / (norm + 1e-6);
    if (history) {
      history[0] = norm;
      history[1] = norm * static_cast<double>(static_cast<float>(coefficient));
      history[2] = scale;
    }
    slot(ControlSlot::coefficient) = static_cast<float>(coefficient / scale);
    slot(ControlSlot::skip) = finite ? 0.0f : 1.0f;
    if (finite) slot(ControlSlot::step) += 1;
    if (scales) change_scale(!finite);
  }

 private:
  // A power of two changes nothing but exponents, so that the scale itself costs no accuracy.
  SHARDMARK_BOTH void change_scale(bool overflowed) const {
    constexpr float most = 4294967296.0f;  // 2^32: far above where anything in f16 overflows
    float &scale = slot(ControlSlot::loss_scale), &good = slot(ControlSlot::good_steps);
    good = overflowed ? 0 : good + 1;
    if (overflowed) {
      scale = scale / 2 > scaling.floor ? scale / 2 : scaling.floor;
    } else if (good >= static_cast<float>(scaling.window)) {
      scale = scale * 2 < most ? scale * 2 : most;
      good = 0;
    }
  }
};

}  // namespace shardmark
