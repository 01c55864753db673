#include "queue.hpp"

#include <algorithm>
#include <cstring>

namespace shardmark::cuda {

void GpuQueueContext::check() {
  {
    const std::lock_guard lock(mutex);
    if (failure) std::rethrow_exception(failure);
  }
  if (poll) poll();
}

GpuQueue::GpuQueue(GpuQueueContext& c, int lane) : Queue(lane), context_(c), moments_(c.record) {}

// What is enqueued reads memory of this queue, and memory of others that is freed next.
GpuQueue::~GpuQueue() { cudaStreamSynchronize(stream_.get()); }

void GpuQueue::run(Op op) {
  require(open_, "an op was enqueued outside of a span");
  if (const auto* transfer = std::get_if<Transfer>(&op)) return transfer->body();
  if (auto* cast = std::get_if<Cast>(&op); cast && cast->from.space() == Space::host)
    cast->from = staged(cast->from);
  Launch with = context_.launch;
  with.stream = stream_.get();
  with.partials = partials_.get();
  cuda::run(op, with);
}

// The host's memory is pageable, and its owner may want it back: a copy in pinned memory goes.
// Steps take turns with two sets of it, whether or not the GPU is so quick that one would do: all
// is asked for in the first two steps, and the driver is not bothered later.
ConstView GpuQueue::staged(ConstView from) {
  const int step = context_.step;
  const auto fits = [&](const Staged& s) {
    return s.until <= passed_ && s.memory.bytes() >= from.bytes() &&
           (step < 0 || s.step < step - 1);
  };
  auto it = std::ranges::find_if(staging_, fits);
  if (it == staging_.end()) {
    staging_.push_back({Pinned(from.bytes()), step, 0});
    it = std::prev(staging_.end());
  }
  it->step = step;
  it->until = begun_;
  std::memcpy(it->memory.get(), reinterpret_cast<const void*>(from.address()), from.bytes());
  return {reinterpret_cast<std::uintptr_t>(it->memory.get()), from.size(), from.dtype(),
          Space::host};
}

// This queue's own order needs no event.
void GpuQueue::wait(Event e) {
  waited_for_ = waited_for_ | e;
  for (const int other : {0, 1})
    if (other != lane() && context_.lanes[other])
      context_.lanes[other]->wait_for(e.ticket(other), stream_.get());
}

void GpuQueue::wait_for(std::uint64_t ticket, cudaStream_t waiting) const {
  if (ticket <= passed_) return;
  const Spanned& s = spans_[ticket - passed_ - 1];
  check(cudaStreamWaitEvent(waiting, s.end.get(), 0), "waiting for the other queue");
}

namespace {

struct Told {
  GpuQueueContext& context;
  Interval interval;
};

void tell_now(void* told) {
  const std::unique_ptr<Told> t(static_cast<Told*>(told));
  try {
    t->context.on_span(t->interval);
  } catch (...) {
    const std::lock_guard lock(t->context.mutex);
    t->context.failure = std::current_exception();
  }
}

}  // namespace

void GpuQueue::tell(const Interval& i) {
  check(cudaLaunchHostFunc(stream_.get(), tell_now, new Told{context_, i}), "a call of the host");
}

void GpuQueue::do_begin(Interval i, Event after) {
  require(!open_, "a span was opened inside a span of the same queue");
  context_.check();
  wait(after);
  i.step = context_.step;
  i.after = {waited_for_.ticket(0), waited_for_.ticket(1)};
  open_ = true;
  ++begun_;
  context_.ranges->open(i);
  if (context_.recorder) context_.recorder->open({context_.rank, lane(), begun_});
  std::optional<Moment> begin;
  if (context_.record) {
    begin = moments_.take();
    begin->record(stream_.get());
  }
  if (context_.on_span) tell(i);
  spans_.push_back({i, std::move(begin), moments_.take(), anchor_});
}

Event GpuQueue::do_end() {
  spans_.back().end.record(stream_.get());
  if (context_.recorder) context_.recorder->close();
  context_.ranges->close();
  open_ = false;
  return event(begun_);
}

bool GpuQueue::harvest() {
  bool any = false;
  while (spans_.size() > (open_ ? 1u : 0u) && spans_.front().end.reached()) {
    Spanned& s = spans_.front();
    if (!s.from->ns) break;
    if (s.begin) {
      s.interval.begin_ns = *s.from->ns + s.begin->ns_since(s.from->moment);
      s.interval.end_ns = *s.from->ns + s.end.ns_since(s.from->moment);
      context_.timeline.add(lane(), s.interval);
      moments_.put(std::move(*s.begin));
    }
    moments_.put(std::move(s.end));
    spans_.pop_front();
    ++passed_;
    any = true;
  }
  return any;
}

GpuQueue& gpu_queue(Queue& q) {
  auto* gpu = dynamic_cast<GpuQueue*>(&q);
  require(gpu, "a queue that is not a GPU's was used as one");
  return *gpu;
}

}  // namespace shardmark::cuda
