#pragma once
// What do the stand-ins of kernels, cuBLASLt and NCCL need of the stand-in's streams?
#include <cuda_runtime_api.h>

#include <functional>

#include "profilers/cupti_standin.hpp"

namespace shardmark::standin {

// Runs it on the stream's thread, in order; at once where the stream is null (the default stream).
// What it throws is the stream's error from then on.
void enqueue(cudaStream_t, std::function<void()>);
// The same for what CUPTI records, which knows the call as one of this thread's.
void enqueue(cudaStream_t, const CuptiStandin::Work&, std::function<void()>);

// Until all streams of this process have done what they were given before.
void wait_for_all_gpus();
// Of the current GPU, as cudaMalloc, which may wait for all GPUs before.
cudaError_t take_memory(void** at, std::size_t bytes);

// Which this thread has chosen.
int& current_gpu();
// A stream belongs to the GPU that was current when it was made; the null stream is of each. As
// CUDA does, kernels are refused on a stream of another GPU than the current one; copies are not.
bool is_of(cudaStream_t, int gpu);
cudaError_t may_launch(cudaStream_t);

}  // namespace shardmark::standin
