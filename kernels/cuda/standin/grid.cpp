// How does a thread of a block stop and go on? On a fiber: one that waits keeps its stack, and
// whoever is next (turns.hpp) goes on at once; one that has ended leaves its stack to the next that
// begins. Fibers stay with the stream's thread, for the next block.
#include "kernels/cuda/standin/grid.hpp"

#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "kernels/cuda/standin/stack.hpp"
#include "kernels/cuda/standin/turns.hpp"
#include "kernels/error.hpp"

namespace shardmark::standin {

struct Fiber {
  boost::context::fiber context;  // where it goes on, while it does not run
  Stack stack;
  Thread* thread = nullptr;
};

namespace {

struct Abandoned {};  // thrown into a kernel that cannot go on

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
  void run_block(const Block&, std::size_t dynamic_bytes);
  void abandon();

  Turns turns_;
  Order of_blocks_{1};
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> free_;
  Fiber stream_;  // the stream's own stack
  Fiber *running_ = &stream_, *left_ = nullptr;
  const std::function<void()>* body_ = nullptr;
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
                                      Stack::leave_for_ever(stream_.stack);
                                      return std::move(stream_.context);
                                    });
  free_.push_back(&f);
}

void Crew::live(Fiber& f) {
  while (!done_) {
    try {
      (*body_)();
    } catch (const Abandoned&) {
    } catch (...) {
      turns_.failed(std::current_exception());
    }
    f.thread->state = State::ended;
    f.thread->on = nullptr;
    Thread* const next = turns_.next();
    if (next && !next->on) {
      f.thread = next;
      next->on = &f;
      here() = &next->at;
    } else {
      free_.push_back(&f);
      switch_to(fiber_of(next));
    }
  }
}

void Crew::wait() {
  Thread* const next = turns_.next();
  if (next == running_->thread) return;
  switch_to(fiber_of(next));
  if (turns_.have_failed()) throw Abandoned();
}

// Where the thread goes on or begins; without one, where the block ends.
Fiber& Crew::fiber_of(Thread* t) {
  if (!t) return stream_;
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
    running_ = &stream_;
    switch_to(*f);
  }
}

// The threads that wait cannot go on: what they hold is given back, and the error is told.
void Crew::abandon() {
  for (Thread& t : turns_.threads()) {
    if (t.on) switch_to(*t.on);
  }
  std::rethrow_exception(turns_.take_error());
}

void Crew::run_block(const Block& block, std::size_t dynamic_bytes) {
  if (dynamic_bytes > 0) std::memset(block.dynamic, 0xff, dynamic_bytes);
  for (const Memory& m : poisoned_) std::memset(m.at, 0xff, m.bytes);
  turns_.begin(block);
  switch_to(fiber_of(turns_.next()));
  if (turns_.have_failed()) abandon();
}

void Crew::run(const Configuration& c, const std::function<void()>& body) {
  const auto volume = [](const dim3& d) { return std::size_t{d.x} * d.y * d.z; };
  const std::size_t threads = volume(c.threads);
  require(threads > 0 && threads <= most_threads && volume(c.blocks) > 0 && c.blocks.y < 65536 &&
              c.blocks.z < 65536,
          "a kernel was launched with " + std::to_string(volume(c.blocks)) + " blocks of " +
              std::to_string(threads) + " threads, which no GPU takes");
  body_ = &body;
  turns_.resize(threads);
  of_blocks_.resize(volume(c.blocks));
  const std::align_val_t line{128};
  const std::unique_ptr<void, void (*)(void*)> dynamic(
      c.dynamic_bytes > 0 ? ::operator new(c.dynamic_bytes, line) : nullptr,
      [](void* p) { ::operator delete (p, std::align_val_t{128}); });
  while (!of_blocks_.over()) {
    const auto b = static_cast<unsigned>(of_blocks_.next());
    run_block({{b % c.blocks.x, b / c.blocks.x % c.blocks.y, b / c.blocks.x / c.blocks.y},
               c.threads,
               c.blocks,
               dynamic.get()},
              c.dynamic_bytes);
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
  Thread& t = crew.running();
  t.mask = mask, t.mine = mine, t.action = action, t.what = what;
  t.state = State::in_warp;
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
