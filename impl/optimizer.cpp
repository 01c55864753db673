#include "impl/optimizer.hpp"

namespace shardmark {

Optimizer::Optimizer(Rank& r, const Layout& l, const Options& o, Form form)
    : queue_(r.device.compute()),
      layout_(l),
      options_(o),
      form_(form),
      first_(r.device, l, Tag::first_moment, DType::f32, form, Which::trainable),
      second_(r.device, l, Tag::second_moment, DType::f32, form, Which::trainable) {
  if (o.precision.master)
    master_.emplace(r.device, l, Tag::master, *o.precision.master, form, Which::trainable);
}

void Optimizer::initialize(const Architecture& a, std::uint64_t seed) const {
  if (master_) (void)master_->initialize(a, seed);
}

Event Optimizer::update(int s, View weight, ConstView grad, const Control& control, Event after) {
  // Where moments are whole, the weight says which part of them is meant (zero1_naive updates a
  // part of what it keeps whole).
  const bool all = form_ == Form::whole && weight.size() == layout_[s].in_home.size;
  const auto of = [&](const State& state) { return all ? state.whole(s) : state.mine(s); };
  Span span = queue_.begin(Phase::update, s, after | control.ready);
  queue_.run(AdamW{weight, master_ ? of(*master_) : View{}, grad, of(first_), of(second_),
                   control.values, options_.adam});
  return span.end();
}

GlobalNorm::GlobalNorm(Rank& r, const Layout& l, const Options& o)
    : comm_(r.comm), queue_(r.device.compute()), layout_(l), options_(o) {
  Arena& memory = r.device.memory();
  control_ = memory.alloc(control_slots, DType::f32, Tag::workspace, queue_);
  if (o.needs_norm()) {
    squares_ =
        memory.alloc(static_cast<std::size_t>(l.ranks()), DType::f64, Tag::workspace, queue_);
    history_ =
        memory.alloc(3 * static_cast<std::size_t>(o.steps), DType::f64, Tag::workspace, queue_);
  }
  Span span = queue_.begin(Phase::clip, 0, Event::none());
  for (const Buffer* b : {&control_, &squares_, &history_})
    if (b->view()) queue_.run(Clear{b->view()});
  const float scale = o.precision.loss_scaling ? o.precision.loss_scaling->initial : 1;
  queue_.run(Fill{control_.view().slice({static_cast<std::size_t>(ControlSlot::loss_scale), 1}),
                  {Init::Kind::constant, scale}});
  (void)span.end();
}

Control GlobalNorm::over_ranks(const State& grads, Event after) {
  if (!options_.needs_norm()) return finish({}, after);
  const View mine = squares_.view().slice({0, 1});
  Span span = queue_.begin(Phase::clip, 0, after);
  for (int s : layout_.trainable()) queue_.run(SumSquares{grads.mine(s), mine});
  const Event summed = span.end();
  return finish(mine, comm_.all_reduce(mine, {Reduce::Op::sum, DType::f64}, no_label, summed));
}

Control GlobalNorm::local(const State& grads, Event after) {
  if (!options_.needs_norm()) return finish({}, after);
  Span span = queue_.begin(Phase::clip, 0, after);
  for (int s : layout_.trainable()) queue_.run(SumSquares{grads.whole(s), squares_.view()});
  return finish(squares_.view(), span.end());
}

Control GlobalNorm::finish(View squares, Event after) {
  Span span = queue_.begin(options_.needs_norm() ? Phase::clip : Phase::update, 0, after);
  queue_.run(ClipControl{squares, control_.view(), history_.view(), step_++, options_.clip,
                         options_.precision.loss_scaling});
  return {control_.view(), span.end()};
}

void GlobalNorm::claim(Claim& c, const Options& o, bool over_ranks) {
  c.hold(Tag::workspace, DType::f32, control_slots);
  if (!o.needs_norm()) return;
  c.hold(Tag::workspace, DType::f64, c.layout().ranks() + 3.0 * o.steps);
  if (over_ranks) c.call(Verb::all_reduce, DType::f64, 1);
}

}  // namespace shardmark
