// How do the fibers of a block take turns? A warp runs until all of its lanes are at the barrier or
// have ended, then the next one does, so that warps are as far apart as they can be; in an order of
// warps, and of lanes, that is never the same twice. Fibers stay with their thread, for the next
// block.
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

struct Fiber {
  boost::context::fiber context;  // where it goes on; while it runs, where the scheduler does
  Stack stack;
  Position at;
  State state = State::ended;
  unsigned mask = 0;  // from here on: of its warp's meeting
  void* mine = nullptr;
  Together action = nullptr;
  const char* what = nullptr;
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
  }
  template <class F>
  void each(F&& f) {
    std::size_t i = (turn_ * 7919) % n_;
    const std::size_t step = turn_ % 2 ? step_ : n_ - step_;
    ++turn_;
    for (std::size_t k = 0; k < n_; ++k, i = (i + step) % n_) f(i);
  }

 private:
  std::size_t n_ = 1, step_ = 1, turn_ = 0;
};

class Crew {
 public:
  static Crew& of_this_thread() {
    static thread_local Crew crew;
    return crew;
  }
  ~Crew();
  void run(const Configuration&, const std::function<void()>& body);
  void wait();  // called by a fiber
  Fiber& running() { return *running_; }
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
  void resume(Fiber&);
  void run_block(Block&, std::size_t dynamic_bytes);
  bool lanes_met(std::size_t first_of_warp);
  bool meet(std::size_t first_of_warp, Fiber&);
  void open_barrier();
  bool all_are(State) const;
  [[noreturn]] void fail(const std::string& sentence);

  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::size_t count_ = 0;  // of the fibers, those that the block has
  Fiber* running_ = nullptr;
  Stack scheduler_;
  Order of_lanes_{warp}, of_warps_{1}, of_blocks_{1};
  const std::function<void()>* body_ = nullptr;
  std::exception_ptr error_;
  bool abandoned_ = false, done_ = false;
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
                                    allocator, [this, &f](boost::context::fiber&& scheduler) {
                                      f.stack.back_from(scheduler_);
                                      f.context = std::move(scheduler);
                                      live(f);
                                      Stack::leave_for_ever(scheduler_);
                                      return std::move(f.context);
                                    });
}

void Crew::live(Fiber& f) {
  while (!done_) {
    try {
      (*body_)();
    } catch (const Abandoned&) {
    } catch (...) {
      error_ = std::current_exception();
    }
    f.state = State::ended;
    f.stack.leave_for(scheduler_);
    f.context = std::move(f.context).resume();
    f.stack.back_from(scheduler_);
  }
}

void Crew::wait() {
  Fiber& f = *running_;
  f.stack.leave_for(scheduler_);
  f.context = std::move(f.context).resume();
  f.stack.back_from(scheduler_);
  if (abandoned_) throw Abandoned();
}

void Crew::resume(Fiber& f) {
  running_ = &f;
  here() = &f.at;
  scheduler_.leave_for(f.stack);
  f.context = std::move(f.context).resume();
  scheduler_.back();
  here() = nullptr;
}

Crew::~Crew() {
  done_ = true;
  for (const auto& f : fibers_) resume(*f);
}

void Crew::fail(const std::string& sentence) {
  abandoned_ = true;
  for (std::size_t i = 0; i < count_; ++i) {
    if (fibers_[i]->state != State::ended) resume(*fibers_[i]);
  }
  abandoned_ = false;
  if (const auto first = std::exchange(error_, nullptr)) std::rethrow_exception(first);
  throw Error(sentence);
}

bool Crew::meet(std::size_t first, Fiber& f) {
  void* of_lane[warp] = {};
  for (unsigned i = 0; i < warp; ++i) {
    if (!(f.mask >> i & 1)) continue;
    const auto wrong = [&](const std::string& how) {
      fail(std::string(f.what) + ": lane " + std::to_string(i) + " of its mask " + how);
    };
    if (first + i >= count_) wrong("is not there, but the threads of a block fill no warp");
    const Fiber& other = *fibers_[first + i];
    if (other.state == State::ended) wrong("has ended, while others wait for it");
    if (other.state != State::in_warp) return false;
    const bool same = other.what == f.what || std::strcmp(other.what, f.what) == 0;
    if (other.mask != f.mask || !same)
      wrong(std::string("is at ") + other.what +
            " or has another mask, but all lanes must do the same");
    of_lane[i] = other.mine;
  }
  if (f.action) f.action(of_lane, f.mask);
  for (unsigned i = 0; i < warp; ++i) {
    if (f.mask >> i & 1) fibers_[first + i]->state = State::ready;
  }
  return true;
}

bool Crew::all_are(State s) const {
  for (std::size_t i = 0; i < count_; ++i) {
    if (fibers_[i]->state != s) return false;
  }
  return true;
}

bool Crew::lanes_met(std::size_t first) {
  bool met = false;
  for (std::size_t i = first; i < first + warp && i < count_; ++i) {
    if (fibers_[i]->state == State::in_warp) met |= meet(first, *fibers_[i]);
  }
  return met;
}

void Crew::open_barrier() {
  if (!all_are(State::at_barrier)) {
    const auto waiting = static_cast<std::size_t>(
        std::count_if(fibers_.begin(), fibers_.begin() + static_cast<std::ptrdiff_t>(count_),
                      [](const auto& f) { return f->state == State::at_barrier; }));
    fail("of the " + std::to_string(count_) + " threads of a block " + std::to_string(waiting) +
         " wait at a barrier and the others have ended or wait for their warp, but every thread "
         "must come to it");
  }
  for (std::size_t i = 0; i < count_; ++i) fibers_[i]->state = State::ready;
}

void Crew::run_block(Block& block, std::size_t dynamic_bytes) {
  if (dynamic_bytes > 0) std::memset(block.dynamic, 0xff, dynamic_bytes);
  for (const Memory& m : poisoned_) std::memset(m.at, 0xff, m.bytes);
  for (std::size_t i = 0; i < count_; ++i) {
    const auto t = static_cast<unsigned>(i);
    const dim3& n = block.threads;
    fibers_[i]->at = {{t % n.x, t / n.x % n.y, t / n.x / n.y}, &block};
    fibers_[i]->state = State::ready;
  }
  for (;;) {
    of_warps_.each([&](std::size_t w) {
      do {
        of_lanes_.each([&](std::size_t lane) {
          const std::size_t i = w * warp + lane;
          if (i < count_ && fibers_[i]->state == State::ready) resume(*fibers_[i]);
          if (error_) fail("");
        });
      } while (lanes_met(w * warp));
    });
    if (all_are(State::ended)) return;
    open_barrier();
  }
}

void Crew::run(const Configuration& c, const std::function<void()>& body) {
  const auto volume = [](const dim3& d) { return std::size_t{d.x} * d.y * d.z; };
  count_ = volume(c.threads);
  require(count_ > 0 && count_ <= most_threads && volume(c.blocks) > 0 && c.blocks.y < 65536 &&
              c.blocks.z < 65536,
          "a kernel was launched with " + std::to_string(volume(c.blocks)) + " blocks of " +
              std::to_string(count_) + " threads, which no GPU takes");
  body_ = &body;
  while (fibers_.size() < count_) add_fiber();
  of_warps_.resize((count_ + warp - 1) / warp);
  of_blocks_.resize(volume(c.blocks));
  const std::align_val_t line{128};
  const std::unique_ptr<void, void (*)(void*)> dynamic(
      c.dynamic_bytes > 0 ? ::operator new(c.dynamic_bytes, line) : nullptr,
      [](void* p) { ::operator delete (p, std::align_val_t{128}); });
  of_blocks_.each([&](std::size_t i) {
    const auto b = static_cast<unsigned>(i);
    Block block{{b % c.blocks.x, b / c.blocks.x % c.blocks.y, b / c.blocks.x / c.blocks.y},
                c.threads,
                c.blocks,
                dynamic.get()};
    run_block(block, c.dynamic_bytes);
  });
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
  Fiber& f = crew.running();
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
