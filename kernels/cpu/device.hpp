#pragma once
// The CPU as a device: memory from the operating system, a compute queue that is the calling thread
// itself, and a communication queue on a thread of its own (or the same queue, without overlap).
#include "kernels/cpu/queue.hpp"
#include "kernels/device.hpp"
#include "kernels/free_list.hpp"

namespace shardmark {

struct CpuOptions {
  bool overlap = true;
  int threads = 1;           // that ops may compute with
  bool record = true;        // keep the timeline
  nvtx::Owner owner{};       // what profilers call the queues; two_queues is overlap
  std::int64_t spin_ns = 0;  // how long a wait may spin: only where every thread has a core
  int late_us = 0;           // > 0: both queues on threads that run late on purpose (tests)
  cpu::Poll poll;            // called while waiting; throws if another rank has failed
  std::function<void(std::exception_ptr)> on_error;
  std::function<void(const Interval&)> on_span;
  // Behind each op, on its queue's thread.
  std::function<void(const Op&, int step, std::int64_t ns)> on_op;
};

class CpuArena final : public Arena {
 public:
  ~CpuArena() override;

 private:
  View do_alloc(std::size_t size, DType, Event& free) override;
  void do_free(View, Event after) override;
  FreeList free_;
};

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(CpuOptions);
  ~CpuDevice() override;
  Queue& compute() override { return *compute_; }
  Queue& comm() override { return comm_ ? *comm_ : *compute_; }
  Arena& memory() override { return arena_; }
  void begin_step(int step) override { context_.step = step; }
  void drain() override;
  void stop() noexcept override;
  const Timeline& timeline() const override { return context_.timeline; }
  std::size_t scratch_bytes(const Op&) const override;
  std::vector<float> fetch_f32(ConstView) override;

 private:
  void do_fetch(ConstView from, void* to) override;

  CpuQueueContext context_;
  CpuArena arena_;
  std::unique_ptr<CpuQueue> compute_, comm_;
};

}  // namespace shardmark
