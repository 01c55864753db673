#pragma once
// Which function enqueues which op? run.cpp picks it; what it needs beside its operands is scratch_of.
#include "kernels/cuda/run.hpp"

namespace shardmark::cuda {

// array_ops.cu
void run_op(const Clear&, const Launch&);
void run_op(const Cast&, const Launch&);
void run_op(const Add&, const Launch&);
void run_op(const SumRanks&, const Launch&);
void run_op(const Fill&, const Launch&);
// update.cu
void run_op(const SumSquares&, const Launch&);
void run_op(const ClipControl&, const Launch&);
void run_op(const AdamW&, const Launch&);
// matmul.cpp
void run_op(const Matmul&, const Launch&);
std::size_t scratch_of(const Matmul&, const Launch&);
// columns.cu
void run_op(const ColumnSum&, const Launch&);
// embed.cu
void run_op(const Embed&, const Launch&);
void run_op(const EmbedBackward&, const Launch&);
std::size_t scratch_of(const EmbedBackward&, const Launch&);
void run_op(const OneHot&, const Launch&);
// norm.cu, norm_backward.cu
void run_op(const LayerNorm&, const Launch&);
void run_op(const LayerNormBackward&, const Launch&);
std::size_t scratch_of(const LayerNormBackward&, const Launch&);
void run_op(const RmsNorm&, const Launch&);
void run_op(const RmsNormBackward&, const Launch&);
std::size_t scratch_of(const RmsNormBackward&, const Launch&);
// rotary.cu
void run_op(const RotaryTable&, const Launch&);
void run_op(const Rotary&, const Launch&);
// pointwise.cu; GeluBackward: columns.cu
void run_op(const Gelu&, const Launch&);
void run_op(const GeluBackward&, const Launch&);
void run_op(const Swiglu&, const Launch&);
void run_op(const SwigluBackward&, const Launch&);
// attention.cu, attention_backward.cu
void run_op(const Attention&, const Launch&);
void run_op(const AttentionBackward&, const Launch&);
std::size_t scratch_of(const AttentionBackward&, const Launch&);
// loss.cu
void run_op(const CrossEntropy&, const Launch&);
void run_op(const CrossEntropyBackward&, const Launch&);

}  // namespace shardmark::cuda
