#pragma once
// Can the kernels that were built run on the GPU that is there?
#include <string>

namespace shardmark::cuda {

// One sentence; empty where they can. GPU 0 answers for all.
std::string why_no_kernel_runs();

}  // namespace shardmark::cuda
