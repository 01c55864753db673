// How do the threads of a warp meet, and those of a block at its barrier? And what is said where
// they cannot?
#include "kernels/cuda/standin/turns.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "kernels/error.hpp"

namespace shardmark::standin {

void Order::resize(std::size_t n) {
  n_ = n;
  step_ = std::max<std::size_t>(1, n * 618 / 1000);
  while (std::gcd(step_, n) != 1) ++step_;
  begin();
}

void Order::begin() {
  at_ = (turn_ * 7919) % n_;
  by_ = turn_ % 2 ? step_ : n_ - step_;
  left_ = n_;
  ++turn_;
}

void Turns::resize(std::size_t threads_of_a_block) {
  count_ = threads_of_a_block;
  of_warps_.resize((count_ + warp - 1) / warp);
}

void Turns::begin(const Block& block) {
  for (std::size_t i = 0; i < count_; ++i) {
    const auto t = static_cast<unsigned>(i);
    const dim3& n = block.threads;
    threads_[i].at = {{t % n.x, t / n.x % n.y, t / n.x / n.y}, &block};
    threads_[i].state = State::ready;
  }
  of_warps_.begin();
  of_lanes_.begin();
  first_ = of_warps_.next() * warp;
}

Thread* Turns::next() {
  while (!error_) {
    while (!of_lanes_.over()) {
      const std::size_t i = first_ + of_lanes_.next();
      if (i < count_ && threads_[i].state == State::ready) return &threads_[i];
    }
    if (!lanes_met()) {
      if (of_warps_.over()) {
        if (!open_barrier()) return nullptr;
        of_warps_.begin();
      }
      first_ = of_warps_.next() * warp;
    }
    of_lanes_.begin();
  }
  return nullptr;
}

bool Turns::wrong(const std::string& sentence) {
  failed(std::make_exception_ptr(Error(sentence)));
  return false;
}

bool Turns::lanes_met() {
  bool met = false;
  for (std::size_t i = first_; i < first_ + warp && i < count_ && !error_; ++i) {
    if (threads_[i].state == State::in_warp) met |= meet(threads_[i]);
  }
  return met;
}

bool Turns::meet(const Thread& t) {
  void* of_lane[warp] = {};
  for (unsigned i = 0; i < warp; ++i) {
    if (!(t.mask >> i & 1)) continue;
    const auto lane_is_wrong = [&](const std::string& how) {
      return wrong(std::string(t.what) + ": lane " + std::to_string(i) + " of its mask " + how);
    };
    if (first_ + i >= count_)
      return lane_is_wrong("is not there, but the threads of a block fill no warp");
    const Thread& other = threads_[first_ + i];
    if (other.state == State::ended) return lane_is_wrong("has ended, while others wait for it");
    if (other.state != State::in_warp) return false;
    const bool same = other.what == t.what || std::strcmp(other.what, t.what) == 0;
    if (other.mask != t.mask || !same)
      return lane_is_wrong(std::string("is at ") + other.what +
                           " or has another mask, but all lanes must do the same");
    of_lane[i] = other.mine;
  }
  if (t.action) t.action(of_lane, t.mask);
  for (unsigned i = 0; i < warp; ++i) {
    if (t.mask >> i & 1) threads_[first_ + i].state = State::ready;
  }
  return true;
}

// False where all have ended, or not all are there.
bool Turns::open_barrier() {
  const auto number = [&](State s) {
    return static_cast<std::size_t>(std::count_if(threads().begin(), threads().end(),
                                                  [s](const Thread& t) { return t.state == s; }));
  };
  if (number(State::ended) == count_) return false;
  const std::size_t waiting = number(State::at_barrier);
  if (waiting < count_)
    return wrong("of the " + std::to_string(count_) + " threads of a block " +
                 std::to_string(waiting) +
                 " wait at a barrier and the others have ended or wait for their warp, but every "
                 "thread must come to it");
  for (Thread& t : threads()) t.state = State::ready;
  return true;
}

}  // namespace shardmark::standin
