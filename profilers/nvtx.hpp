#pragma once
// What is a profiler from outside (Nsight Systems) told while a queue runs? NVTX ranges of the
// domain shardmark, with the names and categories of the traces: a step, in it a phase with its
// unit or segment; of a collective with its bytes. Everything that needs NVTX's header, without
// it: where shardmark was built without, nvtx_absent.cpp stands in.
#include <memory>
#include <string>
#include <vector>

#include "profilers/timeline.hpp"

namespace shardmark::nvtx {

bool built();           // with NVTX's header
std::string library();  // its version; where there is none, what would bring it

// Whose queues they are.
struct Owner {
  int rank = 0;
  std::vector<std::string> units;  // their names, by number
  bool two_queues = true;          // false: computes and communicates on one
};

// Of one queue. All calls come from the thread that executes what the queue holds, which is named
// after the queue. Where no profiler is attached, each is one branch.
class Ranges {
 public:
  Ranges(const Owner&, int lane);
  ~Ranges();
  // On lane 0 the first span of another step ends the last step's range, and begins one; what is
  // not of a step (negative: set-up) is in none.
  void open(const Interval& i) {
    if (open_) push(i);
  }
  void close() {
    if (open_) pop();
  }
  // Nothing more is of this step.
  void end_step() {
    if (open_) pop_step();
  }

 private:
  struct Open;
  void push(const Interval&);
  void pop();
  void pop_step();
  std::unique_ptr<Open> open_;  // none: nobody listens
};

}  // namespace shardmark::nvtx
