#pragma once
// How many bytes are held at most, and how much was sent? Written by the rank's own thread only, in
// program order: a peak is a function of the cell, never of timing.
#include <algorithm>
#include <compare>
#include <map>
#include <utility>
#include <vector>

#include "timeline.hpp"

namespace shardmark {

using Held = std::pair<Tag, DType>;
using Called = std::pair<Verb, DType>;

// What is held of a tag and a type from then on, by the clock of the timeline.
struct MemoryEvent {
  std::int64_t time_ns = 0;
  std::uint64_t live_bytes = 0;
  Tag tag = Tag::parameter;
  DType dtype = DType::f32;
  bool operator==(const MemoryEvent&) const = default;
};

class MemoryLedger {
 public:
  void add(Held what, std::uint64_t bytes) {
    std::uint64_t& now = live_[what];
    now += bytes;
    total_ += bytes;
    peaks_[what] = std::max(peaks_[what], now);
    peak_ = std::max(peak_, total_);
    ++allocations_;
    if (keeps_events_) keep(what, now);
  }
  void remove(Held what, std::uint64_t bytes) {
    std::uint64_t& now = live_[what];
    now -= bytes;
    total_ -= bytes;
    if (keeps_events_) keep(what, now);
  }
  // From here on every change is an event; the first ones say what is held already.
  void keep_events() {
    keeps_events_ = true;
    for (const auto& [what, bytes] : live_) keep(what, bytes);
  }
  const std::vector<MemoryEvent>& events() const { return events_; }
  // From here on a peak is the most that is held from now.
  void restart_peaks() {
    peaks_ = live_;
    peak_ = total_;
  }
  std::uint64_t live(Held what) const {
    const auto it = live_.find(what);
    return it == live_.end() ? 0 : it->second;
  }
  std::uint64_t live() const { return total_; }
  // Of the tags that come and go within a step: behind it there should be nothing.
  std::map<Held, std::uint64_t> left_over() const {
    std::map<Held, std::uint64_t> out;
    for (const auto& [what, bytes] : live_)
      if (is_passing(what.first) && bytes > 0) out[what] = bytes;
    return out;
  }
  const std::map<Held, std::uint64_t>& peaks() const {
    return peaks_;
  }                                             // bytes, each at its own worst moment
  std::uint64_t peak() const { return peak_; }  // bytes, everything at the worst moment
  std::uint64_t allocations() const { return allocations_; }

 private:
  void keep(Held what, std::uint64_t live) {
    events_.push_back({now_ns(), live, what.first, what.second});
  }
  std::map<Held, std::uint64_t> live_, peaks_;
  std::uint64_t total_ = 0, peak_ = 0, allocations_ = 0;
  bool keeps_events_ = false;
  std::vector<MemoryEvent> events_;
};

// payload: bytes of the verb's whole array. volume: bytes that the algorithm must send from this
// rank, by its formula on the real parts; what the transport really saw leave is moved_bytes() of
// the communicator.
struct Traffic {
  std::uint64_t calls = 0, payload = 0, volume = 0;
  bool operator==(const Traffic&) const = default;
  Traffic operator-(const Traffic& o) const {
    return {calls - o.calls, payload - o.payload, volume - o.volume};
  }
};
using TrafficLedger = std::map<Called, Traffic>;

}  // namespace shardmark
