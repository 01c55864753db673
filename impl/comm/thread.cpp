#include "impl/comm/thread.hpp"

#include <fmt/format.h>

#include "kernels/cpu/math.hpp"
#include "profilers/timeline.hpp"

namespace shardmark {

ThreadHub::ThreadHub(int ranks, double timeout_s, std::int64_t spin_ns)
    : slots_(static_cast<std::size_t>(ranks)),
      timeout_s_(timeout_s),
      spin_ns_(spin_ns),
      post_(ranks),
      transfers_(spin_ns),
      exchanges_(spin_ns) {}

void ThreadHub::fail(Failure f) noexcept {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::move(f);
  failed_ = true;
}

std::optional<Failure> ThreadHub::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void ThreadHub::check() const {
  if (!failed_) return;
  const Failure f = *failure();
  throw PeerFailed(fmt::format("rank {} failed: {}", f.rank, f.what));
}

std::string ThreadHub::last_words() const {
  std::string all;
  for (std::size_t r = 0; r < slots_.size(); ++r)
    all += fmt::format("{}rank {}: {}", r ? "; " : "", r, slots_[r].activity.text());
  return all;
}

void ThreadHub::meet(Meeting& m, World& world, std::uint64_t round, std::string_view what) {
  if ((m.arrivals.fetch_add(1, std::memory_order_acq_rel) + 1) % slots_.size() == 0) {
    m.rounds.raise();
    return;
  }
  Wait wait(world, timeout_s_, std::string(what));
  m.rounds.wait(round, [&] { wait.rest_until(0); });
}

std::vector<std::string> ThreadWorld::gather(const std::string& mine) {
  hub_.slots_[static_cast<std::size_t>(rank_)].bytes_to_gather = mine;
  hub_.meet(hub_.exchanges_, *this, ++round_, "an exchange of host bytes");
  std::vector<std::string> all;
  for (const auto& slot : hub_.slots_) all.push_back(slot.bytes_to_gather);
  hub_.meet(hub_.exchanges_, *this, ++round_, "an exchange of host bytes");
  return all;
}

void ThreadHub::publish(int rank, Verb verb, ConstView v) {
  Slot& mine = slot(rank);
  mine.address = v.address();
  mine.bytes = v.bytes();
  mine.verb = verb;
}

void ThreadHub::check_same(int rank) const {
  const Slot& mine = slots_[static_cast<std::size_t>(rank)];
  for (const Slot& other : slots_)
    if (other.verb != mine.verb || other.bytes != mine.bytes)
      throw Error(
          fmt::format("ranks disagree on what to do: one is in {} of {} bytes, another in {} of {}",
                      name(mine.verb), mine.bytes, name(other.verb), other.bytes));
}

void ThreadHub::meet_for_transfer(World& world, std::uint64_t round) {
  meet(transfers_, world, round, name(slot(world.rank()).verb));
}

void ThreadCommunicator::meet() { hub_.meet_for_transfer(world(), ++round_); }

void ThreadCommunicator::enter(Verb verb, ConstView v) {
  hub_.publish(rank(), verb, v);
  meet();
  hub_.check_same(rank());
}

ConstView ThreadCommunicator::theirs(int rank, Range r, DType t) const {
  const auto& slot = hub_.slot(rank);
  return ConstView(slot.address, slot.bytes / size_of(t), t, Space::host).slice(r);
}

void ThreadCommunicator::reduce_part(View to, Range part, Reduce::Op op) {
  std::vector<ConstView> sources;
  for (int r = 0; r < ranks(); ++r) {
    sources.push_back(theirs(r, part, to.dtype()));
    if (r != rank()) moved(r, sources.back().bytes());
  }
  if (ranks() == 1 && sources[0].address() == to.address()) return;
  if (to) cpu::reduce_ranks(sources, to, op == Reduce::Op::mean ? 1.0 / ranks() : 1.0);
}

void ThreadCommunicator::gather_parts(View whole, const std::function<Range(int)>& in_theirs,
                                      const std::function<Range(int)>& in_whole) {
  for (int i = 0; i < ranks(); ++i) {
    const int r = (rank() + i) % ranks();  // everybody starts at another peer
    const ConstView from = theirs(r, in_theirs(r), whole.dtype());
    const View to = whole.slice(in_whole(r));
    if (!from || from.address() == to.address()) continue;
    cpu::stream_copy(from, to);
    if (r != rank()) moved(r, from.bytes());
  }
}

void ThreadCommunicator::reduce_scatter_here(View whole, View mine, Reduce::Op op) {
  enter(Verb::reduce_scatter, whole);
  reduce_part(mine, {static_cast<std::size_t>(rank()) * mine.size(), mine.size()}, op);
  meet();
}

void ThreadCommunicator::all_gather_here(ConstView mine, View whole) {
  enter(Verb::all_gather, mine);
  const std::size_t n = mine.size();
  gather_parts(
      whole,
      [=](int) {
        return Range{0, n};
      },
      [=](int r) {
        return Range{static_cast<std::size_t>(r) * n, n};
      });
  meet();
}

// Composed: a reduce-scatter in place, then an all-gather of the parts, so that strategies compare
// as on a wire. Direct: each rank reduces its part and writes it to everybody at once.
void ThreadCommunicator::all_reduce_here(View inout, Reduce::Op op) {
  enter(Verb::all_reduce, inout);
  if (algorithm_ == Options::AllReduce::direct) {
    reduce_and_spread(inout, op);
  } else {
    const Range mine = part_of(inout.size(), ranks(), rank());
    reduce_part(inout.slice(mine), mine, op);
    meet();
    const auto part = [this, n = inout.size()](int r) { return part_of(n, ranks(), r); };
    gather_parts(inout, part, part);
  }
  meet();
}

void ThreadCommunicator::reduce_and_spread(View inout, Reduce::Op op) {
  constexpr std::size_t block =
      16384;  // elements: stays in the cache between the reduction and the copies
  const Range mine = part_of(inout.size(), ranks(), rank());
  for (std::size_t at = 0; at < mine.size; at += block) {
    const Range r{mine.begin + at, std::min(block, mine.size - at)};
    reduce_part(inout.slice(r), r, op);
    for (int peer = 0; peer < ranks(); ++peer) {
      if (peer == rank()) continue;
      const ConstView there = theirs(peer, r, inout.dtype());
      cpu::stream_copy(inout.slice(r),
                       View(there.address(), there.size(), there.dtype(), Space::host));
      moved(rank(), there.bytes());
    }
  }
}

}  // namespace shardmark
