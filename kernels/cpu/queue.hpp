#pragma once
// Who runs the ops of a CPU queue, and when? InlineQueue: the calling thread, at once. WorkerQueue:
// a thread of its own, in order, while the caller goes on.
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <random>
#include <thread>

#include "kernels/cpu/signal.hpp"
#include "kernels/queue.hpp"
#include "profilers/nvtx.hpp"
#include "profilers/timeline.hpp"

namespace shardmark {

// What the queues of one device share.
struct CpuQueueContext {
  Timeline timeline;
  bool record = true;
  int threads = 1;
  nvtx::Owner owner;
  int step = 0;  // written by the host thread, read when a span is enqueued
  cpu::Poll poll;
  std::function<void(std::exception_ptr)> on_error;  // from a worker
  std::function<void(const Interval&)>
      on_span;  // tests inject delays and failures here, inside the span
  std::function<void(const Op&, int step, std::int64_t ns)> on_op;  // behind each, where asked for
  std::function<void(Event)> wait_for;                              // both lanes of the device
};

class CpuQueue : public Queue {
 public:
  CpuQueue(CpuQueueContext& c, int lane, std::int64_t spin_ns)
      : Queue(lane), context_(c), completed_(spin_ns), ranges_(c.owner, lane) {}
  void wait_for(std::uint64_t ticket) const {
    completed_.wait(ticket, [this] { check(); });
  }
  virtual std::uint64_t enqueued() const = 0;
  virtual void end_step() = 0;  // behind everything enqueued
  virtual void stop() {}

 protected:
  virtual void check() const {
    if (context_.poll) context_.poll();
  }
  void execute(const Op&);                       // on the thread that calls
  Interval enqueued_now(Interval, Event after);  // with its step and what it waits for
  void open(const Interval&);
  void close();

  CpuQueueContext& context_;
  cpu::Signal completed_;
  nvtx::Ranges ranges_;
  Interval current_;
  Event waited_for_ = Event::none();  // by everything that is enqueued from here on
};

class InlineQueue final : public CpuQueue {
 public:
  using CpuQueue::CpuQueue;
  void run(Op op) override;
  void wait(Event e) override {
    waited_for_ = waited_for_ | e;
    context_.wait_for(e);
  }
  std::uint64_t enqueued() const override { return completed_.value(); }
  void end_step() override { ranges_.end_step(); }

 private:
  void do_begin(Interval, Event after) override;
  Event do_end() override;
  bool open_ = false;
};

class WorkerQueue final : public CpuQueue {
 public:
  // late_us > 0: before every span the worker sleeps a random time up to that: a stand-in for a
  // device whose queues run late and out of step, where a forgotten wait shows.
  WorkerQueue(CpuQueueContext&, int lane, std::int64_t spin_ns, int late_us = 0);
  ~WorkerQueue() override;
  void run(Op op) override;
  void wait(Event e) override;
  std::uint64_t enqueued() const override { return enqueued_; }
  void end_step() override { push(EndStep{}); }
  void stop() override;  // finishes what is enqueued, then ends the thread

 private:
  struct Begin {
    Interval interval;
    Event after;
  };
  struct End {};
  struct EndStep {};
  using Task = std::variant<Begin, Op, End, Event, EndStep>;
  void do_begin(Interval, Event after) override;
  Event do_end() override;
  void check() const override;
  void push(Task);
  void work();
  void perform(const Task&);
  void fail(std::exception_ptr);

  std::uint64_t enqueued_ = 0;  // host thread
  int late_us_;
  std::minstd_rand random_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Task> tasks_;
  bool stop_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace shardmark
