#pragma once
// What did the GPUs of this process do while spans were open? CUPTI's record of kernels, copies and
// calls, without its headers: where shardmark was built without, cupti_absent.cpp stands in. The
// library itself is looked for when a recorder is made, so that no program needs it to start.
#include <memory>
#include <string>

#include "profilers/activity.hpp"

namespace shardmark::cupti {

bool built();           // with CUPTI's header
std::string library();  // its version; where there is none, what would bring it

// At most one a process. Where it cannot record it says why and does nothing.
class Recorder {
 public:
  // Records from here on. library: a file to load in place of the CUDA Toolkit's.
  explicit Recorder(const std::string& library = "");
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  bool recording() const { return state_ != nullptr; }
  const std::string& why_not() const { return why_not_; }  // one sentence; empty while it records

  // On the thread that enqueues: what it enqueues until close() is of this span.
  void open(const SpanNumber& s) {
    if (state_) push(s.packed());
  }
  void close() {
    if (state_) pop();
  }

  // Everything since the begin. All queues of all ranks of this process have been drained; any of
  // its threads may ask.
  std::shared_ptr<const Activities> activities();

 private:
  struct State;
  void push(std::uint64_t span);
  void pop();
  std::string why_not_;
  std::unique_ptr<State> state_;  // none: does not record
};

}  // namespace shardmark::cupti
