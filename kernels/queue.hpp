#pragma once
// In which order do things happen? Two queues a rank, each in order; an event says "everything
// enqueued up to here".
#include <algorithm>

#include "op.hpp"
#include "profilers/timeline.hpp"

namespace shardmark {

// A ticket per queue, so that joining two events is a maximum. There is no default: none() must be
// written out.
class Event {
 public:
  static Event none() { return Event(0, 0); }
  friend Event operator|(Event a, Event b) {
    return Event(std::max(a.ticket_[0], b.ticket_[0]), std::max(a.ticket_[1], b.ticket_[1]));
  }
  std::uint64_t ticket(int lane) const { return ticket_[lane]; }

 private:
  friend class Queue;
  Event(std::uint64_t compute, std::uint64_t comm) : ticket_{compute, comm} {}
  std::uint64_t ticket_[2];
};

class Queue;
// A stretch of one queue that belongs to one phase; timeline, NVTX and CUPTI correlation hang here
// and nowhere else.
class Span {
 public:
  explicit Span(Queue& q) : queue_(q) {}
  [[nodiscard]] Event end();  // everything enqueued in it

 private:
  Queue& queue_;
};

class Queue {
 public:
  explicit Queue(int lane) : lane_(lane) {}
  virtual ~Queue() = default;
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  // Waits, then opens the span: so waiting is never counted as work. carries: what a collective
  // does; none for what computes.
  Span begin(Phase phase, int label, Event after, std::optional<Collective> carries = {}) {
    do_begin({.phase = phase, .label = label, .collective = carries}, after);
    return Span(*this);
  }
  virtual void run(Op) = 0;      // inside a span
  virtual void wait(Event) = 0;  // later work of this queue comes after it
  int lane() const { return lane_; }

 protected:
  Event event(std::uint64_t ticket) const {
    return lane_ == 0 ? Event(ticket, 0) : Event(0, ticket);
  }

 private:
  friend class Span;
  virtual void do_begin(Interval, Event after) = 0;  // all but its times and its step is filled in
  virtual Event do_end() = 0;
  int lane_;
};

inline Event Span::end() { return queue_.do_end(); }

}  // namespace shardmark
