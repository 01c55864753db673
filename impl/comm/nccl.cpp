#include "impl/comm/nccl.hpp"

#include <fmt/format.h>

#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "impl/comm/nccl_types.hpp"
#include "kernels/cuda/queue.hpp"

namespace shardmark::nccl {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

std::string says(ncclResult_t r) { return fmt::format("NCCL: {}", ncclGetErrorString(r)); }

ncclUniqueId shared_id(World& world) {
  ncclUniqueId id{};
  std::string mine;
  if (world.rank() == 0) {
    if (const ncclResult_t r = ncclGetUniqueId(&id); r != ncclSuccess) throw Error(says(r));
    mine.assign(id.internal, sizeof id.internal);
  }
  const std::string first = world.gather(mine)[0];
  std::memcpy(id.internal, first.data(), sizeof id.internal);
  return id;
}

// A communicator that was made, until abort(), and at the latest until its end. Calls block: NCCL
// launches on the caller's thread, which is where a profiler looks for the span that it is of; a
// call that does not block would start a thread of its own. Making one waits for all ranks, which
// have just met to hear the id: where one dies in between, the cell's --timeout ends the others.
class Connection {
 public:
  explicit Connection(World& w) {
    const ncclUniqueId id = shared_id(w);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 1;
    const ncclResult_t r = ncclCommInitRankConfig(&comm_, w.size(), id, w.rank(), &config);
    if (r != ncclSuccess) throw Error(says(r));
  }
  ~Connection() { abort(); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ncclComm_t get() const { return comm_; }
  // get() stays as it is: a call may be under way.
  void abort() {
    if (!std::exchange(aborted_, true)) ncclCommAbort(comm_);
  }

 private:
  ncclComm_t comm_ = nullptr;
  bool aborted_ = false;
};

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
  NcclCommunicator(Device& d, World& w, double timeout_s)
      : Communicator(d, w.size(), w.rank(), Collectives::nccl),
        world_(w),
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
    call(Verb::all_reduce, label, {inout, inout, {}, 0, {}}, [=, this] {
      return ncclAllReduce(at, at, inout.size(), type_of(inout.dtype()), op_of(op), comm_.get(),
                           stream_);
    });
  }
  void do_reduce_scatter(View whole, View mine, Reduce::Op op, int label) override {
    call(Verb::reduce_scatter, label, {whole, mine, whole, 0, {}}, [=, this] {
      return ncclReduceScatter(pointer(whole), pointer(mine), mine.size(), type_of(mine.dtype()),
                               op_of(op), comm_.get(), stream_);
    });
  }
  void do_all_gather(ConstView mine, View whole, int label) override {
    call(Verb::all_gather, label, {mine, whole, {}, 0, {}}, [=, this] {
      return ncclAllGather(pointer(mine), pointer(whole), mine.size(), type_of(mine.dtype()),
                           comm_.get(), stream_);
    });
  }

  // Since 2.22 NCCL connects ranks, and takes most of its memory, at their first collectives: one
  // of each, that nobody counts, so that neither is part of a step. In spans, as all that a GPU
  // does.
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
    const std::lock_guard lock(mutex_);
    pass();
    world_.activity().calls = counted;
  }

  static void* pointer(ConstView v) { return reinterpret_cast<void*>(v.address()); }

  void call(Verb verb, int label, Transfer t, const std::function<ncclResult_t()>& nccl) {
    cuda::Moment begin(false), end(false);
    begin.record(stream_);
    push({std::move(begin), {}, verb, label, world_.activity().step});
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
    const std::lock_guard lock(mutex_);
    pending_.back().end = std::move(end);
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

  // These two under the lock: the activity names the oldest verb that the GPU has not ended.
  void enter_oldest() {
    const Pending& oldest = pending_.front();
    world_.activity().enter(oldest.verb, oldest.label, oldest.step);
  }
  void pass() {
    while (!pending_.empty() && pending_.front().end && pending_.front().end->reached()) {
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
      const std::lock_guard lock(mutex_);
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
    const std::lock_guard lock(mutex_);
    pass();
    if (pending_.empty()) return;
    Pending& oldest = pending_.front();
    const Clock::time_point now = Clock::now();
    if (!oldest.since && oldest.begin.reached()) oldest.since = now;
    if (!oldest.since || std::chrono::duration<double>(now - *oldest.since).count() < timeout_s_)
      return;
    throw Error(fmt::format(
        "waited more than {} s for its peers in {}{} ({})", timeout_s_, name(oldest.verb),
        oldest.label == no_label ? "" : fmt::format(" of segment {}", oldest.label),
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
  double timeout_s_;
  cudaStream_t stream_;
  int gpu_ = 0;
  Connection comm_;

  std::timed_mutex calls_;  // held during each call, which may last
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

std::unique_ptr<Communicator> communicator(Device& d, World& w, double timeout_s) {
  return std::make_unique<NcclCommunicator>(d, w, timeout_s);
}

}  // namespace shardmark::nccl
