#include "impl/models/model.hpp"

namespace shardmark {

Model::Model(Rank& r, const Architecture& a, const Options& o)
    : queue_(r.device.compute()),
      architecture_(a),
      options_(o),
      memory_(r.device.memory()),
      passes_(passes_of(a, o)),
      kept_(a.units.size()) {
  const auto scratch_bytes = [&r](const Op& op) { return r.device.scratch_bytes(op); };
  const auto workspace = [this](std::size_t size, DType t) {
    return memory_.alloc(size, t, Tag::workspace, queue_);
  };
  inputs_ = workspace(2 * a.rows, DType::i32);
  work_ = workspace(a.workspace, o.precision.parameter);
  table_ = workspace(a.tables, DType::f32);
  scratch_ = workspace(largest_scratch(a, o, scratch_bytes), DType::u8);
  losses_ = workspace(static_cast<std::size_t>(o.steps), DType::f64);
  tokens_ = inputs_.view().slice({0, a.rows});
  targets_ = inputs_.view().slice({a.rows, a.rows});
  workspace_ = work_.view();
  tables_ = table_.view();
  Span span = queue_.begin(Phase::forward, no_label, Event::none());
  queue_.run(Clear{losses_.view()});
  (void)span.end();
}

void Model::load(const Batch& batch, int micro) {
  require(control_ || !options_.precision.loss_scaling,
          "gradients are to be scaled, but the model was not told by what");
  const MicroBatch& from = batch.micros[static_cast<std::size_t>(micro)];
  step_ = batch.step;
  Span span = queue_.begin(Phase::forward, no_label, Event::none());
  queue_.run(Cast{from.tokens, tokens_});
  queue_.run(Cast{from.targets, targets_});
  (void)span.end();
}

void Model::take_activation(int unit) {
  const Unit& u = architecture_.units[static_cast<std::size_t>(unit)];
  kept(unit).activation =
      memory_.alloc(u.activation, options_.precision.parameter, Tag::activation, queue_);
  kept(unit).statistics = memory_.alloc(u.statistics, DType::f32, Tag::activation, queue_);
}

void Model::drop_activation(int unit, Event after) {
  kept(unit).activation.give_back(after);
  kept(unit).statistics.give_back(after);
}

Model::Memory Model::memory_of(int unit, View out) {
  const ConstView in = unit > 0 ? ConstView(kept(unit - 1).handed_on.view()) : ConstView();
  return {in, out, kept(unit).activation.view(), kept(unit).statistics.view()};
}

Event Model::forward(int unit, Views weights, Event after) {
  kept(unit).handed_on =
      memory_.alloc(architecture_.units[static_cast<std::size_t>(unit)].handed_on,
                    options_.precision.parameter, Tag::activation, queue_);
  take_activation(unit);
  Span span = queue_.begin(Phase::forward, unit, after);
  run_forward(unit, weights, memory_of(unit, kept(unit).handed_on.view()));
  const Event done = span.end();
  if (!passes(unit).keeps) drop_activation(unit, done);
  // What was handed on is read again by this unit's backward alone.
  if (unit > 0 && !passes(unit).backward) kept(unit - 1).handed_on.give_back(done);
  return done;
}

Event Model::backward(int unit, Views weights, Views grads, Event after) {
  if (!passes(unit).backward) return after;
  if (passes(unit).again) {
    take_activation(unit);
    Span span = queue_.begin(Phase::recompute, unit, after);
    run_forward(unit, weights, memory_of(unit, {}));
    after = after | span.end();
  }
  Span span = queue_.begin(Phase::backward, unit, after);
  run_backward(unit, weights, grads, memory_of(unit, {}));
  const Event done = span.end();
  drop_activation(unit, done);
  if (unit > 0) kept(unit - 1).handed_on.give_back(done);
  return done;
}

View Model::own(Views all, int unit, std::size_t i) const {
  const Unit& u = architecture_.units[static_cast<std::size_t>(unit)];
  return all[static_cast<std::size_t>(u.uses[i])];
}

ConstView Model::weight(Views weights, int unit, std::size_t i) const {
  const View v = own(weights, unit, i);
  require(static_cast<bool>(v), "a weight that is used is not here");
  return v;
}

void Model::all_carved(View rest) const {
  require(!rest, "an architecture claims more memory than its model uses");
}

View Model::carve(View& rest, std::size_t elements) const {
  const View taken = rest.slice({0, elements});
  rest = rest.slice({elements, rest.size() - elements});
  return taken;
}

std::size_t Model::largest_scratch(const Architecture& a, const Options& o,
                                   const ScratchBytes& bytes) {
  std::size_t largest = 0;
  const DType t = o.precision.parameter;
  for (const Unit& u : a.units) {
    for (const auto* products : {&u.forward, &u.backward})
      for (const Product& p : *products)
        if (!p.attention) largest = std::max(largest, bytes(p.shape(t)));
    for (const auto& shape : u.scratch_for) largest = std::max(largest, bytes(shape(t)));
  }
  return largest;
}

namespace {

// The most that activations take at once, by type: what forward() and backward() take and give
// back, in their order.
std::map<DType, double> activation_peaks(const Architecture& a, const Options& o) {
  const std::vector<Passes> passes = passes_of(a, o);
  std::map<DType, double> now, most;
  const auto change = [&](DType t, double elements) {
    most[t] = std::max(most[t], now[t] += elements);
  };
  const auto own = [&](std::size_t u, double sign) {
    change(o.precision.parameter, sign * static_cast<double>(a.units[u].activation));
    change(DType::f32, sign * static_cast<double>(a.units[u].statistics));
  };
  const auto handed_on = [&](std::size_t u, double sign) {
    change(o.precision.parameter, sign * static_cast<double>(a.units[u].handed_on));
  };
  for (std::size_t u = 0; u < a.units.size(); ++u) {
    handed_on(u, 1), own(u, 1);
    if (!passes[u].keeps) own(u, -1);
    if (u > 0 && !passes[u].backward) handed_on(u - 1, -1);
  }
  for (std::size_t u = a.units.size(); u-- > 0;) {
    if (!passes[u].backward) continue;
    if (passes[u].again) own(u, 1);
    own(u, -1);
    if (u > 0) handed_on(u - 1, -1);
  }
  return most;
}

}  // namespace

void Model::claim(Claim& c, const Architecture& a, const Options& o,
                  const ScratchBytes& scratch_bytes) {
  for (const auto& [type, elements] : activation_peaks(a, o))
    c.hold(Tag::activation, type, elements);
  c.hold(Tag::workspace, DType::i32, 2.0 * static_cast<double>(a.rows));
  c.hold(Tag::workspace, o.precision.parameter, static_cast<double>(a.workspace));
  c.hold(Tag::workspace, DType::f32, static_cast<double>(a.tables));
  c.hold(Tag::workspace, DType::u8, static_cast<double>(largest_scratch(a, o, scratch_bytes)));
  c.hold(Tag::workspace, DType::f64, o.steps);
}

}  // namespace shardmark
