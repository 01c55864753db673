#include "impl/comm/gpu_thread.hpp"

namespace shardmark {

GpuThreadCommunicator::GpuThreadCommunicator(Device& d, ThreadWorld& w)
    : Communicator(d, w.size(), w.rank(), Collectives::memory), world_(w) {
  require(w.size() <= most_gpu_threads, "a sum takes fewer arrays than there are ranks");
}

// The host waits until all ranks have enqueued so far, their streams for what they have enqueued.
void GpuThreadCommunicator::all_wait_for_all() {
  ThreadHub& hub = world_.hub();
  auto& mine = hub.slot(rank());
  const std::size_t turn = round_ % 2;
  mine.marks[turn] = cuda::mark(device().comm());
  hub.meet_for_transfer(world_, ++round_);
  for (int r = 0; r < ranks(); ++r)
    if (r != rank()) cuda::wait_for(device().comm(), hub.slot(r).marks[turn]);
}

void GpuThreadCommunicator::enter(Verb verb, ConstView v, int label) {
  world_.activity().enter(verb, label, world_.activity().step);
  world_.hub().publish(rank(), verb, v);
  all_wait_for_all();
  world_.hub().check_same(rank());
}

void GpuThreadCommunicator::leave() {
  all_wait_for_all();
  world_.activity().leave();
}

ConstView GpuThreadCommunicator::theirs(int rank, Range r, ConstView like) const {
  const auto& slot = world_.hub().slot(rank);
  return ConstView(slot.address, slot.bytes / size_of(like.dtype()), like.dtype(), like.space())
      .slice(r);
}

void GpuThreadCommunicator::reduce_part(View to, Range part, ConstView like, Reduce::Op op) {
  if (part.size == 0 || (ranks() == 1 && theirs(0, part, like).address() == to.address())) return;
  SumRanks sum;
  sum.to = to;
  sum.factor = op == Reduce::Op::mean ? 1.0 / ranks() : 1.0;
  for (int r = 0; r < ranks(); ++r) sum.from[static_cast<std::size_t>(r)] = theirs(r, part, like);
  device().comm().run(sum);
}

void GpuThreadCommunicator::copy_part(int r, Range in_theirs, View to) {
  const ConstView from = theirs(r, in_theirs, to);
  if (!from || from.address() == to.address()) return;
  device().comm().run(Cast{from, to});
}

void GpuThreadCommunicator::do_reduce_scatter(View whole, View mine, Reduce::Op op, int label) {
  enter(Verb::reduce_scatter, whole, label);
  reduce_part(mine, {static_cast<std::size_t>(rank()) * mine.size(), mine.size()}, whole, op);
  leave();
}

void GpuThreadCommunicator::do_all_gather(ConstView mine, View whole, int label) {
  enter(Verb::all_gather, mine, label);
  const std::size_t n = mine.size();
  for (int i = 0; i < ranks(); ++i) {
    const int r = (rank() + i) % ranks();  // everybody starts at another peer
    copy_part(r, {0, n}, whole.slice({static_cast<std::size_t>(r) * n, n}));
  }
  leave();
}

// A reduce-scatter in place, then an all-gather of the parts.
void GpuThreadCommunicator::do_all_reduce(View inout, Reduce::Op op, int label) {
  enter(Verb::all_reduce, inout, label);
  const Range mine = part_of(inout.size(), ranks(), rank());
  reduce_part(inout.slice(mine), mine, inout, op);
  all_wait_for_all();
  for (int i = 1; i < ranks(); ++i) {
    const int r = (rank() + i) % ranks();
    const Range part = part_of(inout.size(), ranks(), r);
    copy_part(r, part, inout.slice(part));
  }
  leave();
}

}  // namespace shardmark
