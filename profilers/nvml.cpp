#include "profilers/nvml.hpp"

#include <dlfcn.h>

#include <array>

namespace shardmark {
namespace {

// Of nvml.h, which not every CUDA Toolkit brings: an interface that has not changed for ten years.
using Device = struct nvmlDevice_st*;
constexpr int success = 0, sm_clock = 1, memory_clock = 2, gpu_sensor = 0;
constexpr unsigned driver_version_bytes = 80;
constexpr std::array reasons = {"gpu_idle",
                                "applications_clocks_setting",
                                "sw_power_cap",
                                "hw_slowdown",
                                "sync_boost",
                                "sw_thermal_slowdown",
                                "hw_thermal_slowdown",
                                "hw_power_brake_slowdown",
                                "display_clock_setting"};

template <class Function>
void find(void* library, const char* name, Function& f) {
  f = reinterpret_cast<Function>(::dlsym(library, name));
}

}  // namespace

struct Nvml::Functions {
  explicit Functions(void* from) : library(from) {
    find(library, "nvmlInit_v2", init);
    find(library, "nvmlShutdown", shutdown);
    find(library, "nvmlErrorString", error);
    find(library, "nvmlSystemGetDriverVersion", driver);
    find(library, "nvmlDeviceGetHandleByPciBusId_v2", device);
    find(library, "nvmlDeviceGetClockInfo", clock);
    find(library, "nvmlDeviceGetMaxClockInfo", most_clock);
    find(library, "nvmlDeviceGetPowerUsage", power);
    find(library, "nvmlDeviceGetTemperature", temperature);
    find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", reasons_now);
    if (!reasons_now) find(library, "nvmlDeviceGetCurrentClocksEventReasons", reasons_now);
  }
  ~Functions() { ::dlclose(library); }
  // Of those without which there is nothing to ask; the others may be absent.
  bool enough() const { return init && shutdown && device; }

  void* library;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*error)(int) = nullptr;
  int (*driver)(char*, unsigned) = nullptr;
  int (*device)(const char*, Device*) = nullptr;
  int (*clock)(Device, int, unsigned*) = nullptr;
  int (*most_clock)(Device, int, unsigned*) = nullptr;
  int (*power)(Device, unsigned*) = nullptr;
  int (*temperature)(Device, int, unsigned*) = nullptr;
  int (*reasons_now)(Device, unsigned long long*) = nullptr;
};

std::vector<std::string> clock_reasons(std::uint64_t bits) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < 64; ++i)
    if (bits >> i & 1) out.push_back(i < reasons.size() ? reasons[i] : "bit_" + std::to_string(i));
  return out;
}

Nvml::Nvml(const std::string& library) {
  const std::string wrong = start(library);
  if (wrong.empty()) return;
  why_not_ = "No clocks of GPUs are known: " + wrong + ".";
  call_.reset();
}

std::string Nvml::start(const std::string& library) {
  void* loaded = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!loaded)
    return "NVML, which NVIDIA's driver has, could not be loaded: " + std::string(::dlerror());
  call_ = std::make_unique<Functions>(loaded);
  if (!call_->enough()) return library + " is not NVML";
  if (const int result = call_->init(); result != success) return "NVML answers " + said(result);
  char version[driver_version_bytes] = {};
  if (call_->driver && call_->driver(version, sizeof version) == success) driver_ = version;
  return "";
}

Nvml::~Nvml() {
  if (call_) call_->shutdown();
}

std::string Nvml::said(int result) const {
  const char* text = call_->error ? call_->error(result) : nullptr;
  return text ? std::string("\"") + text + "\"" : "error " + std::to_string(result);
}

GpuState Nvml::state(const std::string& pci_bus_id) const {
  GpuState out;
  out.why_not = why_not_;
  if (!call_) return out;
  Device device = nullptr;
  if (const int result = call_->device(pci_bus_id.c_str(), &device); result != success) {
    out.why_not =
        "No clocks of GPU " + pci_bus_id + " are known: NVML answers " + said(result) + ".";
    return out;
  }
  const auto ask = [&](std::optional<unsigned>& value, auto function, auto... which) {
    unsigned answer = 0;
    if (function && function(device, which..., &answer) == success) value = answer;
  };
  ask(out.sm_mhz, call_->clock, sm_clock);
  ask(out.memory_mhz, call_->clock, memory_clock);
  ask(out.most_sm_mhz, call_->most_clock, sm_clock);
  ask(out.power_mw, call_->power);
  ask(out.temperature_c, call_->temperature, gpu_sensor);
  unsigned long long bits = 0;
  if (call_->reasons_now && call_->reasons_now(device, &bits) == success)
    out.reasons = clock_reasons(bits);
  return out;
}

}  // namespace shardmark
