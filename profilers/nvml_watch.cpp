#include "profilers/nvml_watch.hpp"

#include <algorithm>
#include <set>

namespace shardmark {
namespace {

// What the samples told of one thing, in order.
std::vector<unsigned> told(const std::vector<GpuState>& samples,
                           std::optional<unsigned> GpuState::*what) {
  std::vector<unsigned> out;
  for (const GpuState& s : samples)
    if (s.*what) out.push_back(*(s.*what));
  std::ranges::sort(out);
  return out;
}

}  // namespace

GpuStates together(const std::vector<GpuState>& samples) {
  GpuStates out;
  out.samples = samples.size();
  if (const auto sm = told(samples, &GpuState::sm_mhz); !sm.empty()) {
    out.min_sm_mhz = sm.front();
    out.median_sm_mhz = sm[(sm.size() - 1) / 2];
  }
  if (const auto memory = told(samples, &GpuState::memory_mhz); !memory.empty())
    out.min_memory_mhz = memory.front();
  for (const auto& [to, from] : {std::pair(&out.most_sm_mhz, &GpuState::most_sm_mhz),
                                 {&out.max_power_mw, &GpuState::power_mw},
                                 {&out.max_temperature_c, &GpuState::temperature_c}})
    if (const auto all = told(samples, from); !all.empty()) *to = all.back();
  std::set<std::string> reasons;
  bool any = false;
  for (const GpuState& s : samples) {
    any |= s.reasons.has_value();
    if (s.reasons) reasons.insert(s.reasons->begin(), s.reasons->end());
    out.why_not = s.why_not;
  }
  if (any) out.reasons.emplace(reasons.begin(), reasons.end());
  return out;
}

NvmlWatch::NvmlWatch(const Nvml& nvml, std::string pci_bus_id, std::chrono::milliseconds every)
    : thread_([this, &nvml, id = std::move(pci_bus_id), every] { watch(nvml, id, every); }) {}

void NvmlWatch::watch(const Nvml& nvml, const std::string& pci_bus_id,
                      std::chrono::milliseconds every) {
  std::unique_lock lock(mutex_);
  do {
    lock.unlock();
    samples_.push_back(nvml.state(pci_bus_id));
    lock.lock();
  } while (!changed_.wait_for(lock, every, [this] { return stop_; }));
}

GpuStates NvmlWatch::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
  return together(samples_);
}

}  // namespace shardmark
