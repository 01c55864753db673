#include "impl/comm/nccl.hpp"

#include <fmt/format.h>

#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>

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

// A verb that the GPU has not passed yet.
struct Pending {
  cuda::Moment end;
  Verb verb;
  int label, step;
  std::optional<Clock::time_point> since;  // it is the oldest
};

// Calls return at once (a communicator that does not block, or one whose launches do not), so that
// a peer that is gone can be given up: a thread of its own looks for errors, for the failure of
// other ranks, and for verbs that do not end.
class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(Device& d, World& w, double timeout_s, Launches launches)
      : Communicator(d, w.size(), w.rank(), Collectives::nccl),
        world_(w),
        timeout_s_(timeout_s),
        stream_(cuda::gpu_queue(d.comm()).stream()) {
    cuda::check(cudaGetDevice(&gpu_), "which GPU is chosen");
    const ncclUniqueId id = shared_id(w);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = launches == Launches::by_caller;
    settle(ncclCommInitRankConfig(&comm_, w.size(), id, w.rank(), &config), "set-up");
    watch_ = std::thread([this] { watch(); });
  }

  ~NcclCommunicator() override {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_one();
    watch_.join();
    if (comm_) ncclCommAbort(comm_);  // nothing is under way: the queues have ended
  }

  // Nobody but NCCL knows, and it does not say.
  std::uint64_t moved_bytes() const override { return 0; }
  std::string_view moved_witness() const override { return ""; }

 private:
  void do_all_reduce(View inout, Reduce::Op op, int label) override {
    void* at = pointer(inout);
    call(Verb::all_reduce, label, Transfer{inout, inout, {}, 0, [=, this] {
                                             return_of_ = ncclAllReduce(at, at, inout.size(),
                                                                        type_of(inout.dtype()),
                                                                        op_of(op), comm_, stream_);
                                           }});
  }
  void do_reduce_scatter(View whole, View mine, Reduce::Op op, int label) override {
    call(Verb::reduce_scatter, label,
         Transfer{whole, mine, whole, 0, [=, this] {
                    return_of_ =
                        ncclReduceScatter(pointer(whole), pointer(mine), mine.size(),
                                          type_of(mine.dtype()), op_of(op), comm_, stream_);
                  }});
  }
  void do_all_gather(ConstView mine, View whole, int label) override {
    call(Verb::all_gather, label, Transfer{mine, whole, {}, 0, [=, this] {
                                             return_of_ = ncclAllGather(
                                                 pointer(mine), pointer(whole), mine.size(),
                                                 type_of(mine.dtype()), comm_, stream_);
                                           }});
  }

  static void* pointer(ConstView v) { return reinterpret_cast<void*>(v.address()); }

  void call(Verb verb, int label, Transfer t) {
    const int step = world_.activity().step;
    world_.activity().enter(verb, label, step);
    {
      const std::lock_guard lock(mutex_);
      if (!comm_) throw PeerFailed(failure_);
    }
    device().comm().run(std::move(t));
    settle(return_of_, name(verb));
    cuda::Moment end(false);
    end.record(stream_);
    {
      const std::lock_guard lock(mutex_);
      pending_.push_back({std::move(end), verb, label, step, {}});
    }
    world_.activity().leave();
  }

  // A call of a communicator that does not block is under way until NCCL says otherwise.
  void settle(ncclResult_t r, std::string_view what) {
    const Clock::time_point since = Clock::now();
    while (r == ncclInProgress) {
      std::this_thread::yield();
      world_.check();
      if (std::chrono::duration<double>(Clock::now() - since).count() > timeout_s_)
        throw Error(fmt::format("waited more than {} s for its peers in {} ({})", timeout_s_, what,
                                world_.last_words()));
      const std::lock_guard lock(mutex_);
      if (!comm_ && !failure_.empty()) throw PeerFailed(failure_);
      if (const ncclResult_t asked = ncclCommGetAsyncError(comm_, &r); asked != ncclSuccess)
        r = asked;
    }
    if (r != ncclSuccess) throw Error(fmt::format("{}: {}", what, says(r)));
  }

  void watch() {
    cudaSetDevice(gpu_);
    std::unique_lock lock(mutex_);
    while (!stop_ && comm_) {
      changed_.wait_for(lock, 50ms, [this] { return stop_; });
      if (const std::string why = what_is_wrong(); !why.empty()) abort(why);
    }
  }

  // Under the lock. One sentence, or nothing.
  std::string what_is_wrong() {
    ncclResult_t r = ncclSuccess;
    if (ncclCommGetAsyncError(comm_, &r); r != ncclSuccess && r != ncclInProgress) return says(r);
    try {
      while (!pending_.empty() && pending_.front().end.reached()) pending_.pop_front();
    } catch (const std::exception& e) {
      return e.what();
    }
    try {
      world_.check();
    } catch (const std::exception& e) {
      peer_failed_ = true;
      return e.what();
    }
    if (pending_.empty()) return "";
    Pending& oldest = pending_.front();
    if (!oldest.since) oldest.since = Clock::now();
    const double waited = std::chrono::duration<double>(Clock::now() - *oldest.since).count();
    if (waited < timeout_s_) return "";
    return fmt::format(
        "waited more than {} s for its peers in {}{}{} ({})", timeout_s_, name(oldest.verb),
        oldest.label == no_label ? "" : fmt::format(" of segment {}", oldest.label),
        oldest.step < 0 ? "" : fmt::format(", step {}", oldest.step), world_.last_words());
  }

  // Kernels that wait for peers end, and the streams with them.
  void abort(const std::string& why) {
    failure_ = why;
    if (!peer_failed_) world_.fail({rank(), why});
    ncclCommAbort(comm_);
    comm_ = nullptr;
  }

  World& world_;
  double timeout_s_;
  cudaStream_t stream_;
  int gpu_ = 0;
  ncclComm_t comm_ = nullptr;
  ncclResult_t return_of_ = ncclSuccess;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false, peer_failed_ = false;
  std::string failure_;
  std::deque<Pending> pending_;
  std::thread watch_;
};

}  // namespace

bool built() { return true; }

std::string library() {
  int v = 0;
  ncclGetVersion(&v);
  return fmt::format("NCCL {}.{}.{}", v / 10000, v / 100 % 100, v % 100);
}

std::unique_ptr<Communicator> communicator(Device& d, World& w, double timeout_s,
                                           Launches launches) {
  return std::make_unique<NcclCommunicator>(d, w, timeout_s, launches);
}

}  // namespace shardmark::nccl
