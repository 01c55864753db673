#pragma once
// At which clocks does a GPU run just now, and what holds it back? NVML's answers. The library
// comes with the driver and is looked for when an object of this is made.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shardmark {

// What the driver does not tell of this GPU is absent.
struct GpuState {
  std::optional<unsigned> sm_mhz, memory_mhz;
  std::optional<unsigned> most_sm_mhz;  // that this GPU can reach
  std::optional<unsigned> power_mw, temperature_c;
  std::optional<std::vector<std::string>>
      reasons;          // for clocks below the most, as nvml.h calls them
  std::string why_not;  // one sentence where the GPU could not be asked
};

// idle and settings are reasons as well as a limit of power or heat.
std::vector<std::string> clock_reasons(std::uint64_t bits);

class Nvml {
 public:
  explicit Nvml(const std::string& library = "libnvidia-ml.so.1");
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  const std::string& why_not() const { return why_not_; }  // one sentence; empty where it is there
  const std::string& driver() const { return driver_; }    // its version; empty where not known

  // pci_bus_id: as CUDA writes it ("0000:3b:00.0"), for NVML counts GPUs in an order of its own.
  GpuState state(const std::string& pci_bus_id) const;

 private:
  struct Functions;
  std::string start(const std::string& library);
  std::string said(int result) const;
  std::unique_ptr<Functions> call_;  // none: it is not there
  std::string why_not_, driver_;
};

}  // namespace shardmark
