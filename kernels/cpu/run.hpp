#pragma once
// Which function runs which op? run.cpp picks it; run_memory.cpp has what any array can need,
// matmul_*.cpp the products, the other run_*.cpp what else models are made of.
#include "kernels/op.hpp"

namespace shardmark::cpu {

void run_op(const Clear&, int threads);
void run_op(const Cast&, int threads);
void run_op(const Add&, int threads);
void run_op(const SumRanks&, int threads);
void run_op(const Fill&, int threads);
void run_op(const SumSquares&, int threads);
void run_op(const ClipControl&, int threads);
void run_op(const AdamW&, int threads);
void run_op(const Matmul&, int threads);
void run_op(const ColumnSum&, int threads);
void run_op(const Embed&, int threads);
void run_op(const EmbedBackward&, int threads);
void run_op(const OneHot&, int threads);
void run_op(const LayerNorm&, int threads);
void run_op(const LayerNormBackward&, int threads);
void run_op(const RmsNorm&, int threads);
void run_op(const RmsNormBackward&, int threads);
void run_op(const RotaryTable&, int threads);
void run_op(const Rotary&, int threads);
void run_op(const Gelu&, int threads);
void run_op(const GeluBackward&, int threads);
void run_op(const Swiglu&, int threads);
void run_op(const SwigluBackward&, int threads);
void run_op(const Attention&, int threads);
void run_op(const AttentionBackward&, int threads);
void run_op(const CrossEntropy&, int threads);
void run_op(const CrossEntropyBackward&, int threads);
void run_op(const Transfer&, int threads);

// Computes one checked product on the calling thread and its helpers: matmul_onednn.cpp where the
// build has it, else matmul_plain.cpp. What those leave to our own tiles: matmul_tiles.cpp.
void multiply(const Matmul&, int threads);
void multiply_by_tiles(const Matmul&, int threads);
// Bytes of scratch that this op asks for: matmul_*.cpp, and where it runs.
std::size_t scratch_of(const Matmul&, int threads);
std::size_t scratch_of(const EmbedBackward&, int threads);
std::size_t scratch_of(const LayerNormBackward&, int threads);
std::size_t scratch_of(const RmsNormBackward&, int threads);
std::size_t scratch_of(const AttentionBackward&, int threads);

}  // namespace shardmark::cpu
