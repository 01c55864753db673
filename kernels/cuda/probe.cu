#include "probe.hpp"

#include "kernels/cuda/device.hpp"
#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/runtime.hpp"

namespace shardmark::cuda {
namespace {

__global__ void nothing() {}

}  // namespace

std::string why_no_kernel_runs() {
  cudaFuncAttributes of{};
  const cudaError_t e = cudaFuncGetAttributes(&of, reinterpret_cast<const void*>(nothing));
  (void)cudaGetLastError();
  if (e == cudaSuccess) return "";
  if (e != cudaErrorNoKernelImageForDevice && e != cudaErrorInvalidDeviceFunction)
    return std::string("no GPU can be used: CUDA says ") + cudaGetErrorString(e);
  const Gpu gpu = gpus().at(0);
  return "no GPU can be used: the kernels of this shardmark were built for the architectures " +
         std::string(SHARDMARK_CUDA_ARCHITECTURES) + ", but GPU 0 (" + gpu.name +
         ") has compute capability " + std::to_string(gpu.major) + "." + std::to_string(gpu.minor) +
         ": build with -DCMAKE_CUDA_ARCHITECTURES=" + std::to_string(gpu.major) +
         std::to_string(gpu.minor);
}

}  // namespace shardmark::cuda
