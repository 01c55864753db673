#pragma once
// At which clocks did a GPU run while something was measured? A thread of its own asks NVML over
// and over, since a GPU that waits clocks down: before and behind the steps says nothing of them.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "profilers/nvml.hpp"

namespace shardmark {

// What the driver never told is absent.
struct GpuStates {
  std::size_t samples = 0;
  std::optional<unsigned> min_sm_mhz, median_sm_mhz;  // of an even number, the lower middle one
  std::optional<unsigned> most_sm_mhz;                // that this GPU can reach
  std::optional<unsigned> min_memory_mhz, max_power_mw, max_temperature_c;
  std::optional<std::vector<std::string>> reasons;  // that any sample had, in alphabetical order
  std::string why_not;                              // of the last sample
};
GpuStates together(const std::vector<GpuState>& samples);

class NvmlWatch {
 public:
  // The first sample is taken at once. pci_bus_id: as Nvml::state() takes it; nvml outlives this.
  NvmlWatch(const Nvml&, std::string pci_bus_id,
            std::chrono::milliseconds every = std::chrono::milliseconds(100));
  ~NvmlWatch() { stop(); }
  NvmlWatch(const NvmlWatch&) = delete;
  NvmlWatch& operator=(const NvmlWatch&) = delete;
  // Behind it nobody asks any more.
  GpuStates stop();

 private:
  void watch(const Nvml&, const std::string& pci_bus_id, std::chrono::milliseconds every);
  std::vector<GpuState> samples_;  // of the thread, until it has ended
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace shardmark
