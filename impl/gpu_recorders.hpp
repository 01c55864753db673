#pragma once
// Who watches the GPUs of one process? What records their activities, tells Nsight when to capture
// and asks for clocks: one of each, shared by all ranks of the process. Nobody where the processor
// computes.
#include <optional>

#include "impl/train.hpp"
#include "profilers/capture_range.hpp"
#include "profilers/cupti.hpp"

namespace shardmark {

struct GpuRecorders {
  std::optional<cupti::Recorder> cupti;  // where the training is profiled
  std::optional<CaptureRange> capture;
  std::optional<Nvml> nvml;

  // ranks: of this process. The recorder records from here on.
  GpuRecorders(const Training& t, int ranks) {
    if (t.device != DeviceKind::cuda) return;
    capture.emplace(ranks);
    nvml.emplace();
    if (t.profile) cupti.emplace();
  }
};

}  // namespace shardmark
