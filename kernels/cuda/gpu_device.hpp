#pragma once
// A GPU as a device: two streams, and memory that the driver is asked for once.
#include <array>

#include "kernels/cuda/device.hpp"
#include "kernels/cuda/matmul.hpp"
#include "kernels/cuda/queue.hpp"
#include "kernels/free_list.hpp"

namespace shardmark::cuda {

// Memory that was given back is kept, by its size, for whoever asks next. What the driver was asked
// for stands beside what the driver says: free_bytes().
class GpuArena final : public Arena {
 public:
  // catch_up: waits for all that is enqueued; false inside a span, which would never end.
  GpuArena(int gpu, std::function<bool()> catch_up) : gpu_(gpu), catch_up_(std::move(catch_up)) {}
  ~GpuArena() override;
  std::uint64_t reserved_bytes() const { return reserved_; }

 private:
  View do_alloc(std::size_t size, DType, Event& free) override;
  void do_free(View, Event after) override;
  void* ask_driver(std::size_t bytes);
  [[noreturn]] void out_of_memory(std::size_t bytes) const;

  int gpu_;
  std::function<bool()> catch_up_;
  FreeList free_;
  std::uint64_t reserved_ = 0;
};

class GpuDevice final : public Device {
 public:
  explicit GpuDevice(Options);
  ~GpuDevice() override;
  Queue& compute() override { return *compute_; }
  Queue& comm() override { return comm_ ? *comm_ : *compute_; }
  GpuArena& memory() override { return arena_; }
  const Blas& blas() const { return *blas_; }
  void begin_step(int step) override;
  void drain() override;
  void stop() noexcept override;
  const Timeline& timeline() const override { return context_.timeline; }
  std::size_t scratch_bytes(const Op&) const override;
  std::vector<float> fetch_f32(ConstView) override;

 private:
  void do_fetch(ConstView from, void* to) override;
  bool harvest();  // whether the GPU went on
  void wait_until(const std::function<bool()>& reached);
  void wait_for_all();
  bool catch_up();
  std::shared_ptr<Anchor> anchor();
  void settle_anchors();
  Sighting sighting();
  void start_from(Sighting);
  void tie_clocks();

  Options options_;
  std::optional<Blas> blas_;  // of the GPU, once that is chosen
  GpuQueueContext context_;
  GpuArena arena_;
  std::unique_ptr<GpuQueue> compute_, comm_;
  std::deque<std::shared_ptr<Anchor>> anchors_;  // the first is known
  Sighting tie_;                                 // where the two clocks were last made to agree
  std::array<std::size_t, 2> tied_{};            // by lane: how many spans lie before it
};

}  // namespace shardmark::cuda
