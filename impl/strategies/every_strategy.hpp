#pragma once
// Over what do the tests of strategies loop? Every one that is registered, by name; and on which
// device, since the same sources are built for the processor and for GPUs.
#include <string>
#include <vector>

#include "impl/strategies/strategy.hpp"
#include "impl/train.hpp"

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
inline constexpr bool on_gpu = test_device == DeviceKind::cuda;

}  // namespace shardmark
