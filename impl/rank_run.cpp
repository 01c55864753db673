#include "impl/rank_run.hpp"

#include <fmt/format.h>

#include <cmath>
#include <fstream>

#include "impl/export.hpp"
#include "impl/inject.hpp"
#include "impl/models/registry.hpp"
#include "kernels/cpu/cores.hpp"
#include "kernels/rates.hpp"

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

SharedRun::SharedRun(const Training& t)
    : training(t),
      entry(strategy_entry(t.strategy)),
      architecture(make_architecture(t.model, t.sequence, t.batch)),
      hub(t.ranks, t.comm_timeout_s, spin_ns(t)),
      reports(static_cast<std::size_t>(t.ranks)),
      runs(static_cast<std::size_t>(t.ranks)),
      running(t.ranks) {
  training.options.steps = steps_of(t);
}
SharedRun::~SharedRun() = default;

std::int64_t SharedRun::spin_ns(const Training& t) {
  const int threads = t.ranks * (t.threads_per_rank + (t.overlap ? 1 : 0));
  return threads <= usable_cores() ? 50'000 : 0;
}

RankRun::RankRun(SharedRun& s, int rank)
    : shared_(s),
      training_(s.training),
      options_(s.training.options),
      report_(s.reports[static_cast<std::size_t>(rank)]),
      rank_(rank),
      world_(s.hub, rank),
      device_(device_options()),
      comm_(device_, s.hub, rank, options_.all_reduce),
      given_{world_, comm_, device_},
      layout_(s.architecture, options_, training_.ranks, rank, s.entry.by_unit),
      corpus_(training_.corpus, {training_.batch, training_.sequence, training_.ranks, rank,
                                 options_.accumulate, options_.steps, training_.seed}) {}

void RankRun::run() {
  try {
    make();
    const std::int64_t begin = now_ns();
    for (step_ = 0; step_ < options_.steps; ++step_) step();
    device_.drain();
    report_.loop_ns = now_ns() - begin;
    world_.gather("");  // nobody measures anything below while others still train
    collect();
    read_parameters();
    if (training_.rate_products) rate_products();
  } catch (const std::exception& e) {
    failed(e);
  }
  device_.stop();
}

// A rank that only noticed another one's failure says nothing. Memory may have run out: then even a
// sentence may not fit.
void RankRun::failed(const std::exception& e) noexcept {
  if (dynamic_cast<const PeerFailed*>(&e)) return;
  try {
    const bool memory = dynamic_cast<const std::bad_alloc*>(&e);
    const double held = static_cast<double>(device_.memory().ledger().live()) * 1e-9;
    world_.fail({rank_, memory ? fmt::format("{}: out of memory, with {:.3f} GB held by this rank",
                                             where(), held)
                               : fmt::format("{}: {}", where(), e.what())});
  } catch (...) {
    world_.fail({rank_, "out of memory"});  // short enough to need none
  }
}

std::string RankRun::where() const {
  return step_ < 0 ? "set-up" : fmt::format("step {}", step_.load());
}

CpuOptions RankRun::device_options() {
  CpuOptions o;
  o.overlap = training_.overlap;
  o.threads = training_.threads_per_rank;
  o.record = training_.record_time;
  o.spin_ns = SharedRun::spin_ns(training_);
  o.late_us = training_.late_us;
  o.poll = [this] { world_.check(); };
  o.on_span = injection(training_.inject, rank_);
  o.on_error = [this](std::exception_ptr e) {
    try {
      std::rethrow_exception(e);
    } catch (const std::exception& what) {
      failed(what);
    }
  };
  return o;
}

void RankRun::make() {
  device_.begin_step(-1);
  model_ = make_model(given_, training_.model, shared_.architecture, options_, training_.sequence,
                      training_.batch);
  strategy_ = shared_.entry.make(given_, *model_, layout_, options_);
  strategy_->parameters().initialize(shared_.architecture, training_.seed);
  device_.drain();
  world_.gather("");
}

void RankRun::step() {
  const TrafficLedger before = comm_.traffic();
  device_.begin_step(step_);
  device_.memory().restart_peaks();
  strategy_->step(corpus_.batch(step_));
  const MemoryLedger& held = device_.memory().ledger();
  report_.held_by_step.push_back(held.peaks());
  report_.peak_bytes = std::max(report_.peak_bytes, held.peak());
  for (const auto& [what, bytes] : held.peaks())
    report_.held[what] = std::max(report_.held[what], bytes);
  TrafficLedger sent = comm_.traffic();
  for (const auto& [what, traffic] : before) sent[what] = sent[what] - traffic;
  report_.traffic_by_step.push_back(std::move(sent));
}

void RankRun::collect() {
  if (rank_ == 0) shared_.resident_peak = process_status_bytes("VmHWM");
  if (training_.record_time) {
    report_.steps = breakdown(device_.timeline(), options_.steps);
    report_.steps.pop_back();  // the closing step: no step begins behind it
  }
  const auto losses = model_->losses().host<double>();
  report_.loss.assign(losses.begin(), losses.end());
  const auto norms = strategy_->norm().history().host<double>();
  for (std::size_t i = 0; i + 1 < norms.size(); i += 2) {
    report_.norm_before.push_back(norms[i]);
    report_.norm_after.push_back(norms[i + 1]);
    if (!std::isfinite(norms[i])) ++report_.skipped_steps;
  }
  for (const auto& [what, peak] : device_.memory().ledger().peaks()) {
    const bool passing = what.first == Tag::bucket || what.first == Tag::gathered ||
                         what.first == Tag::staging || what.first == Tag::activation;
    const std::uint64_t live = device_.memory().ledger().live(what);
    if (passing && live) report_.left_over[what] = live;
  }
  report_.moved_bytes = comm_.moved_bytes();
  report_.moved_witness = comm_.moved_witness();
}

void RankRun::read_parameters() {
  std::vector<std::size_t> at(1, 0);
  for (const Parameter& p : shared_.architecture.parameters) at.push_back(at.back() + p.size);
  std::vector<std::uint64_t> hashes(shared_.architecture.parameters.size());
  if (training_.keep_parameters) report_.parameters.resize(at.back());
  export_parameters(given_, layout_, strategy_->parameters(), [&](int p, ConstView v) {
    const auto number = static_cast<std::size_t>(p);
    const auto values = v.host<float>();
    hashes[number] = hash_of(values);
    if (training_.keep_parameters)
      std::ranges::copy(values,
                        report_.parameters.begin() + static_cast<std::ptrdiff_t>(at[number]));
  });
  report_.parameter_hash = hash_of(hashes);
}

// Every rank at once, as in the step; blocks are alike, so a shape is measured once.
void RankRun::rate_products() {
  using Shape = std::tuple<std::size_t, std::size_t, std::size_t, bool, bool, bool, bool, bool>;
  std::map<Shape, double> known;
  world_.gather("");
  for (const Unit& u : shared_.architecture.units)
    for (const auto* products : {&u.forward, &u.backward})
      for (const Product& p : *products) {
        double& ns = known[{p.m, p.n, p.k, p.ta, p.tb, p.adds, p.bias, p.residual}];
        if (ns == 0) ns = product_ns(p.shape(), training_.threads_per_rank);
        report_.products_ns += ns * p.times * options_.accumulate;
      }
}

}  // namespace shardmark
