// How do the threads of a block take turns? A warp runs until all of its lanes are at the barrier or
// have ended, then the next one does, so that warps are as far apart as they can be; in an order of
// warps, and of lanes, that is never the same twice. A thread that waits keeps its stack, and whoever
// is next goes on at once; one that has ended leaves its stack to the next that begins.
#include "kernels/cuda/standin/grid.hpp"

#include <algorithm>
#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <cstring>
#include <memory>
#include <new>
#include <numeric>
#include <vector>

#include "kernels/cuda/standin/stack.hpp"
#include "kernels/error.hpp"

namespace shardmark::standin {
namespace {

constexpr unsigned warp = 32, most_threads = 1024;
struct Abandoned {};  // thrown into a kernel that cannot go on

enum class State { ready, at_barrier, in_warp, ended };

struct Fiber;
struct Thread {
  Position at;
  State state = State::ended;
  Fiber* on = nullptr;  // from where it began to where it ends
  unsigned mask = 0;    // from here on: of its warp's meeting
  void* mine = nullptr;
  Together action = nullptr;
  const char* what = nullptr;
};
struct Fiber {
  boost::context::fiber context;  // where it goes on, while it does not run
  Stack stack;
  Thread* thread = nullptr;
};

// A way through n things, that steps from each to one far away, and starts somewhere else each
// time.
class Order {
 public:
  explicit Order(std::size_t n) { resize(n); }
  void resize(std::size_t n) {
    n_ = n;
    step_ = std::max<std::size_t>(1, n * 618 / 1000);
    while (std::gcd(step_, n) != 1) ++step_;
    begin();
  }
  void begin() {
    at_ = (turn_ * 7919) % n_;
    by_ = turn_ % 2 ? step_ : n_ - step_;
    left_ = n_;
    ++turn_;
  }
  bool over() const { return left_ == 0; }
  std::size_t next() {
    const std::size_t i = at_;
    at_ += by_;
    if (at_ >= n_) at_ -= n_;
    --left_;
    return i;
  }

 private:
  std::size_t n_ = 1, step_ = 1, turn_ = 0, at_ = 0, by_ = 0, left_ = 0;
};

class Crew {
 public:
  static Crew& of_this_thread() {
    static thread_local Crew crew;
    return crew;
  }
  ~Crew();
  void run(const Configuration&, const std::function<void()>& body);
  void wait();  // called by a thread of the block
  Thread& running() { return *running_->thread; }
  void poison(void* at, std::size_t bytes) {
    std::memset(at, 0xff, bytes);
    poisoned_.push_back({at, bytes});
  }

 private:
  struct Memory {
    void* at;
    std::size_t bytes;
  };
  void add_fiber();
  void live(Fiber&);
  Fiber& fiber_of(Thread*);
  void switch_to(Fiber&);
  void run_block(Block&, std::size_t dynamic_bytes);
  Thread* next();
  bool lanes_met();
  bool meet(const Thread&);
  bool open_barrier();
  bool wrong(const std::string& sentence);
  void abandon();

  std::vector<Thread> threads_{most_threads};
  std::size_t count_ = 0;  // of the threads, those that the block has
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> free_;
  Fiber scheduler_;  // the stream's own stack
  Fiber *running_ = &scheduler_, *left_ = nullptr;
  Order of_lanes_{warp}, of_warps_{1}, of_blocks_{1};
  std::size_t first_ = 0;  // of the warp whose turn it is
  const std::function<void()>* body_ = nullptr;
  std::exception_ptr error_;  // the first that a thread threw, or that what it did deserves
  bool done_ = false;
  std::vector<Memory> poisoned_;
};

void Crew::add_fiber() {
  fibers_.push_back(std::make_unique<Fiber>());
  Fiber& f = *fibers_.back();
  boost::context::protected_fixedsize_stack allocator(stack_bytes);
  const boost::context::stack_context stack = allocator.allocate();
  f.stack.bottom = static_cast<const char*>(stack.sp) - stack.size;
  f.stack.bytes = stack.size;
  f.context = boost::context::fiber(std::allocator_arg,
                                    boost::context::preallocated(stack.sp, stack.size, stack),
                                    allocator, [this, &f](boost::context::fiber&& from) {
                                      f.stack.back_from(left_->stack);
                                      left_->context = std::move(from);
                                      live(f);
                                      left_ = &f;
                                      Stack::leave_for_ever(scheduler_.stack);
                                      return std::move(scheduler_.context);
                                    });
  free_.push_back(&f);
}

void Crew::live(Fiber& f) {
  while (!done_) {
    try {
      (*body_)();
    } catch (const Abandoned&) {
    } catch (...) {
      if (!error_) error_ = std::current_exception();
    }
    f.thread->state = State::ended;
    f.thread->on = nullptr;
    Thread* const n = next();
    if (n && !n->on) {
      f.thread = n;
      n->on = &f;
      here() = &n->at;
      continue;
    }
    free_.push_back(&f);
    switch_to(fiber_of(n));
  }
}

void Crew::wait() {
  Thread* const n = next();
  if (n == running_->thread) return;
  switch_to(fiber_of(n));
  if (error_) throw Abandoned();
}

// Where the thread goes on or begins; without one, where the block ends.
Fiber& Crew::fiber_of(Thread* t) {
  if (!t) return scheduler_;
  if (!t->on) {
    if (free_.empty()) add_fiber();
    t->on = free_.back();
    t->on->thread = t;
    free_.pop_back();
  }
  return *t->on;
}

void Crew::switch_to(Fiber& to) {
  Fiber& from = *running_;
  running_ = &to;
  here() = to.thread ? &to.thread->at : nullptr;
  left_ = &from;
  from.stack.leave_for(to.stack);
  boost::context::fiber back = std::move(to.context).resume();
  from.stack.back_from(left_->stack);
  left_->context = std::move(back);
}

Crew::~Crew() {
  done_ = true;
  for (const auto& f : fibers_) {
    running_ = &scheduler_;
    switch_to(*f);
  }
}

// The threads that wait cannot go on: what they hold is given back, and the error is told.
void Crew::abandon() {
  for (std::size_t i = 0; i < count_; ++i) {
    if (threads_[i].on) switch_to(*threads_[i].on);
  }
  std::rethrow_exception(std::exchange(error_, nullptr));
}

bool Crew::wrong(const std::string& sentence) {
  if (!error_) error_ = std::make_exception_ptr(Error(sentence));
  return false;
}

bool Crew::meet(const Thread& t) {
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

bool Crew::lanes_met() {
  bool met = false;
  for (std::size_t i = first_; i < first_ + warp && i < count_ && !error_; ++i) {
    if (threads_[i].state == State::in_warp) met |= meet(threads_[i]);
  }
  return met;
}

// False where all have ended, or not all are there.
bool Crew::open_barrier() {
  const auto number = [&](State s) {
    return std::count_if(threads_.begin(), threads_.begin() + static_cast<std::ptrdiff_t>(count_),
                         [s](const Thread& t) { return t.state == s; });
  };
  const auto waiting = static_cast<std::size_t>(number(State::at_barrier));
  if (waiting < count_) {
    if (static_cast<std::size_t>(number(State::ended)) == count_) return false;
    return wrong("of the " + std::to_string(count_) + " threads of a block " +
                 std::to_string(waiting) +
                 " wait at a barrier and the others have ended or wait for their warp, but every "
                 "thread must come to it");
  }
  for (std::size_t i = 0; i < count_; ++i) threads_[i].state = State::ready;
  return true;
}

// Whose turn is it? Nobody's: the block is over, or cannot go on.
Thread* Crew::next() {
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

void Crew::run_block(Block& block, std::size_t dynamic_bytes) {
  if (dynamic_bytes > 0) std::memset(block.dynamic, 0xff, dynamic_bytes);
  for (const Memory& m : poisoned_) std::memset(m.at, 0xff, m.bytes);
  for (std::size_t i = 0; i < count_; ++i) {
    const auto t = static_cast<unsigned>(i);
    const dim3& n = block.threads;
    threads_[i].at = {{t % n.x, t / n.x % n.y, t / n.x / n.y}, &block};
    threads_[i].state = State::ready;
  }
  of_warps_.begin();
  of_lanes_.begin();
  first_ = of_warps_.next() * warp;
  switch_to(fiber_of(next()));
  if (error_) abandon();
}

void Crew::run(const Configuration& c, const std::function<void()>& body) {
  const auto volume = [](const dim3& d) { return std::size_t{d.x} * d.y * d.z; };
  count_ = volume(c.threads);
  require(count_ > 0 && count_ <= most_threads && volume(c.blocks) > 0 && c.blocks.y < 65536 &&
              c.blocks.z < 65536,
          "a kernel was launched with " + std::to_string(volume(c.blocks)) + " blocks of " +
              std::to_string(count_) + " threads, which no GPU takes");
  body_ = &body;
  of_warps_.resize((count_ + warp - 1) / warp);
  of_blocks_.resize(volume(c.blocks));
  const std::align_val_t line{128};
  const std::unique_ptr<void, void (*)(void*)> dynamic(
      c.dynamic_bytes > 0 ? ::operator new(c.dynamic_bytes, line) : nullptr,
      [](void* p) { ::operator delete (p, std::align_val_t{128}); });
  while (!of_blocks_.over()) {
    const auto b = static_cast<unsigned>(of_blocks_.next());
    Block block{{b % c.blocks.x, b / c.blocks.x % c.blocks.y, b / c.blocks.x / c.blocks.y},
                c.threads,
                c.blocks,
                dynamic.get()};
    run_block(block, c.dynamic_bytes);
  }
}

}  // namespace

void run_grid(const Configuration& c, const std::function<void()>& body) {
  Crew::of_this_thread().run(c, body);
}

void wait_for_block() {
  Crew& crew = Crew::of_this_thread();
  crew.running().state = State::at_barrier;
  crew.wait();
}

void wait_for_warp(unsigned mask, void* mine, Together action, const char* what) {
  Crew& crew = Crew::of_this_thread();
  Thread& f = crew.running();
  f.mask = mask, f.mine = mine, f.action = action, f.what = what;
  f.state = State::in_warp;
  if (!(mask >> lane() & 1))
    throw Error(std::string(what) + ": the lane that calls is not in its own mask");
  crew.wait();
}

unsigned lane() {
  const Position& p = *here();
  const dim3& n = p.block->threads;
  return (p.thread.x + n.x * (p.thread.y + n.y * p.thread.z)) % warp;
}

void poisoned_before_each_block(void* at, std::size_t bytes) {
  Crew::of_this_thread().poison(at, bytes);
}

}  // namespace shardmark::standin
