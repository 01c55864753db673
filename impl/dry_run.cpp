#include "impl/dry_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "impl/comm/dry.hpp"
#include "impl/comm/ring.hpp"
#include "impl/devices.hpp"
#include "impl/models/outline_model.hpp"
#include "impl/models/registry.hpp"
#include "impl/rank_run.hpp"

namespace shardmark {
namespace {

class LonelyWorld final : public World {
 public:
  LonelyWorld(int size, int rank) : size_(size), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::vector<std::string> gather(const std::string& mine) override { return {mine}; }
  void fail(Failure) noexcept override {}
  void check() const override {}

 private:
  int size_, rank_;
};

class DryRank {
 public:
  DryRank(const Job& job, int rank, DryOptions device, bool outline)
      : options_(job.training.options),
        device_(job.training.overlap, std::move(device)),
        world_(job.training.ranks, rank),
        comm_(device_, job.training.ranks, rank),
        given_{world_, comm_, device_},
        layout_(job.architecture, options_, job.training.ranks, rank, job.entry.by_unit) {
    const Training& t = job.training;
    model_ = outline ? outline_model(given_, job.architecture, options_)
                     : make_model(given_, t.model, job.architecture, options_, t.sequence, t.batch);
    strategy_ = job.entry.make(given_, *model_, layout_, options_);
    model_->scale_loss_by(strategy_->norm().control());
    strategy_->parameters().initialize(job.architecture, t.seed);
    strategy_->optimizer().initialize(job.architecture, t.seed);
    if (options_.collectives == Collectives::ring)
      landing_ = device_.memory().alloc(RingCommunicator::landing_bytes(job.training.ranks),
                                        DType::u8, Tag::workspace, device_.comm());
    device_.drain();
  }

  DryStep step(int number) {
    const std::vector<MicroBatch> micros(static_cast<std::size_t>(options_.accumulate));
    const TrafficLedger before = comm_.traffic();
    device_.begin_step(number);
    device_.memory().restart_peaks();
    strategy_->step({static_cast<std::size_t>(number), micros});
    const MemoryLedger& held = device_.memory().ledger();
    DryStep out{held.peaks(), held.peak(), comm_.traffic(), held.left_over()};
    for (const auto& [what, traffic] : before) out.traffic[what] = out.traffic[what] - traffic;
    return out;
  }

  const DryDevice& device() const { return device_; }

 private:
  const Options& options_;
  DryDevice device_;
  LonelyWorld world_;
  DryCommunicator comm_;
  Rank given_;
  Layout layout_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Strategy> strategy_;
  Buffer landing_;  // of what a ring receives
};

}  // namespace

DryReport dry_run(const Training& t, const DryAsked& asked) {
  require(asked.steps <= steps_of(t), "a dry run makes no more steps than the run");
  const Job job = asked.outline ? Job(t, *asked.outline) : Job(t);
  const auto scratch = [&t](const Op& op) { return scratch_bytes(t, op); };
  DryRank run(job, asked.rank, {asked.clock, asked.check_order, scratch}, asked.outline);
  DryReport out;
  for (int i = 0; i < asked.steps; ++i) out.steps.push_back(run.step(i));
  out.violations = run.device().violations();
  out.timeline = run.device().timeline();
  return out;
}

std::string first_violation(const Training& t, int other_rank) {
  for (const int rank : std::set<int>{0, other_rank}) {
    const DryReport dry = dry_run(t, {.rank = rank, .steps = std::min(2, steps_of(t))});
    if (!dry.violations.empty())
      return fmt::format("on the dry device, rank {}: {}", rank, dry.violations.front());
  }
  return "";
}

}  // namespace shardmark
