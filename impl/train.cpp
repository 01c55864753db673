#include "impl/train.hpp"

#include <fmt/format.h>

#include <thread>

#include "impl/inject.hpp"
#include "impl/models/registry.hpp"
#include "impl/rank_run.hpp"
#include "kernels/cpu/math.hpp"

namespace shardmark {
namespace {

void ended(SharedRun& shared, int ranks) {
  const std::lock_guard lock(shared.mutex);
  shared.running -= ranks;
  shared.ended.notify_all();
}

void run_rank(const std::shared_ptr<SharedRun>& shared, int rank) {
  try {
    auto& run = shared->runs[static_cast<std::size_t>(rank)];
    run = std::make_unique<RankRun>(*shared, rank);
    run->run();
  } catch (const std::exception& e) {
    shared->hub.fail({rank, std::string("set-up: ") + e.what()});
  }
  ended(*shared, 1);
}

// Where a thread cannot be started, the ranks that run are told, and those that do not count as
// ended.
std::vector<std::thread> start(const std::shared_ptr<SharedRun>& shared) {
  std::vector<std::thread> threads;
  const int ranks = shared->training.ranks;
  threads.reserve(static_cast<std::size_t>(ranks));
  try {
    for (int r = 0; r < ranks; ++r) threads.emplace_back(run_rank, shared, r);
  } catch (const std::system_error& e) {
    const int started = static_cast<int>(threads.size());
    shared->hub.fail(
        {started, fmt::format("set-up: its thread could not be started ({})", e.what())});
    ended(*shared, ranks - started);
  }
  return threads;
}

// Waits for all ranks; once one has failed, the others get two seconds to notice.
bool wait_for_all(SharedRun& shared) {
  std::unique_lock lock(shared.mutex);
  const auto all_ended = [&] { return shared.running == 0; };
  while (!shared.ended.wait_for(lock, std::chrono::milliseconds(100), all_ended))
    if (shared.hub.failure())
      return shared.ended.wait_for(lock, std::chrono::seconds(2), all_ended);
  return true;
}

Claim claim_of(const StrategyEntry& e, const Layout& l, const Architecture& a, const Training& t) {
  Claim c = e.claim(l, t.options);
  Model::claim(c, a, t.options,
               [&t](const Matmul& m) { return cpu::scratch_bytes(m, t.threads_per_rank); });
  return c;
}

}  // namespace

Claims claims_of(const Training& given) {
  Training t = given;
  t.options.steps = steps_of(t);
  const StrategyEntry& entry = strategy_entry(t.strategy);
  const Architecture a = make_architecture(t.model, t.sequence, t.batch);
  const Layout layout(a, t.options, t.ranks, 0, entry.by_unit), ideal = layout.textbook();
  const Claim exact = claim_of(entry, layout, a, t), textbook = claim_of(entry, ideal, a, t);
  Claims out;
  out.textbook = textbook.bytes;
  out.exact = exact.bytes;
  out.formula = textbook.formula;
  for (const auto& [what, c] : exact.calls)
    out.exact_calls[what] = {static_cast<std::uint64_t>(c.calls),
                             static_cast<std::uint64_t>(c.payload),
                             static_cast<std::uint64_t>(c.volume)};
  for (const auto& [what, c] : textbook.calls) out.textbook_calls[what] = {c.payload, c.volume};
  out.parameters = a.parameter_count();
  out.trainable = static_cast<std::size_t>(ideal.elements(Form::whole, Which::trainable));
  out.padding_elements =
      static_cast<std::size_t>(layout.elements(Form::whole, Which::all)) - out.parameters;
  return out;
}

TrainingReport train(const Training& t) {
  const std::uint64_t before = process_status_bytes("VmRSS");
  // What the user got wrong is not a rank's failure.
  for (int r = 0; r < t.ranks; ++r) injection(t.inject, r);
  cpu::instruction_set();
  const auto shared = std::make_shared<SharedRun>(t);
  std::vector<std::thread> threads = start(shared);
  const bool all_ended = wait_for_all(*shared);
  for (std::thread& thread : threads) all_ended ? thread.join() : thread.detach();
  if (const auto f = shared->hub.failure())
    throw Error(fmt::format("rank {} failed at {}{}", f->rank, f->what,
                            all_ended ? "" : "; a rank that is stuck was left behind"));

  TrainingReport out;
  out.ranks = std::move(shared->reports);
  out.claims = claims_of(shared->training);
  for (const Unit& u : shared->architecture.units)
    for (const auto* products : {&u.forward, &u.backward})
      for (const Product& p : *products)
        out.flops_per_step += flops(p.shape()) * p.times * t.options.accumulate;
  out.tokens_per_step =
      shared->architecture.rows * static_cast<std::size_t>(t.ranks * t.options.accumulate);
  out.resident_before_bytes = before;
  out.resident_peak_bytes = shared->resident_peak;
  return out;
}

}  // namespace shardmark
