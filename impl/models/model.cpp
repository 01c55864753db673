#include "impl/models/model.hpp"

namespace shardmark {

Model::Model(Rank& r, const Architecture& a, const Options& o)
    : queue_(r.device.compute()), architecture_(a), options_(o), memory_(r.device.memory()) {
  const auto scratch_bytes = [&r](const Matmul& m) { return r.device.scratch_bytes(m); };
  inputs_ = memory_.alloc(2 * a.rows, DType::i32, Tag::workspace, queue_);
  work_ = memory_.alloc(a.workspace, o.precision.parameter, Tag::workspace, queue_);
  scratch_ = memory_.alloc(largest_scratch(a, scratch_bytes), DType::u8, Tag::workspace, queue_);
  losses_ = memory_.alloc(static_cast<std::size_t>(o.steps), DType::f64, Tag::workspace, queue_);
  tokens_ = inputs_.view().slice({0, a.rows});
  targets_ = inputs_.view().slice({a.rows, a.rows});
  workspace_ = work_.view();
  Span span = queue_.begin(Phase::forward, 0, Event::none());
  queue_.run(Clear{losses_.view()});
  (void)span.end();
}

void Model::load(const Batch& batch, int micro) {
  const MicroBatch& from = batch.micros[static_cast<std::size_t>(micro)];
  step_ = batch.step;
  Span span = queue_.begin(Phase::forward, 0, Event::none());
  queue_.run(Cast{from.tokens, tokens_});
  queue_.run(Cast{from.targets, targets_});
  (void)span.end();
}

Buffer Model::activation(int unit) {
  return memory_.alloc(architecture_.units[static_cast<std::size_t>(unit)].activation,
                       options_.precision.parameter, Tag::activation, queue_);
}

Buffer Model::statistics(int unit) {
  return memory_.alloc(architecture_.units[static_cast<std::size_t>(unit)].statistics, DType::f32,
                       Tag::activation, queue_);
}

ConstView Model::weight(Views weights, int unit, std::size_t i) const {
  const View v = gradient(weights, unit, i);
  require(static_cast<bool>(v), "a weight that is used is not here");
  return v;
}

View Model::gradient(Views gradients, int unit, std::size_t i) const {
  const Unit& u = architecture_.units[static_cast<std::size_t>(unit)];
  return gradients[static_cast<std::size_t>(u.uses[i])];
}

void Model::all_carved(View rest) const {
  require(!rest, "an architecture claims more memory than its model uses");
}

View Model::carve(View& rest, std::size_t elements) const {
  const View taken = rest.slice({0, elements});
  rest = rest.slice({elements, rest.size() - elements});
  return taken;
}

void Model::product(Matmul m) {
  require(m.a && m.b && m.c, "a matrix that a product needs is not here");
  m.scratch = scratch_.view();
  queue_.run(std::move(m));
}

std::size_t Model::largest_scratch(const Architecture& a, const ScratchBytes& bytes) {
  std::size_t largest = 0;
  for (const Unit& u : a.units)
    for (const auto* products : {&u.forward, &u.backward})
      for (const Product& p : *products)
        if (!p.attention) largest = std::max(largest, bytes(p.shape()));
  return largest;
}

void Model::claim(Claim& c, const Architecture& a, const Options& o,
                  const ScratchBytes& scratch_bytes) {
  double activation = 0, statistics = 0;
  for (const Unit& u : a.units) {
    activation += static_cast<double>(u.activation);
    statistics += static_cast<double>(u.statistics);
  }
  c.hold(Tag::activation, o.precision.parameter, activation);
  c.hold(Tag::activation, DType::f32, statistics);
  c.hold(Tag::workspace, DType::i32, 2.0 * static_cast<double>(a.rows));
  c.hold(Tag::workspace, o.precision.parameter, static_cast<double>(a.workspace));
  c.hold(Tag::workspace, DType::u8, static_cast<double>(largest_scratch(a, scratch_bytes)));
  c.hold(Tag::workspace, DType::f64, o.steps);
}

}  // namespace shardmark
