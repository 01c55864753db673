#pragma once
// What does one rank do, from its first byte to its report? It builds its device, communicator,
// model and strategy, trains, and reads what the ledgers and the device hold; whether ranks are
// threads or processes is not known here.
#include <functional>

#include "impl/corpus.hpp"
#include "impl/devices.hpp"
#include "impl/gpu_recorders.hpp"
#include "impl/op_times.hpp"
#include "impl/strategies/strategy.hpp"
#include "impl/train.hpp"

namespace shardmark {

// One figure of /proc/self/status ("VmRSS", "VmHWM"), in bytes; 0 where there is none.
std::uint64_t process_status_bytes(const std::string& key);

// All steps of a run: warm-up, measured ones, one that closes the last window, since a step ends
// where the next one begins, and those in which an interface's counters are read.
inline int timed_steps_of(const Training& t) { return t.warmup + t.steps + 1; }
inline int steps_of(const Training& t) { return timed_steps_of(t) + t.counted_steps; }

// Throws InputError naming the strategies there are.
const StrategyEntry& strategy_entry(const std::string& name);

// What all ranks of a training know before it begins: the same on each.
struct Job {
  Training training;  // options.steps filled in
  const StrategyEntry& entry;
  Architecture architecture;
  explicit Job(const Training&);
  Job(const Training&, Architecture);
};

// Waits may spin only where every thread has a core.
std::int64_t spin_ns(const Training&, int ranks_on_this_host, int cores);

class RankRun {
 public:
  using MakeCommunicator = std::function<std::unique_ptr<Communicator>(Device&)>;
  // place: of this rank among those on its host.
  RankRun(const Job&, World&, int place, const MakeCommunicator&, std::int64_t spin_ns,
          GpuRecorders&, RankReport&);
  // Whatever goes wrong is said to the world; returns with the queues ended and all memory still
  // there.
  void run();

 private:
  static std::string where(int step);
  std::unique_ptr<Device> device(std::int64_t spin_ns);
  std::unique_ptr<Communicator> communicator(const MakeCommunicator&);
  std::int64_t gpu_used() const;                 // bytes, whoever holds them
  std::unique_ptr<NvmlWatch> watch_gpu() const;  // none: another rank does
  void read_activities();
  Timeline recorded();
  void make();
  void train();
  void step(int number);
  void collect();
  void check_loss_scale();
  std::uint64_t read(const State&, std::vector<float>* all);
  void read_parameters();
  void rate_products();
  void failed(const std::exception&, int step) noexcept;

  const Job& job_;
  const Training& training_;
  const Options& options_;
  RankReport& report_;
  GpuRecorders& recorders_;
  World& world_;
  int place_;
  OpTimer op_times_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Communicator> comm_;
  Rank given_;
  Layout layout_;
  Corpus corpus_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Strategy> strategy_;
  std::optional<Attributed> attributed_;
};

}  // namespace shardmark
