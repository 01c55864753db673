#pragma once
// Whose turn is it among the threads of a block? A warp runs until all of its lanes are at the
// barrier or have ended, then the next one does, so that warps are as far apart as they can be; in
// an order of warps, and of lanes, that is never the same twice.
#include <cstddef>
#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/standin/grid.hpp"

namespace shardmark::standin {

constexpr unsigned warp = 32, most_threads = 1024;

enum class State { ready, at_barrier, in_warp, ended };

struct Fiber;  // a stack of its own, and where on it something goes on
struct Thread {
  Position at;
  State state = State::ended;
  Fiber* on = nullptr;  // from where it began to where it ends
  unsigned mask = 0;    // from here on: of its warp's meeting
  void* mine = nullptr;
  Together action = nullptr;
  const char* what = nullptr;
};

// A way through n things, that steps from each to one far away, and starts somewhere else each
// time.
class Order {
 public:
  explicit Order(std::size_t n) { resize(n); }
  void resize(std::size_t n);
  void begin();
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

class Turns {
 public:
  void resize(std::size_t threads_of_a_block);
  void begin(const Block&);
  // Nobody's, where the block is over or cannot go on.
  Thread* next();
  std::span<Thread> threads() { return {threads_.data(), count_}; }

  // What a thread threw, or what it did that no GPU can: the first counts.
  void failed(std::exception_ptr error) {
    if (!error_) error_ = std::move(error);
  }
  bool have_failed() const { return error_ != nullptr; }
  std::exception_ptr take_error() { return std::exchange(error_, nullptr); }

 private:
  bool lanes_met();
  bool meet(const Thread&);
  bool open_barrier();
  bool wrong(const std::string& sentence);

  std::vector<Thread> threads_{most_threads};
  std::size_t count_ = 0;  // of them, those that a block has
  Order of_lanes_{warp}, of_warps_{1};
  std::size_t first_ = 0;  // of the warp whose turn it is
  std::exception_ptr error_;
};

}  // namespace shardmark::standin
