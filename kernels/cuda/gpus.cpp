// Which GPUs are there, what do they say of themselves, and why can none be used?
#include <cublasLt.h>

#include <algorithm>
#include <sstream>

#include "kernels/cuda/device.hpp"
#include "kernels/cuda/runtime.hpp"

namespace shardmark::cuda {
namespace {

std::string version(int v) {
  return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10);
}

std::string of_runtime() {
  int v = 0;
  cudaRuntimeGetVersion(&v);
  return version(v);
}

std::string of_driver() {
  int v = 0;
  if (cudaDriverGetVersion(&v) != cudaSuccess || v == 0) return "";
  return version(v);
}

// Does the driver find or make code for this GPU among what was built? An entry such as 80 or
// 80-virtual comes with PTX, which it compiles for newer GPUs; 80-real or 100f runs on its own
// generation alone, and 90a on nothing else. A word such as native says no number, so the driver
// will. Asked without a context, which would take memory of the GPU.
bool runs_on(const std::string& built_for, const Gpu& gpu) {
  const int built_capability = std::atoi(built_for.c_str()),
            capability = gpu.major * 10 + gpu.minor;
  const auto has = [&](const char* text) { return built_for.find(text) != built_for.npos; };
  if (built_capability == 0) return true;
  if (has("a-") || built_for.ends_with('a')) return built_capability == capability;
  const bool own_generation = has("-real") || has("f");
  return built_capability <= capability && (!own_generation || built_capability / 10 == gpu.major);
}

std::string why_no_kernel_runs(const Gpu& gpu) {
  std::istringstream architectures(SHARDMARK_CUDA_ARCHITECTURES);
  std::string all;
  for (std::string one; std::getline(architectures, one, ',');) {
    if (runs_on(one, gpu)) return "";
    all += (all.empty() ? "" : ", ") + one;
  }
  const std::string own = std::to_string(gpu.major) + std::to_string(gpu.minor);
  return "no GPU can be used: the kernels of this shardmark were built for the architectures " +
         all + ", but GPU 0 (" + gpu.name + ") is " + own +
         ": build with -DCMAKE_CUDA_ARCHITECTURES=" + own;
}

// As nvidia-smi writes it.
std::string hex(const cudaUUID_t& uuid) {
  std::string out;
  for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
    constexpr const char* digits = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(uuid.bytes[i]);
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    out += {digits[byte >> 4], digits[byte & 15]};
  }
  return out;
}

std::vector<Gpu> asked() {
  int n = 0;
  if (cudaGetDeviceCount(&n) != cudaSuccess) n = 0;
  (void)cudaGetLastError();
  std::vector<Gpu> all;
  for (int i = 0; i < n; ++i) {
    cudaDeviceProp p{};
    check(cudaGetDeviceProperties(&p, i), "what a GPU is");
    char id[32] = {};
    check(cudaDeviceGetPCIBusId(id, sizeof id, i), "where a GPU is");
    all.push_back({p.name, p.major, p.minor, p.multiProcessorCount, p.totalGlobalMem, id,
                   std::string(id) + " GPU-" + hex(p.uuid)});
  }
  return all;
}

}  // namespace

bool built() { return true; }

std::string library() {
  const std::size_t v = cublasLtGetVersion();
  return "CUDA " + of_runtime() + ", cuBLASLt " + std::to_string(v / 10000) + "." +
         std::to_string(v % 10000 / 100) + "." + std::to_string(v % 100);
}

std::string why_none() {
  int n = 0;
  const cudaError_t e = cudaGetDeviceCount(&n);
  (void)cudaGetLastError();
  if (e == cudaErrorInsufficientDriver && of_driver().empty())
    return "no GPU can be used: there is no NVIDIA driver on this machine";
  if (e == cudaErrorInsufficientDriver)
    return "no GPU can be used: the driver knows CUDA up to " + of_driver() +
           ", but this shardmark was built with CUDA " + of_runtime() +
           ": install a newer driver, or build with an older toolkit";
  if (e == cudaErrorNoDevice || (e == cudaSuccess && n == 0))
    return "no GPU can be used: the driver sees none (CUDA_VISIBLE_DEVICES may hide them)";
  if (e != cudaSuccess)
    return std::string("no GPU can be used: CUDA says ") + cudaGetErrorString(e);
  return why_no_kernel_runs(gpus().front());
}

const std::vector<Gpu>& gpus() {
  static const std::vector<Gpu> all = asked();
  return all;
}

std::uint64_t free_bytes(int gpu) {
  int before = 0;
  check(cudaGetDevice(&before), "which GPU is chosen");
  check(cudaSetDevice(gpu), "choosing a GPU");
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "how much memory is free");
  check(cudaSetDevice(before), "choosing a GPU");
  return free;
}

std::shared_ptr<void> managed_bytes(std::size_t bytes) {
  void* at = nullptr;
  check(cudaMallocManaged(&at, std::max<std::size_t>(bytes, 1), cudaMemAttachGlobal),
        "managed memory");
  return {at, [](void* p) { cudaFree(p); }};
}

}  // namespace shardmark::cuda
