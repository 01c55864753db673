#pragma once
// What is a device? Memory, two queues, and the timeline of what ran on them. Three of them: cpu,
// cuda and dry.
#include <cstring>
#include <vector>

#include "arena.hpp"
#include "profilers/timeline.hpp"

namespace shardmark {

class Device {
 public:
  virtual ~Device() = default;
  virtual Queue& compute() = 0;
  virtual Queue& comm() = 0;  // without overlap: the same queue as compute()
  virtual Arena& memory() = 0;
  virtual void begin_step(int step) = 0;  // spans opened from here on belong to it
  virtual void drain() = 0;               // the calling thread waits for both queues
  // Finishes what is enqueued as far as that goes and ends the queues; frees nothing, since peers
  // may still read it.
  virtual void stop() noexcept = 0;
  virtual const Timeline& timeline() const = 0;
  // Bytes of scratch that this op asks for; only its shape, types and transposes count.
  virtual std::size_t scratch_bytes(const Op&) const = 0;

  // A copy in the host's memory of what a view holds once the queues are drained.
  template <class T>
  std::vector<T> fetch(ConstView from) {
    require(from.dtype() == dtype_of<T>() || !from, "a view was fetched as another type");
    std::vector<T> to(from.size());
    if (from) do_fetch(from, to.data());
    return to;
  }
  // The same as f32, whatever floats they are.
  virtual std::vector<float> fetch_f32(ConstView) = 0;

 private:
  virtual void do_fetch(ConstView from, void* to) = 0;
};

}  // namespace shardmark
