#include "device.hpp"

#include "kernels/cpu/math.hpp"
#include "kernels/cpu/pages.hpp"

namespace shardmark {

CpuArena::~CpuArena() {
  free_.each([](std::uintptr_t at, std::size_t bytes) { cpu::give(at, bytes); });
}

View CpuArena::do_alloc(std::size_t size, DType dtype, Event& free) {
  const std::size_t bytes = cpu::rounded(size * size_of(dtype));
  if (const auto again = free_.take(bytes)) {
    free = again->after;
    return {again->address, size, dtype, Space::host};
  }
  return {cpu::take(bytes), size, dtype, Space::host};
}

void CpuArena::do_free(View v, Event after) {
  free_.put(cpu::rounded(v.bytes()), {v.address(), after});
}

CpuDevice::CpuDevice(CpuOptions o) {
  context_.record = o.record;
  context_.threads = o.threads;
  context_.owner = std::move(o.owner);
  context_.owner.two_queues = o.overlap;
  context_.poll = std::move(o.poll);
  context_.on_error = std::move(o.on_error);
  context_.on_span = std::move(o.on_span);
  context_.on_op = std::move(o.on_op);
  context_.wait_for = [this](Event e) {
    compute_->wait_for(e.ticket(0));
    if (comm_) comm_->wait_for(e.ticket(1));
  };
  if (o.late_us > 0)
    compute_ = std::make_unique<WorkerQueue>(context_, 0, o.spin_ns, o.late_us);
  else
    compute_ = std::make_unique<InlineQueue>(context_, 0, o.spin_ns);
  if (o.overlap) comm_ = std::make_unique<WorkerQueue>(context_, 1, o.spin_ns, o.late_us);
}

// The workers end before each other's counters, and the memory that their last ops may touch, go
// away.
CpuDevice::~CpuDevice() { stop(); }

void CpuDevice::stop() noexcept {
  compute_->stop();
  if (comm_) comm_->stop();
}

void CpuDevice::drain() {
  compute_->end_step();
  compute_->wait_for(compute_->enqueued());
  if (comm_) comm_->wait_for(comm_->enqueued());
}

std::size_t CpuDevice::scratch_bytes(const Op& op) const {
  return cpu::scratch_bytes(op, context_.threads);
}

void CpuDevice::do_fetch(ConstView from, void* to) {
  drain();
  std::memcpy(to, reinterpret_cast<const void*>(from.address()), from.bytes());
}

std::vector<float> CpuDevice::fetch_f32(ConstView from) {
  drain();
  std::vector<float> to(from.size());
  if (from)
    cpu::run(Cast{from, View(reinterpret_cast<std::uintptr_t>(to.data()), to.size(), DType::f32,
                             Space::host)},
             context_.threads);
  return to;
}

}  // namespace shardmark
