#pragma once
// What is a queue of a GPU? A stream: the host enqueues and goes on. Each span ends with an event,
// which is what its ticket stands for; begins and ends are read once the GPU has passed them.
#include <deque>
#include <exception>
#include <functional>
#include <mutex>

#include "kernels/cuda/run.hpp"
#include "kernels/queue.hpp"
#include "profilers/cupti.hpp"
#include "profilers/nvtx.hpp"

namespace shardmark::cuda {

class GpuQueue;

// What the queues of one device share.
struct GpuQueueContext {
  Timeline timeline;
  bool record = true;
  int rank = 0, step = 0;
  // Of both queues: one thread of the host enqueues them, so that their ranges nest.
  std::unique_ptr<nvtx::Ranges> ranges;
  Launch launch;  // but for the stream
  std::function<void()> poll;
  std::function<void(const Interval&)> on_span;
  cupti::Recorder* recorder = nullptr;  // none: nobody records
  GpuQueue* lanes[2] = {};              // the second is null without overlap
  // What on_span threw, on a thread of CUDA.
  std::mutex mutex;
  std::exception_ptr failure;
  void check();
};

// When a step began on the GPU: where the spans of the next one are measured from, since a float of
// milliseconds would lose its nanoseconds within seconds.
struct Anchor {
  Moment moment;
  std::optional<std::int64_t> ns;  // of now_ns(), once the GPU has passed it
};

// A moment of an idle GPU that the host saw come.
struct Sighting {
  std::shared_ptr<Anchor> anchor;
  std::int64_t before = 0, after = 0;  // of now_ns(), between which it was
  std::int64_t middle() const { return before + width() / 2; }
  std::int64_t width() const { return after - before; }
};

class GpuQueue final : public Queue {
 public:
  GpuQueue(GpuQueueContext&, int lane);
  ~GpuQueue() override;
  void run(Op) override;
  void wait(Event) override;
  void measure_from(std::shared_ptr<Anchor> a) { anchor_ = std::move(a); }
  // Puts the spans that the GPU has passed on the timeline; whether there were any. Anchors must be
  // known.
  bool harvest();
  bool idle() const { return spans_.empty(); }
  bool is_open() const { return open_; }
  int oldest_step() const { return spans_.front().interval.step; }
  cudaStream_t stream() const { return stream_.get(); }

 private:
  struct Spanned {
    Interval interval;
    std::optional<Moment> begin;  // where times are recorded
    Moment end;
    std::shared_ptr<Anchor> from;
  };
  struct Staged {
    Pinned memory;
    int step;             // that it was last used in
    std::uint64_t until;  // the ticket behind which it may be used again
  };
  void do_begin(Interval, Event after) override;
  Event do_end() override;
  void wait_for(std::uint64_t ticket, cudaStream_t) const;
  ConstView staged(ConstView of_host);
  void tell(const Interval&);  // on_span, when the GPU is there

  GpuQueueContext& context_;
  Stream stream_;
  Partials partials_;
  Moments moments_;
  std::shared_ptr<Anchor> anchor_;
  std::deque<Spanned> spans_;  // not yet passed; the last one may be open
  bool open_ = false;
  std::uint64_t passed_ = 0, begun_ = 0;
  std::deque<Staged> staging_;
  Event waited_for_ = Event::none();
};

// Of a queue of a GPU; Error for any other.
GpuQueue& gpu_queue(Queue&);

}  // namespace shardmark::cuda
