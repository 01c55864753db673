#pragma once
// What does one rank do, from its first byte to its report? It builds its device, communicator,
// model and strategy, trains, and reads what the ledgers and the device hold.
#include <atomic>
#include <condition_variable>
#include <mutex>

#include "impl/comm/thread.hpp"
#include "impl/corpus.hpp"
#include "impl/strategies/strategy.hpp"
#include "impl/train.hpp"
#include "kernels/cpu/device.hpp"

namespace shardmark {

// One figure of /proc/self/status ("VmRSS", "VmHWM"), in bytes; 0 where there is none.
std::uint64_t process_status_bytes(const std::string& key);

// All steps of a run: warm-up, measured ones, and one that closes the last window, since a step
// ends where the next one begins.
inline int steps_of(const Training& t) { return t.warmup + t.steps + 1; }

// Throws InputError naming the strategies there are.
const StrategyEntry& strategy_entry(const std::string& name);

class RankRun;

// What all threads of a run share; owned by each of them, since a thread that is stuck is left
// behind.
struct SharedRun {
  Training training;
  const StrategyEntry& entry;
  Architecture architecture;
  ThreadHub hub;
  std::vector<RankReport> reports;
  std::uint64_t resident_peak = 0;
  // Peers read each other's memory: none is freed before the last rank's queues have ended.
  std::vector<std::unique_ptr<RankRun>> runs;

  std::mutex mutex;
  std::condition_variable ended;
  int running = 0;

  explicit SharedRun(const Training&);
  ~SharedRun();
  // Waits may spin only where every thread has a core.
  static std::int64_t spin_ns(const Training&);
};

class RankRun {
 public:
  RankRun(SharedRun&, int rank);
  // Whatever goes wrong is said to the world; returns with the queues ended and all memory still
  // there.
  void run();

 private:
  std::string where() const;
  CpuOptions device_options();
  void make();
  void step();
  void collect();
  void read_parameters();
  void rate_products();
  void failed(const std::exception&) noexcept;

  SharedRun& shared_;
  const Training& training_;
  const Options& options_;
  RankReport& report_;
  int rank_;
  std::atomic<int> step_{-1};
  ThreadWorld world_;
  CpuDevice device_;
  ThreadCommunicator comm_;
  Rank given_;
  Layout layout_;
  Corpus corpus_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Strategy> strategy_;
};

}  // namespace shardmark
