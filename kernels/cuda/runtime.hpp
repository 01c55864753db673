#pragma once
// Who owns what the CUDA runtime hands out? One type each for streams, events, pinned and device
// memory; and what CUDA says is wrong becomes a sentence.
#include <cuda_runtime_api.h>

#include <memory>
#include <utility>
#include <vector>

#include "kernels/view.hpp"

namespace shardmark::cuda {

// Throws Error with what CUDA says, and what it was asked for: "a kernel of adamw: ...".
void check(cudaError_t, const char* what);

class Stream {
 public:
  Stream();
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

// An event, timed or not; what waits for it may outlive it.
class Moment {
 public:
  explicit Moment(bool timed);
  Moment(Moment&& o) noexcept : event_(std::exchange(o.event_, nullptr)) {}
  Moment& operator=(Moment&& o) noexcept {
    std::swap(event_, o.event_);
    return *this;
  }
  ~Moment();
  cudaEvent_t get() const { return event_; }
  void record(cudaStream_t);
  bool reached() const;                               // asks, does not wait
  std::int64_t ns_since(const Moment& before) const;  // both timed and reached

 private:
  cudaEvent_t event_ = nullptr;
};

// Moments that are used again: making one costs a microsecond.
class Moments {
 public:
  explicit Moments(bool timed) : timed_(timed) {}
  Moment take();
  void put(Moment m) { free_.push_back(std::move(m)); }

 private:
  bool timed_;
  std::vector<Moment> free_;
};

// Host memory that a GPU reads by itself while the host goes on.
class Pinned {
 public:
  explicit Pinned(std::size_t bytes);
  Pinned(Pinned&& o) noexcept
      : at_(std::exchange(o.at_, nullptr)), bytes_(std::exchange(o.bytes_, 0)) {}
  Pinned& operator=(Pinned&& o) noexcept {
    std::swap(at_, o.at_);
    std::swap(bytes_, o.bytes_);
    return *this;
  }
  ~Pinned();
  void* get() const { return at_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void* at_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace shardmark::cuda
