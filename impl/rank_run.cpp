#include "impl/rank_run.hpp"

#include <fmt/format.h>

#include <cmath>
#include <fstream>

#include "impl/comm/interface.hpp"
#include "impl/export.hpp"
#include "impl/inject.hpp"
#include "impl/models/registry.hpp"
#include "impl/rank_timeline.hpp"
#include "kernels/cpu/cores.hpp"

namespace shardmark {

std::uint64_t process_status_bytes(const std::string& key) {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(key + ":")) return std::stoull(line.substr(key.size() + 1)) * 1024;
  return 0;
}

const StrategyEntry& strategy_entry(const std::string& strategy) {
  const auto it = strategies().find(strategy);
  if (it != strategies().end()) return it->second;
  std::string names;
  for (const auto& [name, entry] : strategies()) names += (names.empty() ? "" : ", ") + name;
  throw InputError(fmt::format("unknown strategy '{}': it may be {}", strategy, names));
}

Job::Job(const Training& t) : Job(t, make_architecture(t.model, t.sequence, t.batch)) {}

Job::Job(const Training& t, Architecture a)
    : training(t), entry(strategy_entry(t.strategy)), architecture(std::move(a)) {
  training.options.steps = steps_of(t);
}

std::int64_t spin_ns(const Training& t, int ranks_on_this_host, int cores) {
  const int threads = ranks_on_this_host * (t.threads_per_rank + (t.overlap ? 1 : 0));
  return spin_ns(threads, cores);
}

RankRun::RankRun(const Job& job, World& world, int place, const MakeCommunicator& make_communicator,
                 std::int64_t spin, GpuRecorders& recorders, RankReport& report)
    : job_(job),
      training_(job.training),
      options_(job.training.options),
      report_(report),
      recorders_(recorders),
      world_(world),
      place_(place),
      device_(device(spin)),
      comm_(communicator(make_communicator)),
      given_{world_, *comm_, *device_},
      layout_(job.architecture, options_, training_.ranks, world.rank(), job.entry.by_unit),
      corpus_(training_.corpus, {training_.batch, training_.sequence, training_.ranks, world.rank(),
                                 options_.accumulate, options_.steps, training_.seed}) {}

void RankRun::run() {
  try {
    make();
    train();
    collect();
    read_parameters();
    if (training_.rate_products) rate_products();
  } catch (const std::exception& e) {
    failed(e, world_.activity().step);
  }
  device_->stop();
}

// A rank that only noticed another one's failure says nothing. Memory may have run out: then even a
// sentence may not fit.
void RankRun::failed(const std::exception& e, int step) noexcept {
  if (dynamic_cast<const PeerFailed*>(&e)) return;
  try {
    const bool memory = dynamic_cast<const std::bad_alloc*>(&e);
    const double held = static_cast<double>(device_->memory().ledger().live()) * 1e-9;
    world_.fail(
        {world_.rank(), memory ? fmt::format("{}: out of memory, with {:.3f} GB held by this rank",
                                             where(step), held)
                               : fmt::format("{}: {}", where(step), e.what())});
  } catch (...) {
    world_.fail({world_.rank(), "out of memory"});  // short enough to need none
  }
}

std::string RankRun::where(int step) {
  return step == -1  ? "set-up"
         : step < -1 ? "the measurements behind the steps"
                     : fmt::format("step {}", step);
}

std::unique_ptr<Device> RankRun::device(std::int64_t spin) {
  nvtx::Owner owner{.rank = world_.rank(), .units = {}};
  for (const Unit& u : job_.architecture.units) owner.units.push_back(u.name);
  DeviceCalls calls;
  calls.spin_ns = spin;
  calls.poll = [this] { world_.check(); };
  calls.on_span = injection(training_.inject, world_.rank());
  calls.recorder = recorders_.cupti ? &*recorders_.cupti : nullptr;
  if (training_.time_ops)
    calls.on_op = [this](const Op& op, int step, std::int64_t ns) {
      if (step >= training_.warmup && step < training_.warmup + training_.steps)
        op_times_.add(op, ns);
    };
  calls.on_error = [this](std::exception_ptr e) {
    try {
      std::rethrow_exception(e);
    } catch (const std::exception& what) {
      failed(what, world_.activity().step_now());  // of the collective, which may be behind
    }
  };
  return make_device(training_, owner, place_, std::move(calls));
}

void RankRun::make() {
  world_.activity().step = -1;  // an earlier training of these ranks left it behind its steps
  device_->begin_step(-1);
  model_ = make_model(given_, training_.model, job_.architecture, options_, training_.sequence,
                      training_.batch);
  strategy_ = job_.entry.make(given_, *model_, layout_, options_);
  model_->scale_loss_by(strategy_->norm().control());
  strategy_->parameters().initialize(job_.architecture, training_.seed);
  strategy_->optimizer().initialize(job_.architecture, training_.seed);
  device_->drain();
  world_.gather("");
}

void RankRun::train() {
  std::unique_ptr<NvmlWatch> watch;
  const std::int64_t begin = now_ns();
  for (int i = 0; i < timed_steps_of(training_); ++i) {
    if (i == training_.warmup) watch = watch_gpu();
    if (i == training_.warmup && recorders_.capture) recorders_.capture->enter();
    step(i);
  }
  device_->drain();
  report_.loop_ns = now_ns() - begin;
  if (recorders_.capture) recorders_.capture->leave();
  if (watch) report_.gpu.during = watch->stop();
  world_.gather("");  // nobody measures anything below while others still train
  read_activities();
  if (GpuUse& use = report_.gpu; use.gpu >= 0) {
    use.reserved_bytes = cuda::reserved_bytes(*device_);
    use.products_by_tiles = cuda::products_by_tiles(*device_);
    use.driver_bytes = gpu_used() - use.used_before_bytes - use.communicator_bytes;
    world_.gather("");
  }
  for (int i = timed_steps_of(training_); i < options_.steps; ++i) {
    const InterfaceCounters before = sent_by(training_.interface);
    world_.gather("");  // nobody sends before all have looked
    step(i);
    device_->drain();
    world_.gather("");
    const InterfaceCounters after = sent_by(training_.interface);
    report_.counted.push_back({after.bytes - before.bytes, after.packets - before.packets});
    world_.gather("");
  }
  world_.activity().step = -2;
  report_.resident_peak_bytes = process_status_bytes("VmHWM");
}

void RankRun::step(int number) {
  world_.activity().step = number;
  const TrafficLedger before = comm_->traffic();
  const MemoryLedger& held = device_->memory().ledger();
  const std::uint64_t allocated = held.allocations();
  device_->begin_step(number);
  device_->memory().restart_peaks();
  if (training_.trace && number == training_.warmup) device_->memory().keep_events();
  strategy_->step(corpus_.batch(number));
  report_.allocations_by_step.push_back(held.allocations() - allocated);
  report_.held_by_step.push_back(held.peaks());
  report_.peak_bytes = std::max(report_.peak_bytes, held.peak());
  for (const auto& [what, bytes] : held.peaks())
    report_.held[what] = std::max(report_.held[what], bytes);
  TrafficLedger sent = comm_->traffic();
  for (const auto& [what, traffic] : before) sent[what] = sent[what] - traffic;
  report_.traffic_by_step.push_back(std::move(sent));
}

void RankRun::collect() {
  report_.loss = device_->fetch<double>(model_->losses());
  const auto norms = device_->fetch<double>(strategy_->norm().history());
  for (std::size_t i = 0; i + 2 < norms.size(); i += 3) {
    report_.norm_before.push_back(norms[i]);
    report_.norm_after.push_back(norms[i + 1]);
    if (options_.precision.loss_scaling) report_.loss_scale.push_back(norms[i + 2]);
    if (!std::isfinite(norms[i])) ++report_.skipped_steps;
  }
  check_loss_scale();
  if (training_.record_time)
    read_timeline(recorded(), device_->memory().ledger().events(), training_, world_, report_);
  report_.left_over = device_->memory().ledger().left_over();
  report_.moved_bytes = comm_->moved_bytes();
  report_.moved_witness = comm_->moved_witness();
  report_.host = host_name();
  report_.ops = op_times_.all();
  if (!training_.interface.empty()) report_.interface_mtu = mtu_of(training_.interface);
}

// With the smallest scale that is allowed there is nothing left to try. A step that overflowed in
// between is made good by those behind it; the last one is not.
void RankRun::check_loss_scale() {
  if (report_.loss_scale.empty() || std::isfinite(report_.norm_before.back())) return;
  const float floor = options_.precision.loss_scaling->floor;
  if (report_.loss_scale.back() > floor) return;
  world_.activity().step = options_.steps - 1;
  throw Error(
      fmt::format("the loss scale is at its floor, {}, and gradients still are not finite in f16 "
                  "({} of {} steps were skipped): train in bf16 or fp32, or with a lower learning "
                  "rate",
                  floor, report_.skipped_steps, report_.loss_scale.size()));
}

// A hash over the hashes of all parameters as fp32, in order; what is not stored has none. all:
// where they are kept too.
std::uint64_t RankRun::read(const State& state, std::vector<float>* all) {
  const std::vector<Parameter>& parameters = job_.architecture.parameters;
  std::vector<std::size_t> at(1, 0);
  for (const Parameter& p : parameters) at.push_back(at.back() + p.size);
  if (all) all->resize(at.back());
  std::vector<std::uint64_t> hashes(parameters.size());
  export_parameters(given_, layout_, state, [&](int p, ConstView v) {
    const auto number = static_cast<std::size_t>(p);
    const std::vector<float> values = device_->fetch_f32(v);
    hashes[number] = hash_of(values);
    if (all) std::ranges::copy(values, all->begin() + static_cast<std::ptrdiff_t>(at[number]));
  });
  return hash_of(hashes);
}

void RankRun::read_parameters() {
  const bool keep = training_.keep_parameters;
  report_.parameter_hash = read(strategy_->parameters(), keep ? &report_.parameters : nullptr);
  const State* master = strategy_->optimizer().master();
  if (keep && master) read(*master, &report_.masters);
}

// Every rank at once, as in the step; blocks are alike, so a shape is measured once.
void RankRun::rate_products() {
  using Shape = std::tuple<std::size_t, std::size_t, std::size_t, bool, bool, bool, bool, bool>;
  std::map<Shape, double> known;
  world_.gather("");
  each_product(job_.architecture, options_, [&](const Product& p) {
    double& ns = known[{p.m, p.n, p.k, p.ta, p.tb, p.adds, p.bias, p.residual}];
    if (ns == 0) ns = product_ns(training_, *device_, p.shape(options_.precision.parameter));
    report_.products_ns += ns * p.times * options_.accumulate;
  });
}

}  // namespace shardmark
