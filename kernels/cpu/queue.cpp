#include "queue.hpp"

#include "kernels/cpu/math.hpp"

namespace shardmark {

void CpuQueue::execute(const Op& op) {
  const std::int64_t begin = context_.on_op ? now_ns() : 0;
  if (const auto* transfer = std::get_if<Transfer>(&op))
    transfer->body();
  else
    cpu::run(op, context_.threads);
  if (context_.on_op) context_.on_op(op, current_.step, now_ns() - begin);
}

Interval CpuQueue::enqueued_now(Interval i, Event after) {
  waited_for_ = waited_for_ | after;
  i.step = context_.step;
  i.after = {waited_for_.ticket(0), waited_for_.ticket(1)};
  return i;
}

void CpuQueue::open(const Interval& i) {
  current_ = i;
  ranges_.open(current_);
  if (context_.record) current_.begin_ns = now_ns();
  if (context_.on_span) context_.on_span(current_);
}

void CpuQueue::close() {
  if (context_.record) {
    current_.end_ns = now_ns();
    context_.timeline.add(lane(), current_);
  }
  ranges_.close();
  completed_.raise();
}

void InlineQueue::run(Op op) {
  require(open_, "an op was enqueued outside of a span");
  execute(op);
}

void InlineQueue::do_begin(Interval of, Event after) {
  require(!open_, "a span was opened inside a span of the same queue");
  check();  // a rank that only computes must notice, too, when another one has failed
  wait(after);
  open_ = true;
  open(enqueued_now(of, after));
}

Event InlineQueue::do_end() {
  open_ = false;
  close();
  return event(completed_.value());
}

WorkerQueue::WorkerQueue(CpuQueueContext& c, int lane, std::int64_t spin_ns, int late_us)
    : CpuQueue(c, lane, spin_ns),
      late_us_(late_us),
      random_(static_cast<unsigned>(lane + 1)),
      thread_([this] { work(); }) {}

WorkerQueue::~WorkerQueue() { stop(); }

void WorkerQueue::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  arrived_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void WorkerQueue::run(Op op) { push(std::move(op)); }
void WorkerQueue::wait(Event e) {
  waited_for_ = waited_for_ | e;
  push(e);
}

void WorkerQueue::do_begin(Interval of, Event after) {
  push(Begin{enqueued_now(of, after), after});
}

Event WorkerQueue::do_end() {
  push(End{});
  return event(++enqueued_);
}

void WorkerQueue::push(Task task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  arrived_.notify_one();
}

void WorkerQueue::check() const {
  {
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
  }
  CpuQueue::check();
}

void WorkerQueue::work() {
  while (true) {
    Task task = End{};
    {
      std::unique_lock lock(mutex_);
      arrived_.wait(lock, [this] { return stop_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
      if (failure_) continue;  // what was enqueued behind a failure is never run
    }
    try {
      perform(task);
    } catch (...) {
      fail(std::current_exception());
    }
  }
}

void WorkerQueue::perform(const Task& task) {
  if (const auto* begin = std::get_if<Begin>(&task)) {
    if (late_us_ > 0)
      std::this_thread::sleep_for(
          std::chrono::microseconds(random_() % static_cast<unsigned>(late_us_)));
    context_.wait_for(begin->after);
    open(begin->interval);
  } else if (const auto* op = std::get_if<Op>(&task)) {
    execute(*op);
  } else if (const auto* after = std::get_if<Event>(&task)) {
    context_.wait_for(*after);
  } else if (std::holds_alternative<EndStep>(task)) {
    ranges_.end_step();
  } else {
    close();
  }
}

void WorkerQueue::fail(std::exception_ptr e) {
  {
    const std::lock_guard lock(mutex_);
    failure_ = e;
  }
  if (context_.on_error) context_.on_error(e);
}

}  // namespace shardmark
