#pragma once
// Over what do the tests of strategies loop? Every one that is registered, by name; and on which
// device, since the same sources are built for the processor and for GPUs.
#include <string>
#include <vector>

#include "impl/comm/nccl.hpp"
#include "impl/strategies/strategy.hpp"
#include "impl/train.hpp"
#include "kernels/cuda/device.hpp"

namespace shardmark {

inline std::vector<std::string> every_strategy() {
  std::vector<std::string> all;
  for (const auto& [name, entry] : strategies()) all.push_back(name);
  return all;
}

#if defined(SHARDMARK_GPUS_ALONE)
inline constexpr DeviceKind test_device = DeviceKind::cuda;
inline constexpr Collectives in_another_order = Collectives::nccl;
#else
inline constexpr DeviceKind test_device = DeviceKind::cpu;
inline constexpr Collectives in_another_order = Collectives::ring;
#endif
// A stand-in for a GPU takes its time.
inline std::vector<int> all_ranks() {
  if (test_device == DeviceKind::cuda) return {1, 2, 3, 4};
  return {1, 2, 3, 4, 5, 7, 8};
}
// GPUs may be few: NCCL gives each rank one of its own.
inline bool has_devices_for(const Training& t) {
  return t.device == DeviceKind::cpu || t.options.collectives != Collectives::nccl ||
         (nccl::built() && static_cast<std::size_t>(t.ranks) <= cuda::gpus().size());
}

inline constexpr bool on_gpu = test_device == DeviceKind::cuda;

}  // namespace shardmark
