#pragma once
// What does one cell's training say when it is over? Runs all ranks of a cell as threads of this
// process, or this process as one rank of a group, and returns what each rank saw. Used by
// `shardmark cell` and by the conformance tests alike.
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "impl/architecture.hpp"
#include "impl/comm/interface.hpp"
#include "impl/comm/mpi.hpp"
#include "impl/options.hpp"
#include "profilers/activity.hpp"
#include "profilers/breakdown.hpp"
#include "profilers/ledgers.hpp"
#include "profilers/nvml_watch.hpp"
#include "profilers/span_counts.hpp"
#include "profilers/traced.hpp"

namespace shardmark {

// What computes.
enum class DeviceKind : std::uint8_t { cpu, cuda };

struct Training {
  std::string model;     // a preset or a free form: models/registry.hpp
  std::string strategy;  // a name of strategies()
  int ranks = 1;
  std::size_t batch = 1;       // sequences a rank and micro-step
  std::size_t sequence = 256;  // tokens a sequence
  int warmup = 2, steps = 10;  // warm-up steps come first and are not measured
  std::uint64_t seed = 1;
  DeviceKind device = DeviceKind::cpu;
  bool tf32 = false;    // GPUs: products of f32 may round their operands
  bool overlap = true;  // communication on a queue of its own
  int threads_per_rank = 1;
  double comm_timeout_s = 60;  // a wait longer than this fails the cell
  Options options;  // accumulate, clip, buckets ...; `steps` of it is filled in by train()
  std::vector<std::uint8_t> corpus;  // the bytes to train on; at least sequence + 1
  bool record_time = true;           // false: recorders off, to see what they cost
  bool trace = false;                // RankReport::traced is filled; needs record_time
  // GPUs: CUPTI records them. RankReport::profile is filled, and all times are of what the GPUs
  // did; needs record_time.
  bool profile = false;
  std::string
      inject;  // a fault for tests, e.g. "delay:rank=1,phase=backward,ms=20"; see impl/inject.hpp
  bool keep_parameters = false;  // RankReport::parameters is filled
  // RankReport::ops is filled; ranks that are threads, without overlap.
  bool time_ops = false;
  bool rate_products =
      false;        // RankReport::products_ns is measured behind the steps, on all ranks at once
  int late_us = 0;  // > 0: queues that run late on purpose (tests)
  std::optional<Link> link;  // a wire that ranks pretend to have; none: as fast as it goes
  // A network interface of this host, whose counters are read around each of counted_steps extra
  // steps (after a drain and a barrier), which are not timed.
  std::string interface;
  int counted_steps = 0;
};

// The same op on operands of the same size, all measured steps together.
struct OpTime {
  std::string kind;              // kind_of(): impl/cluster.hpp
  double flops = 0, bytes = 0;   // of one; bytes as traffic_bytes() counts them
  std::vector<std::int64_t> ns;  // of each
};

// Of the GPU that a rank computed on; other processes may hold some of it, too.
struct GpuUse {
  int gpu = -1;                         // its number in its rank's process; -1: none
  std::string id;                       // of this GPU on its host, for every process
  std::uint64_t reserved_bytes = 0;     // that this rank's arena has asked the driver for
  std::int64_t used_before_bytes = 0;   // when all ranks had their devices: contexts, others
  std::int64_t communicator_bytes = 0;  // that were used more once there was one
  std::int64_t driver_bytes = 0;        // and more behind the steps, by all ranks on this GPU
  std::uint64_t products_by_tiles = 0;  // that cuBLASLt had no algorithm for, all timed steps
  GpuStates during;                     // the measured steps; of the rank that looks for all
};

// What a recorder of activities says of one rank.
struct GpuProfile {
  std::string why_not;               // one sentence where it could not record
  Attributed sums;                   // without the timeline, which is RankReport::steps
  std::vector<StepTimes> by_events;  // the same steps by the events around each span
};

struct RankReport {
  // Warm-up included. One step more is run, to close the last window, and then the counted ones:
  // they stand in the other vectors.
  std::vector<StepTimes> steps;
  std::vector<double> loss, norm_before,
      norm_after;                  // by step; norms empty where nothing asked for them
  std::vector<double> loss_scale;  // of each step's gradients; empty without loss scaling
  int skipped_steps = 0;
  // The step changed nothing, since its gradients were not finite. step: warm-up included.
  bool skipped(std::size_t step) const {
    return step < norm_before.size() && !std::isfinite(norm_before[step]);
  }
  std::int64_t loop_ns = 0;            // all steps by one clock around them, recorders on or off
  std::map<Held, std::uint64_t> held;  // peaks by tag and type over the whole run
  std::vector<std::map<Held, std::uint64_t>> held_by_step;
  std::uint64_t peak_bytes = 0;  // everything at the worst moment
  std::vector<TrafficLedger> traffic_by_step;
  std::vector<std::uint64_t> allocations_by_step;     // how often memory was asked for
  std::vector<std::vector<SpanCount>> spans_by_step;  // of measured steps
  // Of the measured step that is the lower median of the maximum over ranks: what of this rank's
  // intervals is in its window. On a clock of its own where clocks are not comparable.
  Timeline timeline;
  TracedSteps traced;  // all measured steps, where that was asked for
  std::map<Held, std::uint64_t>
      left_over;                     // bucket, gathered, staging, activation alive after the drain
  std::uint64_t parameter_hash = 0;  // of all parameters as fp32, in order
  std::uint64_t moved_bytes = 0;  // bytes that the transport itself saw leave this rank, all steps
  double products_ns = 0;         // what a step's matrix products take alone, measured in this run
  std::string moved_witness;      // empty: nobody outside of the accounting counted
  // Where keep_parameters: as fp32; and the f32 weights behind them, empty where they are the same.
  std::vector<float> parameters, masters;
  // steps as an ideal replay of the recorded event graph gives them: every span as long as it was,
  // without its skew, and as early as its events allow; empty without overlap.
  std::vector<StepTimes> ideal;
  std::vector<InterfaceCounters> counted;  // what the interface sent, by counted step
  int interface_mtu = 0;                   // of the interface; 0 without one
  std::string host;                        // its name
  std::vector<OpTime> ops;                 // where time_ops; transfers are not among them
  // Of the process that the rank is, or of the process of all ranks: then rank 0 has it.
  std::uint64_t resident_before_bytes = 0, resident_peak_bytes = 0;
  GpuUse gpu;
  GpuProfile profile;
};

struct Claims {                            // what the formulas say, per rank
  std::map<Held, double> textbook, exact;  // bytes
  std::map<Called, Traffic> exact_calls;   // a step; rank 0
  struct TextbookTraffic {
    double payload = 0, volume = 0;
  };
  std::map<Called, TextbookTraffic> textbook_calls;
  std::map<Tag, std::string> formula;  // "4P", "8P/N": the textbook formula of each model state
  std::size_t parameters = 0, trainable = 0;  // P, T
  std::size_t kept_whole = 0;                 // W: of zero3, parameters that stay whole
  std::size_t padding_elements = 0;           // of the layout, whole
};

struct TrainingReport {
  std::vector<RankReport> ranks;
  Claims claims;
  double flops_per_step = 0;        // one rank, forward + backward, causal attention half
  std::size_t tokens_per_step = 0;  // all ranks
  // Of all processes together; VmRSS at start, VmHWM at the end.
  std::uint64_t resident_before_bytes = 0, resident_peak_bytes = 0;
  // The first access of the first or the last rank's steps that the dry device found not ordered
  // after a conflicting one, in one sentence; empty: none.
  std::string disorder;
  bool order_checked = true;      // false: more collectives a step than that takes a moment for
  bool clocks_comparable = true;  // false: ranks on several hosts, so no skew is known
};

// Throws InputError where the training cannot be (unknown names, shapes that do not divide), Error
// where a rank failed: then the message says which rank, in which verb, at which step.
TrainingReport train(const Training&);

// The same with ranks that are processes: every rank of the group calls it, and gets the report.
// Where a rank fails, the group's sink hears of it and the job is aborted.
TrainingReport train(const Training&, mpi::Group&);

// The claims alone: milliseconds, no memory.
Claims claims_of(const Training&);
// The same of an architecture that need not be one of the registry's: training.model is not read.
Claims claims_of(const Training&, const Architecture&);

}  // namespace shardmark
