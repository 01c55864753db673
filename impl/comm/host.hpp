#pragma once
// What do all communicators share whose verbs are made by the thread of the communication queue?
// They enqueue a transfer a verb, say what this rank is doing while it runs, and give up on peers
// that do not come.
#include <functional>

#include "impl/comm/communicator.hpp"
#include "impl/comm/world.hpp"

namespace shardmark {

// One wait for peers: polls for failures, and throws Error when nothing has moved for too long. A
// process that was stopped in between has not waited.
class Wait {
 public:
  Wait(World& w, double timeout_s, std::string what)
      : world_(w), timeout_s_(timeout_s), what_(std::move(what)) {}
  ~Wait() { world_.activity().stop_waiting(); }
  void progressed();
  // Until when to rest: now_ns() itself at first, which only lets others run, then a nap ahead.
  // patience_ns: how long to stay awake.
  std::int64_t rest_until(std::int64_t patience_ns);

 private:
  World& world_;
  double timeout_s_;
  std::string what_;
  std::int64_t last_ns_ = 0, waited_ns_ = 0;
};

class HostCommunicator : public Communicator {
 public:
  HostCommunicator(Device& d, World& w, Collectives made_by)
      : Communicator(d, w.size(), w.rank(), made_by),
        world_(w),
        sums_travel_(made_by != Collectives::memory) {}

 protected:
  // On the thread of the communication queue, in the order of all ranks.
  virtual void all_reduce_here(View inout, Reduce::Op) = 0;
  virtual void reduce_scatter_here(View whole, View mine, Reduce::Op) = 0;
  virtual void all_gather_here(ConstView mine, View whole) = 0;
  World& world() const { return world_; }

 private:
  void do_all_reduce(View inout, Reduce::Op, int label) final;
  void do_reduce_scatter(View whole, View mine, Reduce::Op, int label) final;
  void do_all_gather(ConstView mine, View whole, int label) final;
  std::function<void()> doing(Verb, int label, std::function<void()>);
  // Sums that travel in f16 may overflow where their mean does not: there 1/N comes first, and what
  // is left to do is a sum. A power of two costs nothing, another N one more rounding.
  Reduce::Op divided_first(View whole, Reduce::Op) const;

  World& world_;
  bool sums_travel_;  // of some ranks, on to the next; else all are added in f32 at once
};

}  // namespace shardmark
