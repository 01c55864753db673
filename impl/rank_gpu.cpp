// What does a rank learn of its GPU beside the training? Whose its memory is, at which clocks it
// runs, and what it did for each span. See rank_run.hpp.
#include "impl/rank_run.hpp"
#include "impl/rank_timeline.hpp"

namespace shardmark {

// What the driver says is looked at while no rank allocates.
std::unique_ptr<Communicator> RankRun::communicator(const MakeCommunicator& make_it) {
  report_.gpu.gpu = gpu_of(training_, place_);
  if (report_.gpu.gpu < 0) return make_it(*device_);
  report_.gpu.id = cuda::gpus()[static_cast<std::size_t>(report_.gpu.gpu)].id;
  world_.gather("");
  report_.gpu.used_before_bytes = gpu_used();
  world_.gather("");
  auto made = make_it(*device_);
  world_.gather("");
  report_.gpu.communicator_bytes = gpu_used() - report_.gpu.used_before_bytes;
  world_.gather("");
  return made;
}

std::int64_t RankRun::gpu_used() const {
  const int gpu = report_.gpu.gpu;
  const std::uint64_t all = cuda::gpus()[static_cast<std::size_t>(gpu)].memory_bytes;
  return static_cast<std::int64_t>(all) - static_cast<std::int64_t>(cuda::free_bytes(gpu));
}

std::unique_ptr<NvmlWatch> RankRun::watch_gpu() const {
  const int gpu = report_.gpu.gpu;
  if (gpu < 0 || !recorders_.watches(place_, gpu)) return nullptr;
  return std::make_unique<NvmlWatch>(*recorders_.nvml,
                                     cuda::gpus()[static_cast<std::size_t>(gpu)].pci_bus_id);
}

// All ranks have drained, and those that are threads of this process are in the same recording:
// nobody enqueues anything before all have it.
void RankRun::read_activities() {
  if (!recorders_.cupti) return;
  report_.profile.why_not = recorders_.cupti->why_not();
  if (recorders_.cupti->recording())
    attributed_ = attribute(*recorders_.cupti->activities(), world_.rank(), device_->timeline());
  world_.gather("");
}

// By what the GPU did, where that was recorded; else by the events around each span.
Timeline RankRun::recorded() {
  if (!attributed_) return device_->timeline();
  report_.profile.by_events = step_times(device_->timeline(), training_);
  Timeline by_activities = std::move(attributed_->timeline);
  attributed_->timeline = {};
  report_.profile.sums = std::move(*attributed_);
  return by_activities;
}

}  // namespace shardmark
