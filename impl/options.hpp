#pragma once
// What changes bytes, traffic or order? Fully resolved: no default left implicit. What only changes
// speed is not here.
#include <optional>
#include <vector>

#include "kernels/device.hpp"

namespace shardmark {

struct Precision {
  DType parameter = DType::f32, gradient = DType::f32,
        wire = DType::f32;                  // wire: the type gradients travel in
  std::optional<DType> master;              // f32 beside 2-byte parameters
  std::optional<LossScaling> loss_scaling;  // fp16
};
// All parameters, gradients and activations in `all`; f32 master weights beside 2-byte ones, and a
// loss scale with f16.
inline Precision precision_in(DType all, DType wire, LossScaling scaling = {}) {
  Precision p{all, all, wire, {}, {}};
  if (all != DType::f32) p.master = DType::f32;
  if (all == DType::f16) p.loss_scaling = scaling;
  return p;
}

// What of a unit's activations stays from forward to backward: all, or none but what it hands on,
// so that backward computes them again (Chen et al. 2016).
enum class Recompute : std::uint8_t { none, unit };

// Who makes the verbs: every rank reads its peers' memory (threads of one process only); our own
// ring over point-to-point messages; the collectives of a library, MPI's or NCCL.
enum class Collectives : std::uint8_t { memory, ring, library, nccl };

struct Options {
  Precision precision;
  int steps = 1;                    // steps the run makes, for the history of losses and norms
  int accumulate = 1;               // k: micro-steps a step
  int buckets = 2;                  // zero2, zero3: whole gradients alive at once
  std::size_t bucket_elements = 0;  // 0: a bucket a unit
  double clip = 0;                  // 0: off
  AdamParameters adam;
  Recompute recompute = Recompute::none;
  int prefetch = 1;       // zero3: units gathered ahead
  bool keep_last = true;  // zero3: what is needed again at once stays across the turn to backward
  std::size_t persist_below = 0;  // zero3: parameters of fewer elements stay whole
  std::vector<bool> frozen;       // by parameter number; empty: none
  enum class AllReduce : std::uint8_t { composed, direct } all_reduce = AllReduce::composed;
  Collectives collectives = Collectives::memory;
  bool needs_norm() const { return clip > 0 || precision.loss_scaling.has_value(); }
};

}  // namespace shardmark
