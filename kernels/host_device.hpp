#pragma once
// Which functions are compiled for the processor and for GPUs?
#if defined(__CUDACC__)
#define SHARDMARK_BOTH __host__ __device__
#else
#define SHARDMARK_BOTH
#endif
