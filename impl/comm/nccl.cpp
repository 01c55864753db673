#include "impl/comm/nccl.hpp"

#include <fmt/format.h>

#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "impl/comm/nccl_connection.hpp"
#include "impl/comm/nccl_types.hpp"
#include "kernels/cuda/queue.hpp"

namespace shardmark::nccl {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// A verb that the GPU has not ended yet.
struct Pending {
  cuda::Moment begin;
  std::optional<cuda::Moment> end;  // none: its call is under way
  Verb verb;
  int label, step;
  std::optional<Clock::time_point> since{};  // the GPU has been seen to have come to it
};

// Memory that a stream may still use when its owner goes.
class Scratch {
 public:
  Scratch(std::size_t bytes, cudaStream_t s) : memory_(bytes), stream_(s) {}
  ~Scratch() { cudaStreamSynchronize(stream_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::uintptr_t address() const { return reinterpret_cast<std::uintptr_t>(memory_.get()); }

 private:
  cuda::DeviceMemory memory_;
  cudaStream_t stream_;
};

// A thread of its own looks for errors, for the failure of other ranks, and for verbs that do not
// end, and gives the peers up: then what still waits for them ends, on the GPU and in calls.
class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(Device& d, World& w, RanksAre ranks_are, double timeout_s)
      : Communicator(d, w.size(), w.rank(), Collectives::nccl),
        world_(w),
        ranks_are_(ranks_are),
        timeout_s_(timeout_s),
        stream_(cuda::gpu_queue(d.comm()).stream()),
        comm_(w) {
    cuda::check(cudaGetDevice(&gpu_), "which GPU is chosen");
    watch_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
    connect();
  }

  // Nobody but NCCL knows, and it does not say.
  std::uint64_t moved_bytes() const override { return 0; }
  std::string_view moved_witness() const override { return ""; }

 private:
  void do_all_reduce(View inout, Reduce::Op op, int label) override {
    void* at = pointer(inout);
    const Mean mean = mean_of(op, inout.dtype(), ranks());
    call(Verb::all_reduce, label, {inout, inout, {}, 0, {}}, [=, this] {
      return ncclAllReduce(at, at, inout.size(), type_of(inout.dtype()), mean.op, comm_.get(),
                           stream_);
    });
    divide(inout, mean);
  }
  void do_reduce_scatter(View whole, View mine, Reduce::Op op, int label) override {
    const Mean mean = mean_of(op, mine.dtype(), ranks());
    call(Verb::reduce_scatter, label, {whole, mine, whole, 0, {}}, [=, this] {
      return ncclReduceScatter(pointer(whole), pointer(mine), mine.size(), type_of(mine.dtype()),
                               mean.op, comm_.get(), stream_);
    });
    divide(mine, mean);
  }
  void do_all_gather(ConstView mine, View whole, int label) override {
    call(Verb::all_gather, label, {mine, whole, {}, 0, {}}, [=, this] {
      return ncclAllGather(pointer(mine), pointer(whole), mine.size(), type_of(mine.dtype()),
                           comm_.get(), stream_);
    });
  }

  void divide(View sum, const Mean& mean) {
    if (mean.factor == 1 || !sum) return;
    SumRanks scale;
    scale.from[0] = scale.to = sum;
    scale.factor = mean.factor;
    device().comm().run(scale);
  }

  // The first of each, that nobody counts: where NCCL connects ranks only then (prepare()), and
  // where the driver first loads its kernels, neither is part of a step. In spans, as all that a
  // GPU does.
  void connect() {
    const auto n = static_cast<std::size_t>(ranks()), me = static_cast<std::size_t>(rank());
    const std::uint64_t counted = world_.activity().calls;
    const Scratch scratch(n * sizeof(float), stream_);
    const View whole(scratch.address(), n, DType::f32, Space::device);
    const View mine = whole.slice({me, 1});
    const auto one = [&](Phase phase, Verb verb, const auto& call) {
      Span span =
          device().comm().begin(phase, no_label, Event::none(), Collective{verb, DType::f32, n});
      call();
      (void)span.end();
    };
    device().begin_step(-1);
    one(Phase::reduce, Verb::all_reduce, [&] { do_all_reduce(whole, Reduce::Op::sum, no_label); });
    one(Phase::reduce, Verb::reduce_scatter,
        [&] { do_reduce_scatter(whole, mine, Reduce::Op::sum, no_label); });
    one(Phase::gather, Verb::all_gather, [&] { do_all_gather(mine, whole, no_label); });
    cuda::check(cudaStreamSynchronize(stream_), "the first collectives");
    check_failure();
    const std::lock_guard turn(looking_);
    pass();
    world_.activity().calls = counted;
  }

  static void* pointer(ConstView v) { return reinterpret_cast<void*>(v.address()); }

  void call(Verb verb, int label, Transfer t, const std::function<ncclResult_t()>& nccl) {
    cuda::Moment begin(false), end(false);
    begin.record(stream_);
    push({std::move(begin), {}, verb, label, world_.activity().step});
    const bool settling = is_settling();
    if (settling) world_.gather("");
    ncclResult_t said = ncclSuccess;
    t.body = [&] { said = nccl(); };
    {
      const std::lock_guard lock(calls_);
      check_failure();
      device().comm().run(std::move(t));
    }
    check_failure();  // it may have been what ended the call
    if (said != ncclSuccess) throw Error(fmt::format("{}: {}", name(verb), says(said)));
    end.record(stream_);
    {
      const std::lock_guard lock(mutex_);
      pending_.back().end = std::move(end);
    }
    if (!settling) return;
    cuda::check(cudaStreamSynchronize(stream_), name(verb).data());
    check_failure();
  }

  // What a rank does for the first time, such as asking the driver for memory or having it load a
  // kernel, may wait for all that runs on the GPUs of its process, and so for a verb that waits for
  // this very rank. So in the steps that do such things, which are no measured ones, ranks that are
  // threads meet before each verb, and go on behind it.
  bool is_settling() {
    constexpr int settled_from = 2;
    return ranks_are_ == RanksAre::threads && ranks() > 1 && world_.activity().step < settled_from;
  }

  void check_failure() {
    const std::lock_guard lock(mutex_);
    if (!failure_.empty()) throw PeerFailed(failure_);
  }

  void push(Pending p) {
    const std::lock_guard lock(mutex_);
    pending_.push_back(std::move(p));
    if (pending_.size() == 1) enter_oldest();
  }

  // Under the lock: the activity names the oldest verb that the GPU has not ended.
  void enter_oldest() {
    const Pending& oldest = pending_.front();
    world_.activity().enter(oldest.verb, oldest.label, oldest.step);
  }
  // It stays where it is until pass() takes it away.
  Pending* oldest(bool that_has_ended) {
    const std::lock_guard lock(mutex_);
    if (pending_.empty() || (that_has_ended && !pending_.front().end)) return nullptr;
    return &pending_.front();
  }
  // Its turn taken. The driver is asked without the lock: it may take its time, and who
  // has failed must be heard meanwhile.
  void pass() {
    while (Pending* const ended = oldest(true)) {
      if (!ended->end->reached()) return;
      std::optional<Pending> gone;
      const std::lock_guard lock(mutex_);
      gone = std::move(pending_.front());
      pending_.pop_front();
      pending_.empty() ? world_.activity().leave() : enter_oldest();
    }
  }

  void watch(const std::stop_token& stop) {
    cudaSetDevice(gpu_);
    try {
      while (!stop.stop_requested()) {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, stop, 50ms, [] { return false; });
        lock.unlock();
        look();
      }
      const std::lock_guard turn(looking_);
      pass();  // the queues have ended: whoever asks next finds this rank in none
    } catch (const PeerFailed& e) {
      give_up(e.what());
    } catch (const std::exception& e) {
      const int step = world_.activity().step_now();
      const std::string where =
          step < 0 ? "a collective outside of the steps" : fmt::format("step {}", step);
      world_.fail({rank(), fmt::format("{}: {}", where, e.what())});
      give_up(e.what());
    }
  }

  // Throws what is wrong, in one sentence.
  void look() {
    world_.check();
    ncclResult_t r = ncclSuccess;
    ncclCommGetAsyncError(comm_.get(), &r);
    if (r != ncclSuccess && r != ncclInProgress) throw Error(says(r));
    const std::lock_guard turn(looking_);
    pass();
    Pending* const first = oldest(false);
    if (!first) return;
    const Clock::time_point now = Clock::now();
    if (!first->since && first->begin.reached()) first->since = now;
    if (!first->since || std::chrono::duration<double>(now - *first->since).count() < timeout_s_)
      return;
    throw Error(fmt::format(
        "waited more than {} s for its peers in {}{} ({})", timeout_s_, name(first->verb),
        first->label == no_label ? "" : fmt::format(" of segment {}", first->label),
        world_.last_words()));
  }

  // Kernels that wait for peers end, and the streams with them. No call is under way then, and none
  // comes after it; but for one that the driver holds since the GPU's queue is full: only this ends
  // it.
  void give_up(const std::string& why) {
    {
      const std::lock_guard lock(mutex_);
      failure_ = why;
    }
    const std::unique_lock no_call(calls_, 1s);
    comm_.abort();
  }

  World& world_;
  RanksAre ranks_are_;
  double timeout_s_;
  cudaStream_t stream_;
  int gpu_ = 0;
  Connection comm_;

  std::timed_mutex calls_;  // held during each call, which may last
  std::mutex looking_;      // whose turn it is to ask what has ended; taken before the next one
  std::mutex mutex_;        // of what follows
  std::condition_variable_any changed_;
  std::string failure_;
  std::deque<Pending> pending_;
  std::jthread watch_;  // the last one: it ends before what it looks at
};

}  // namespace

bool built() { return true; }

std::string library() {
  int v = 0;
  ncclGetVersion(&v);
  return fmt::format("NCCL {}.{}.{}", v / 10000, v / 100 % 100, v % 100);
}

// Since 2.22 ranks are connected, and most of NCCL's memory is taken, when a collective first needs
// it, which may be in the midst of a step; 0: when the communicator is made. And what NCCL_DEBUG
// asks for would be written to where a cell's answer goes.
void prepare() {
  ::setenv("NCCL_RUNTIME_CONNECT", "0", 0);
  ::setenv("NCCL_DEBUG_FILE", "/dev/stderr", 0);
}

std::unique_ptr<Communicator> communicator(Device& d, World& w, RanksAre ranks_are,
                                           double timeout_s) {
  return std::make_unique<NcclCommunicator>(d, w, ranks_are, timeout_s);
}

}  // namespace shardmark::nccl
