#pragma once
// Which GPUs does the stand-in play? Read once from SHARDMARK_STANDIN, as
// "gpus=2,first=1,memory=64000000,late_us=200,error=no_device|old_driver,major=8,driver=12040,
// peers=none,cupti=FILE,drift_ppm=200,queue=4,memory_waits=1", in one line.
#include <cuda_runtime_api.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace shardmark::standin {

struct Machine {
  int gpus = 1, major = 9, driver = 13000, late_us = 100;
  double drift_ppm = 0;                // by which the GPUs' clocks are faster than the host's
  int queue = 1024;                    // collectives under way before a call waits in the driver
  int first = 0;                       // of the host's GPUs that this process sees
  std::size_t memory = 1'000'000'000;  // bytes of each GPU
  cudaError_t error = cudaSuccess;     // of whoever asks for GPUs
  bool peers = true;                   // GPUs read each other's memory
  bool memory_waits = false;           // asking for memory waits for all that runs, on all GPUs
  std::string cupti;                   // that is told what GPUs do; empty: none

  std::mutex mutex;
  std::map<void*, std::pair<int, std::size_t>> device_memory;  // where, on which GPU, how much
  std::map<const void*, std::size_t> pinned;
  std::vector<std::size_t> used;  // by GPU
  // CUDA runs the host functions of one GPU's streams one after another: each takes its turn.
  std::unique_ptr<std::mutex[]> host_functions;  // by GPU
  std::string failure;                           // of a kernel, in a sentence
  std::atomic<cudaError_t> sticky{cudaSuccess};
};

// The one machine that this process runs on.
Machine& machine();

// Keeps what went wrong on a stream for whoever asks next.
void fail(const std::string& sentence);

}  // namespace shardmark::standin
