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
  int ranks;  // of this process

  // Of the ranks of a process that share a GPU the first one looks for all: threads are placed from
  // 0 on.
  bool watches(int place, int gpu) const { return ranks == 1 || place == gpu; }

  // The recorder records from here on.
  GpuRecorders(const Training& t, int ranks_here) : ranks(ranks_here) {
    if (t.device != DeviceKind::cuda) return;
    capture.emplace(ranks);
    nvml.emplace();
    if (t.profile) cupti.emplace();
  }
};

}  // namespace shardmark
