#pragma once
// What does the CPU do for each op? One function an op, run on the calling thread (and its helpers,
// where a rank has more than one): every one checks sizes and types and says in one sentence what
// does not fit.
#include <string>
#include <vector>

#include "kernels/op.hpp"

namespace shardmark::cpu {

// threads: how many threads this rank may compute with. Transfer is not run here.
void run(const Op&, int threads);

// Bytes of scratch that run() needs for this op: a product's is oneDNN's own figure.
std::size_t scratch_bytes(const Op&, int threads);

// Instruction sets that this build has kernels for and this machine can run, best first; the names
// are "avx512", "avx2", "baseline". run() uses the first, or the one given to use_instruction_set
// (process-wide; before any run()).
std::vector<std::string> instruction_sets();
void use_instruction_set(const std::string&);
std::string instruction_set();  // the one in use
std::string matrix_library();   // "oneDNN 2.6.3" or "plain"
// Who computes products of this type: "oneDNN 2.6.3", or "own tiles" and why.
std::string product_path(DType);

// Reduction of one chunk over ranks, in rank order: to[i] = (sources[0][i] + sources[1][i] + ...) *
// factor. `to` may be one of the sources. Streaming stores where that pays; bit for bit the same
// wherever an element stands in the chunk.
void reduce_ranks(std::span<const ConstView> sources, View to, double factor);
// A copy that does not read its destination into the cache (streaming stores) where it is large.
void stream_copy(ConstView from, View to);

}  // namespace shardmark::cpu
