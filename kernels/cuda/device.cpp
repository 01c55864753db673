// How does a GPU run a step? The host enqueues both streams and goes on; it waits for the step
// before the last one to end, so that it is never far ahead, and at a drain for everything.
#include "kernels/cuda/device.hpp"

#include <chrono>
#include <thread>

#include "kernels/cuda/gpu_device.hpp"

namespace shardmark::cuda {

GpuDevice::GpuDevice(Options o)
    : options_(std::move(o)), arena_(options_.gpu, [this] { drain(); }) {
  check(cudaSetDevice(options_.gpu), "choosing a GPU");
  context_.record = options_.record;
  blas_.emplace();
  options_.owner.two_queues = false;
  context_.rank = options_.owner.rank;
  context_.ranges = std::make_unique<nvtx::Ranges>(options_.owner, 0);
  context_.launch.blas = &*blas_;
  const Gpu is = gpus()[static_cast<std::size_t>(options_.gpu)];
  context_.launch.major = is.major;
  context_.launch.multiprocessors = is.multiprocessors;
  context_.launch.tf32 = options_.tf32;
  context_.poll = options_.poll;
  context_.on_span = options_.on_span;
  context_.recorder = options_.recorder;
  compute_ = std::make_unique<GpuQueue>(context_, 0);
  context_.lanes[0] = compute_.get();
  if (options_.overlap) comm_ = std::make_unique<GpuQueue>(context_, 1);
  context_.lanes[1] = comm_.get();
  // Nothing is enqueued yet, so that the host's clock and the GPU's meet here.
  anchors_.push_back(anchor());
  check(cudaStreamSynchronize(compute_->stream()), "the first event");
  anchors_[0]->ns = now_ns();
  for (GpuQueue* q : {compute_.get(), comm_.get()})
    if (q) q->measure_from(anchors_[0]);
}

// A rank's device may end on another thread than its own.
GpuDevice::~GpuDevice() {
  cudaSetDevice(options_.gpu);
  stop();
}

std::shared_ptr<Anchor> GpuDevice::anchor() {
  auto a = std::make_shared<Anchor>(Anchor{Moment(true), {}});
  a->moment.record(compute_->stream());
  return a;
}

void GpuDevice::settle_anchors() {
  while (anchors_.size() > 1 && anchors_[1]->moment.reached()) {
    anchors_[1]->ns = *anchors_[0]->ns + anchors_[1]->moment.ns_since(anchors_[0]->moment);
    anchors_.pop_front();
  }
}

bool GpuDevice::harvest() {
  settle_anchors();
  const bool computed = compute_->harvest(), sent = comm_ && comm_->harvest();
  return computed || sent;
}

void GpuDevice::begin_step(int step) {
  context_.step = step;
  for (GpuQueue* q : {compute_.get(), comm_.get()}) {
    if (!q) continue;
    q->measure_from(anchors_.back());
    wait_until([&] { return q->idle() || q->oldest_step() >= step - 1; });
  }
  anchors_.push_back(anchor());
}

void GpuDevice::wait_until(const std::function<bool()>& reached) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point since = Clock::now();
  while (true) {
    if (harvest()) since = Clock::now();
    if (reached()) return;
    context_.check();
    const double waited = std::chrono::duration<double>(Clock::now() - since).count();
    if (waited > options_.timeout_s)
      throw Error("the GPU's queues have ended no span for more than " +
                  std::to_string(static_cast<int>(options_.timeout_s)) + " s");
    // At first it is a matter of microseconds; a core that spins is one less for the others.
    std::this_thread::sleep_for(std::chrono::microseconds(waited < 1e-3 ? 5 : 100));
  }
}

void GpuDevice::drain() {
  context_.ranges->end_step();
  wait_until([this] { return compute_->idle() && (!comm_ || comm_->idle()); });
  context_.check();
}

// What hangs on a peer that is gone would never end: its communicator has aborted it by then.
void GpuDevice::stop() noexcept {
  for (GpuQueue* q : {compute_.get(), comm_.get()})
    if (q) cudaStreamSynchronize(q->stream());
}

std::size_t GpuDevice::scratch_bytes(const Op& op) const {
  return cuda::scratch_bytes(op, context_.launch);
}

void GpuDevice::do_fetch(ConstView from, void* to) {
  drain();
  check(cudaMemcpyAsync(to, reinterpret_cast<const void*>(from.address()), from.bytes(),
                        cudaMemcpyDeviceToHost, compute_->stream()),
        "reading a GPU's memory");
  check(cudaStreamSynchronize(compute_->stream()), "reading a GPU's memory");
}

std::vector<float> GpuDevice::fetch_f32(ConstView from) {
  if (from.dtype() == DType::f32) return fetch<float>(from);
  Buffer wide = arena_.alloc(from.size(), DType::f32, Tag::workspace, *compute_);
  Span span = compute_->begin(Phase::update, no_label, Event::none());
  compute_->run(Cast{from, wide.view()});
  const Event done = span.end();
  std::vector<float> to = fetch<float>(wide.view());
  wide.give_back(done);
  return to;
}

GpuArena::~GpuArena() {
  free_.each([](std::uintptr_t at, std::size_t) { cudaFree(reinterpret_cast<void*>(at)); });
}

namespace {
// As the driver aligns it, and as vector accesses want it.
std::size_t rounded(std::size_t bytes) { return (bytes + 511) / 512 * 512; }
}  // namespace

View GpuArena::do_alloc(std::size_t size, DType dtype, Event& free) {
  const std::size_t bytes = rounded(size * size_of(dtype));
  if (bytes == 0) return {0, 0, dtype, Space::device};
  if (const auto again = free_.take(bytes)) {
    free = again->after;
    return {again->address, size, dtype, Space::device};
  }
  return {reinterpret_cast<std::uintptr_t>(ask_driver(bytes)), size, dtype, Space::device};
}

// Where the driver has no more, what lies here unused is given back to it first.
void* GpuArena::ask_driver(std::size_t bytes) {
  void* at = nullptr;
  cudaError_t said = cudaMalloc(&at, bytes);
  if (said == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    drain_();
    free_.clear([this](std::uintptr_t unused, std::size_t n) {
      check(cudaFree(reinterpret_cast<void*>(unused)), "giving memory back");
      reserved_ -= n;
    });
    said = cudaMalloc(&at, bytes);
  }
  if (said == cudaErrorMemoryAllocation) out_of_memory(bytes);
  check(said, "memory of the GPU");
  reserved_ += bytes;
  return at;
}

void GpuArena::out_of_memory(std::size_t bytes) const {
  (void)cudaGetLastError();
  const auto gb = [](std::uint64_t n) {
    std::string s = std::to_string(static_cast<double>(n) * 1e-9);
    return s.substr(0, s.find('.') + 4) + " GB";
  };
  const Gpu gpu = gpus()[static_cast<std::size_t>(gpu_)];
  throw Error("out of device memory: " + gb(bytes) + " more were asked of GPU " +
              std::to_string(gpu_) + " (" + gpu.name + "), which has " + gb(free_bytes(gpu_)) +
              " of " + gb(gpu.memory_bytes) + " free; this rank holds " + gb(ledger().live()));
}

void GpuArena::do_free(View v, Event after) {
  if (v) free_.put(rounded(v.bytes()), {v.address(), after});
}

std::unique_ptr<Device> make_device(Options o) {
  if (const std::string why = why_none(); !why.empty()) throw InputError(why);
  const std::size_t there = gpus().size();
  if (o.gpu < 0 || static_cast<std::size_t>(o.gpu) >= there)
    throw InputError("GPU " + std::to_string(o.gpu) + " was asked for, but there are " +
                     std::to_string(there));
  return std::make_unique<GpuDevice>(std::move(o));
}

}  // namespace shardmark::cuda
