// Which GPUs does a machine have, and which driver? See machine_gpus.hpp.
#include "bench/machine_gpus.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "bench/self_checks.hpp"
#include "impl/comm/nccl.hpp"
#include "kernels/cuda/device.hpp"
#include "profilers/nvml.hpp"

namespace shardmark {

using nlohmann::json;

// Each stream of a GPU has a hardware connection, up to so many, of which the driver makes 8; more
// streams share them, and wait for each other where nothing orders them: several ranks on one GPU
// are two streams each.
void prepare_for_gpus() {
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  nccl::prepare();
}

void add_gpus(json& m) {
  if (const std::string why = cuda::why_none(); !why.empty()) {
    set_missing(m, "gpus", why);
  } else {
    json all = json::array();
    for (const cuda::Gpu& g : cuda::gpus())
      all.push_back({{"name", g.name},
                     {"compute_capability", fmt::format("{}.{}", g.major, g.minor)},
                     {"multiprocessors", g.multiprocessors},
                     {"memory_bytes", g.memory_bytes}});
    m["gpus"] = std::move(all);
  }
  const Nvml nvml;
  if (!nvml.driver().empty())
    m["gpu_driver"] = nvml.driver();
  else
    set_missing(
        m, "gpu_driver",
        nvml.why_not().empty() ? "NVML does not say which driver there is" : nvml.why_not());
}

}  // namespace shardmark
