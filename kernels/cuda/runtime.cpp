#include "runtime.hpp"

#include <cmath>
#include <string>

namespace shardmark::cuda {

void check(cudaError_t e, const char* what) {
  if (e == cudaSuccess) return;
  (void)cudaGetLastError();  // what has been said once is not said again
  throw Error(std::string("CUDA: ") + what + ": " + cudaGetErrorString(e));
}

Stream::Stream() {
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
}
Stream::~Stream() { cudaStreamDestroy(stream_); }

Moment::Moment(bool timed) {
  check(cudaEventCreateWithFlags(&event_, timed ? 0 : cudaEventDisableTiming), "making an event");
}
Moment::~Moment() {
  if (event_) cudaEventDestroy(event_);
}
void Moment::record(cudaStream_t s) { check(cudaEventRecord(event_, s), "recording an event"); }

bool Moment::reached() const {
  const cudaError_t e = cudaEventQuery(event_);
  if (e == cudaErrorNotReady) return false;
  check(e, "work that was enqueued before");
  return true;
}

std::int64_t Moment::ns_since(const Moment& before) const {
  float ms = 0;
  check(cudaEventElapsedTime(&ms, before.event_, event_), "the time between two events");
  return std::llround(static_cast<double>(ms) * 1e6);
}

Moment Moments::take() {
  if (free_.empty()) return Moment(timed_);
  Moment m = std::move(free_.back());
  free_.pop_back();
  return m;
}

Pinned::Pinned(std::size_t bytes) : bytes_(bytes) {
  check(cudaMallocHost(&at_, bytes), "pinned memory of the host");
}
Pinned::~Pinned() {
  if (at_) cudaFreeHost(at_);
}

}  // namespace shardmark::cuda
