#include "impl/comm/host.hpp"

#include <fmt/format.h>

#include "kernels/cpu/math.hpp"
#include "profilers/timeline.hpp"

namespace shardmark {

namespace {
constexpr std::int64_t lately_ns = 5'000'000'000;
}

void Activity::enter(Verb verb_now, int label_now, int of_step) {
  verb_step = of_step;
  verb = static_cast<int>(verb_now);
  label = label_now;
  ++calls;
}

void Activity::stop_waiting() {
  const std::int64_t waited = waited_ns.exchange(0);
  if (waited == 0) return;
  const std::int64_t now = now_ns();
  if (waited < before_ns_ && now - before_end_ns_ < lately_ns) return;
  before_ns_ = waited;
  before_end_ns_ = now;
}

std::int64_t Activity::waited_lately_ns() const {
  const bool lately = now_ns() - before_end_ns_ < lately_ns;
  return std::max(waited_ns.load(), lately ? before_ns_.load() : 0);
}

std::string Activity::text() const {
  const int now = verb, at = step_now(), of = label;
  std::string in = now < 0 ? "in none" : fmt::format("in {}", name(static_cast<Verb>(now)));
  if (now >= 0 && of != no_label) in += fmt::format(" of segment {}", of);
  return fmt::format("{} collectives, {}{}", calls.load(), in,
                     at < 0 ? std::string() : fmt::format(", step {}", at));
}

std::string World::last_words() const {
  return fmt::format("rank {}: {}", rank(), activity_.text());
}

void Wait::progressed() {
  last_ns_ = waited_ns_ = 0;
  world_.activity().stop_waiting();
}

std::int64_t Wait::rest_until(std::int64_t patience_ns) {
  // Naps of 50 to 100 us slow what computes on the same core by a quarter in a virtual machine.
  constexpr std::int64_t nap_ns = 500'000, stopped_ns = 200'000'000;
  world_.check();
  const std::int64_t now = now_ns();
  if (last_ns_ > 0) waited_ns_ += std::min(now - last_ns_, stopped_ns);
  last_ns_ = now;
  world_.activity().waited_ns = waited_ns_;
  if (static_cast<double>(waited_ns_) * 1e-9 > timeout_s_)
    throw Error(fmt::format("waited more than {} s for its peers in {} ({})", timeout_s_, what_,
                            world_.last_words()));
  return waited_ns_ < patience_ns ? now : now + nap_ns;
}

std::function<void()> HostCommunicator::doing(Verb verb, int label, std::function<void()> body) {
  return [this, verb, label, step = world_.activity().step.load(), body = std::move(body)] {
    world_.activity().enter(verb, label, step);
    body();
    world_.activity().leave();
  };
}

Reduce::Op HostCommunicator::divided_first(View whole, Reduce::Op op) const {
  if (!sums_travel_ || !whole || whole.dtype() != DType::f16 || op != Reduce::Op::mean) return op;
  const ConstView own[] = {whole};
  cpu::reduce_ranks(own, whole, 1.0 / ranks());
  return Reduce::Op::sum;
}

void HostCommunicator::do_all_reduce(View inout, Reduce::Op op, int label) {
  device().comm().run(Transfer{inout, inout, {}, 0, doing(Verb::all_reduce, label, [=, this] {
                                 all_reduce_here(inout, divided_first(inout, op));
                               })});
}

void HostCommunicator::do_reduce_scatter(View whole, View mine, Reduce::Op op, int label) {
  device().comm().run(Transfer{whole, mine, whole, 0, doing(Verb::reduce_scatter, label, [=, this] {
                                 reduce_scatter_here(whole, mine, divided_first(whole, op));
                               })});
}

void HostCommunicator::do_all_gather(ConstView mine, View whole, int label) {
  device().comm().run(Transfer{mine, whole, {}, 0, doing(Verb::all_gather, label, [=, this] {
                                 all_gather_here(mine, whole);
                               })});
}

}  // namespace shardmark
