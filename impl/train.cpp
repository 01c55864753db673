#include "impl/train.hpp"

#include <fmt/format.h>

#include <condition_variable>
#include <fstream>
#include <mutex>
#include <thread>

#include "impl/comm/thread.hpp"
#include "impl/corpus.hpp"
#include "impl/inject.hpp"
#include "impl/models/registry.hpp"
#include "impl/strategies/strategy.hpp"
#include "kernels/cpu/device.hpp"
#include "kernels/cpu/math.hpp"
#include "kernels/rates.hpp"

namespace shardmark {
namespace {

const StrategyEntry& entry_of(const std::string& strategy) {
  const auto it = strategies().find(strategy);
  if (it != strategies().end()) return it->second;
  std::string names;
  for (const auto& [name, entry] : strategies()) names += (names.empty() ? "" : ", ") + name;
  throw InputError(fmt::format("unknown strategy '{}': it may be {}", strategy, names));
}

// One figure of /proc/self/status, in bytes; 0 where there is none.
std::uint64_t status_bytes(const std::string& key) {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);)
    if (line.rfind(key + ":", 0) == 0) return std::stoull(line.substr(key.size() + 1)) * 1024;
  return 0;
}

std::uint64_t hash_words(std::span<const float> values, std::uint64_t hash) {  // FNV-1a over 32-bit words
  for (float v : values) hash = (hash ^ std::bit_cast<std::uint32_t>(v)) * 0x100000001b3u;
  return hash;
}

// What all threads of a cell share; owned by each of them, since a thread that is stuck is left behind.
struct Cell {
  Training training;
  const StrategyEntry& entry;
  Architecture architecture;
  ThreadHub hub;
  std::vector<RankReport> reports;
  std::uint64_t resident_peak = 0;

  std::mutex mutex;
  std::condition_variable ended;
  int running = 0;

  explicit Cell(const Training& t)
      : training(t), entry(entry_of(t.strategy)), architecture(make_architecture(t.model, t.sequence, t.batch)),
        hub(t.ranks, t.comm_timeout_s, spin_ns(t)), reports(static_cast<std::size_t>(t.ranks)), running(t.ranks) {
    training.options.steps = t.warmup + t.steps;
  }
  // Waits may spin only where every thread has a core.
  static std::int64_t spin_ns(const Training& t) {
    const unsigned threads = static_cast<unsigned>(t.ranks * (t.threads_per_rank + (t.overlap ? 1 : 0)));
    return threads <= std::thread::hardware_concurrency() ? 50'000 : 0;
  }
};

// One rank, from its first byte to its report.
class RankRun {
 public:
  RankRun(Cell& c, int rank)
      : cell_(c), t_(c.training), options_(c.training.options), report_(c.reports[static_cast<std::size_t>(rank)]), rank_(rank),
        world_(c.hub, rank), device_(device_options()), comm_(device_, c.hub, rank, options_.all_reduce),
        given_{world_, comm_, device_}, layout_(c.architecture, options_, t_.ranks, rank, c.entry.by_unit),
        corpus_(t_.corpus, {t_.batch, t_.sequence, t_.ranks, rank, options_.accumulate, options_.steps, t_.seed}) {}

  // Whatever goes wrong is said to the world while the queues still stand, so that none of them waits for this rank.
  void run() {
    try {
      make();
      for (step_ = 0; step_ < options_.steps; ++step_) step();
      device_.drain();
      world_.gather("");  // nobody measures anything below while others still train
      collect();
      export_parameters();
      if (t_.rate_products) rate_products();
    } catch (const PeerFailed&) {
    } catch (const std::bad_alloc&) {
      world_.fail({rank_, fmt::format("{}: out of memory, with {:.3f} GB held by this rank", where(),
                                      static_cast<double>(device_.memory().ledger().live()) * 1e-9)});
    } catch (const std::exception& e) {
      world_.fail({rank_, fmt::format("{}: {}", where(), e.what())});
    }
  }

 private:
  std::string where() const { return step_ < 0 ? "while it was set up" : fmt::format("step {}", step_); }

  CpuOptions device_options() {
    CpuOptions o;
    o.overlap = t_.overlap;
    o.threads = t_.threads_per_rank;
    o.record = t_.record_time;
    o.spin_ns = Cell::spin_ns(t_);
    o.late_us = t_.late_us;
    o.poll = [this] { world_.check(); };
    o.on_span = injection(t_.inject, rank_);
    o.on_error = [this](std::exception_ptr e) {
      try {
        std::rethrow_exception(e);
      } catch (const PeerFailed&) {
      } catch (const std::exception& what) {
        world_.fail({rank_, fmt::format("{}: {}", where(), what.what())});
      }
    };
    return o;
  }

  void make() {
    device_.begin_step(-1);
    model_ = make_model(given_, t_.model, cell_.architecture, options_, t_.sequence, t_.batch);
    strategy_ = cell_.entry.make(given_, *model_, layout_, options_);
    strategy_->parameters().initialize(cell_.architecture, t_.seed);
    device_.drain();
    world_.gather("");
  }

  void step() {
    const TrafficLedger before = comm_.traffic();
    device_.begin_step(step_);
    device_.memory().restart_peaks();
    strategy_->step(corpus_.batch(step_));
    report_.held_by_step.push_back(device_.memory().ledger().peaks());
    report_.peak_bytes = std::max(report_.peak_bytes, device_.memory().ledger().peak());
    for (const auto& [what, bytes] : report_.held_by_step.back()) report_.held[what] = std::max(report_.held[what], bytes);
    TrafficLedger moved = comm_.traffic();
    for (const auto& [what, traffic] : before) moved[what] = moved[what] - traffic;
    report_.traffic_by_step.push_back(std::move(moved));
  }

  void collect() {
    if (rank_ == 0) cell_.resident_peak = status_bytes("VmHWM");
    if (t_.record_time) report_.steps = breakdown(device_.timeline(), options_.steps);
    for (double l : model_->losses().host<double>()) report_.loss.push_back(l);
    const auto norms = strategy_->norm().history().host<double>();
    for (std::size_t i = 0; i + 1 < norms.size(); i += 2) {
      report_.norm_before.push_back(norms[i]);
      report_.norm_after.push_back(norms[i + 1]);
      if (!std::isfinite(norms[i])) ++report_.skipped_steps;
    }
    for (const auto& [what, peak] : device_.memory().ledger().peaks())
      if (what.first == Tag::bucket || what.first == Tag::gathered || what.first == Tag::staging || what.first == Tag::activation)
        if (const std::uint64_t live = device_.memory().ledger().live(what)) report_.left_over[what] = live;
    report_.moved_bytes = comm_.moved_bytes();
    report_.moved_witness = comm_.moved_witness();
  }

  // Home by home, so that only one is whole at a time; what this gathers is no longer counted.
  void export_parameters() {
    const State& state = strategy_->parameters();
    std::vector<std::uint64_t> hashes(static_cast<std::size_t>(layout_.parameters()));
    if (t_.keep_parameters) report_.parameters.resize(cell_.architecture.parameter_count());
    for (int h = 0; h < layout_.homes(); ++h) {
      const Home& home = layout_.home(h);
      Buffer gathered;
      if (!state.is_whole(home.first))
        gathered = device_.memory().alloc(home.size, options_.precision.parameter, Tag::staging, device_.comm());
      for (int s = home.first; s <= home.last; ++s)
        if (gathered.view()) (void)comm_.all_gather(state.mine(s), gathered.view().slice(layout_[s].in_home), s, Event::none());
      device_.drain();
      std::size_t at = 0;
      for (int p = 0; p < layout_.parameters(); ++p) {
        const std::size_t size = layout_.parameter_size(p);
        if (layout_.place(p).home == h && size) {
          const ConstView from = gathered.view() ? gathered.view().slice({layout_.place(p).begin, size})
                                                 : state.views()[static_cast<std::size_t>(p)];
          const auto values = from.host<float>();
          hashes[static_cast<std::size_t>(p)] = hash_words(values, 0xcbf29ce484222325u);
          if (t_.keep_parameters) std::copy(values.begin(), values.end(), report_.parameters.begin() + static_cast<std::ptrdiff_t>(at));
        }
        at += size;
      }
    }
    report_.parameter_hash = 0xcbf29ce484222325u;
    for (std::uint64_t h : hashes) report_.parameter_hash = (report_.parameter_hash ^ h) * 0x100000001b3u;
  }

  void rate_products() {
    const auto rate = [&](const Product& p) { return product_ns(p.shape(), t_.threads_per_rank) * p.times; };
    for (const Unit& u : cell_.architecture.units)
      for (const auto* products : {&u.forward, &u.backward})
        for (const Product& p : *products) report_.products_ns += rate(p) * options_.accumulate;
  }

  Cell& cell_;
  const Training& t_;
  const Options& options_;
  RankReport& report_;
  int rank_, step_ = -1;
  ThreadWorld world_;
  CpuDevice device_;
  ThreadCommunicator comm_;
  Rank given_;
  Layout layout_;
  Corpus corpus_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Strategy> strategy_;
};

void run_rank(const std::shared_ptr<Cell>& cell, int rank) {
  try {
    RankRun(*cell, rank).run();
  } catch (const std::exception& e) {
    cell->hub.fail({rank, fmt::format("while it was set up: {}", e.what())});
  }
  const std::lock_guard lock(cell->mutex);
  --cell->running;
  cell->ended.notify_all();
}

// Waits for all ranks; once one has failed, the others get two seconds to notice.
bool wait_for_all(Cell& cell) {
  std::unique_lock lock(cell.mutex);
  const auto all_ended = [&] { return cell.running == 0; };
  while (!cell.ended.wait_for(lock, std::chrono::milliseconds(100), all_ended))
    if (cell.hub.failure()) return cell.ended.wait_for(lock, std::chrono::seconds(2), all_ended);
  return true;
}

Claim claim_of(const StrategyEntry& e, const Layout& l, const Architecture& a, const Training& t) {
  Claim c = e.claim(l, t.options);
  Model::claim(c, a, t.options, [&t](const Matmul& m) { return cpu::scratch_bytes(m, t.threads_per_rank); });
  return c;
}

}  // namespace

Claims claims_of(const Training& given) {
  Training t = given;
  t.options.steps = t.warmup + t.steps;
  const StrategyEntry& entry = entry_of(t.strategy);
  const Architecture a = make_architecture(t.model, t.sequence, t.batch);
  const Layout layout(a, t.options, t.ranks, 0, entry.by_unit), ideal = layout.textbook();
  const Claim exact = claim_of(entry, layout, a, t), textbook = claim_of(entry, ideal, a, t);
  Claims out;
  out.textbook = textbook.bytes;
  out.exact = exact.bytes;
  out.formula = textbook.formula;
  for (const auto& [what, c] : exact.calls)
    out.exact_calls[what] = {static_cast<std::uint64_t>(c.calls), static_cast<std::uint64_t>(c.payload),
                             static_cast<std::uint64_t>(c.volume)};
  for (const auto& [what, c] : textbook.calls) out.textbook_calls[what] = {c.payload, c.volume};
  out.parameters = a.parameter_count();
  out.trainable = static_cast<std::size_t>(ideal.elements(Form::whole, Which::trainable));
  out.padding_elements = static_cast<std::size_t>(layout.elements(Form::whole, Which::all)) - out.parameters;
  return out;
}

TrainingReport train(const Training& t) {
  const std::uint64_t before = status_bytes("VmRSS");
  injection(t.inject, -1);  // a text that cannot be read is the user's error, not a rank's
  const auto cell = std::make_shared<Cell>(t);
  std::vector<std::thread> threads;
  for (int r = 0; r < t.ranks; ++r) threads.emplace_back(run_rank, cell, r);
  const bool all_ended = wait_for_all(*cell);
  for (std::thread& thread : threads) all_ended ? thread.join() : thread.detach();
  if (const auto f = cell->hub.failure())
    throw Error(fmt::format("rank {} failed at {}{}", f->rank, f->what, all_ended ? "" : "; a rank that is stuck was left behind"));

  TrainingReport out;
  out.ranks = std::move(cell->reports);
  out.claims = claims_of(cell->training);
  for (const Unit& u : cell->architecture.units)
    for (const auto* products : {&u.forward, &u.backward})
      for (const Product& p : *products)
        out.flops_per_step += flops(p.shape()) * p.times * cell->training.options.accumulate;
  out.tokens_per_step = cell->architecture.rows * static_cast<std::size_t>(t.ranks * t.options.accumulate);
  out.resident_before_bytes = before;
  out.resident_peak_bytes = cell->resident_peak;
  return out;
}

}  // namespace shardmark
