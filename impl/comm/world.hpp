#pragma once
// Who are the ranks, and how do they die together? World is not the transport: it exchanges a few
// host bytes that nobody counts, and carries the first failure to every wait of every rank.
#include <atomic>
#include <string>
#include <vector>

#include "kernels/error.hpp"
#include "profilers/words.hpp"

namespace shardmark {

struct Failure {
  int rank = -1;
  std::string what;  // which verb, which step, and what happened
};

// Thrown in every rank that waits once another one has failed.
class PeerFailed : public Error {
  using Error::Error;
};

// What a rank is doing, for the sentence when one of them dies or is waited for; read from other
// threads.
struct Activity {
  // The step that is being enqueued; -1: none yet, -2: none any more.
  std::atomic<int> step{-1};
  std::atomic<int> verb{-1}, label{0}, verb_step{-1};  // of a collective; verb -1: in none
  std::atomic<std::uint64_t> calls{0};                 // collectives entered
  std::atomic<std::int64_t> waited_ns{0};              // for peers, without any progress, just now
  // In a collective, asked for at this step, until leave().
  void enter(Verb verb_now, int label_now, int of_step);
  void leave() { verb = -1; }
  void stop_waiting();
  // The longest wait of the last seconds: a peer that was stopped and goes on ends the waits of the
  // others just before they are asked.
  std::int64_t waited_lately_ns() const;
  int step_now() const { return verb < 0 ? step : verb_step; }
  std::string text() const;  // "17 collectives, in reduce_scatter of segment 3, step 4"

 private:
  std::atomic<std::int64_t> before_ns_{0}, before_end_ns_{0};  // a wait that has ended, and when
};

class World {
 public:
  virtual ~World() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::vector<std::string> gather(
      const std::string& mine) = 0;         // collective; everybody gets all, by rank
  virtual void fail(Failure) noexcept = 0;  // the first one wins
  virtual void check() const = 0;           // throws PeerFailed if someone failed
  // All ranks run under one kernel, so that their monotonic clocks are one.
  virtual bool one_clock() const { return true; }
  virtual Activity& activity() { return activity_; }  // of this rank
  // What each rank that can be seen from here is doing.
  virtual std::string last_words() const;

 private:
  Activity activity_;
};

}  // namespace shardmark
