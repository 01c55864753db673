#pragma once
// What is a device? Memory, two queues, and the timeline of what ran on them. Three of them: cpu,
// dry (and cuda).
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
  virtual const Timeline& timeline() const = 0;
  // Bytes of scratch that this op asks for; only its shape, types and transposes count.
  virtual std::size_t scratch_bytes(const Op&) const = 0;
};

}  // namespace shardmark
