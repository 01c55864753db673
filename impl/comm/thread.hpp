#pragma once
// How do the threads of one process exchange arrays? Each publishes where its array is, everybody
// waits for everybody, and then each reads its part straight from its peers' memory: no copy
// between, reduced in rank order, bit for bit repeatable.
#include <atomic>
#include <mutex>

#include "impl/comm/host.hpp"
#include "impl/comm/thread_transport.hpp"
#include "kernels/cpu/signal.hpp"
#include "kernels/cuda/device.hpp"

namespace shardmark {

// What the ranks of one process share. Outlives all of them.
class ThreadHub {
 public:
  // spin_ns: how long a wait may spin before it sleeps; only where every thread has a core of its
  // own.
  ThreadHub(int ranks, double timeout_s, std::int64_t spin_ns);
  int ranks() const { return static_cast<int>(slots_.size()); }
  double timeout_s() const { return timeout_s_; }
  std::int64_t spin_ns() const { return spin_ns_; }
  ThreadPost& post() { return post_; }  // for ranks that send messages

  void fail(Failure) noexcept;
  void check() const;
  std::optional<Failure> failure() const;

  // What a rank is doing, for its peers to read between two barriers, and for the message when one
  // does not come.
  struct alignas(128) Slot {
    std::uintptr_t address = 0;
    std::size_t bytes = 0;
    Verb verb = Verb::barrier;
    cuda::Mark marks[2];  // of GPUs' streams, in turn
    std::atomic<std::uint64_t> moved{
        0};  // bytes that peers took from this rank, or it wrote to them
    Activity activity;
    std::string bytes_to_gather;
  };
  Slot& slot(int rank) { return slots_[static_cast<std::size_t>(rank)]; }
  // Where this rank's array is, for a verb that begins with a meeting.
  void publish(int rank, Verb, ConstView);
  // Behind that meeting: throws Error where another rank is in another verb, or has another size.
  void check_same(int rank) const;
  // All ranks meet; round: of this rank's meetings, from 1.
  void meet_for_transfer(World&, std::uint64_t round);

 private:
  friend class ThreadWorld;
  // The last one to arrive opens it.
  struct Meeting {
    std::atomic<std::uint64_t> arrivals{0};
    cpu::Signal rounds;
    explicit Meeting(std::int64_t spin_ns) : rounds(spin_ns) {}
  };
  void meet(Meeting&, World&, std::uint64_t round, std::string_view what);
  std::string last_words() const;

  std::vector<Slot> slots_;
  double timeout_s_;
  std::int64_t spin_ns_;
  ThreadPost post_;
  Meeting transfers_, exchanges_;
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;
  std::optional<Failure> failure_;
};

class ThreadWorld final : public World {
 public:
  ThreadWorld(ThreadHub& h, int rank) : hub_(h), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return hub_.ranks(); }
  std::vector<std::string> gather(const std::string& mine) override;
  void fail(Failure f) noexcept override { hub_.fail(std::move(f)); }
  void check() const override { hub_.check(); }
  Activity& activity() override { return hub_.slot(rank_).activity; }
  std::string last_words() const override { return hub_.last_words(); }
  ThreadHub& hub() const { return hub_; }

 private:
  ThreadHub& hub_;
  int rank_;
  std::uint64_t round_ = 0;
};

class ThreadCommunicator final : public HostCommunicator {
 public:
  ThreadCommunicator(Device& d, ThreadWorld& w, Options::AllReduce algorithm)
      : HostCommunicator(d, w, Collectives::memory), hub_(w.hub()), algorithm_(algorithm) {}
  std::uint64_t moved_bytes() const override { return hub_.slot(rank()).moved; }
  std::string_view moved_witness() const override {
    return "bytes that peers took from this rank's memory";
  }

 private:
  void all_reduce_here(View inout, Reduce::Op) override;
  void reduce_scatter_here(View whole, View mine, Reduce::Op) override;
  void all_gather_here(ConstView mine, View whole) override;

  void enter(Verb, ConstView);  // publishes the view and waits for everybody
  void meet();
  ConstView theirs(int rank, Range, DType) const;
  void moved(int from, std::size_t bytes) { hub_.slot(from).moved += bytes; }
  void reduce_part(View to, Range, Reduce::Op);
  void gather_parts(View whole, const std::function<Range(int)>& in_theirs,
                    const std::function<Range(int)>& in_whole);
  void reduce_and_spread(View inout, Reduce::Op);

  ThreadHub& hub_;
  Options::AllReduce algorithm_;
  std::uint64_t round_ = 0;
};

}  // namespace shardmark
