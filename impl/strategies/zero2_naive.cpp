// ZeRO-2 the naive way: after the reduce-scatter the rest of the gradient is zeroed, not freed. The
// traffic of zero2, the memory of zero1: zeros cost as much as numbers. With more than one
// micro-step the sums need a place of their own, since the next backward adds into the whole
// gradient again.
#include "impl/strategies/strategy.hpp"

namespace shardmark {
namespace {

class Zero2Naive final : public Strategy {
 public:
  static Claim claim(const Layout& l, const Options& o) {
    Claim c(l);
    c.hold(Tag::parameter, o.precision.parameter, Form::whole, Which::all);
    c.hold(Tag::gradient, o.precision.gradient, Form::whole, Which::trainable);
    if (o.accumulate > 1)
      c.hold(Tag::gradient, o.precision.gradient, l.elements(Form::cut, Which::trainable),
             " + the same/N");
    c.adam(o.precision, Form::cut);
    c.staging(o.precision);
    c.each(l.trainable(), Verb::reduce_scatter, o.precision.wire, o.accumulate);
    c.each(l.trainable(), Verb::all_gather, o.precision.parameter);
    GlobalNorm::claim(c, o, /*over_ranks=*/true);
    return c;
  }

  Zero2Naive(Rank& rank, Model& model, const Layout& layout, const Options& o)
      : Strategy(rank, model, layout, o),
        params_(device_, layout, Tag::parameter, o.precision.parameter, Form::whole),
        grads_(device_, layout, Tag::gradient, o.precision.gradient, Form::whole, Which::trainable),
        adam_(rank, layout, o, Form::cut),
        norm_(rank, layout, o),
        reduced_(layout),
        gathered_(layout) {
    if (o.accumulate > 1)
      sums_.emplace(device_, layout, Tag::gradient, o.precision.gradient, Form::cut,
                    Which::trainable);
  }

  void step(const Batch& batch) override {
    const State& mine = sums_ ? *sums_ : grads_;  // where my N-th ends up
    grads_.clear(Phase::backward);
    for (int micro = 0; micro < options_.accumulate; ++micro) {
      const Reduce mean{Reduce::Op::mean, options_.precision.wire,
                        micro == 0 ? Reduce::Write::set : Reduce::Write::add};
      model_.load(batch, micro);
      for (int u = 0; u < layout_.units(); ++u)
        model_.forward(u, params_.views(), gathered_.of(layout_.used_by(u)));

      for (int u = layout_.units(); u-- > 0;) {
        const Event done = model_.backward(u, params_.views(), grads_.views(), Event::none());
        for (int s : layout_.completed_by(u))
          reduced_[s] = comm_.reduce_scatter(grads_.whole(s), mine.mine(s), mean, s, done);
      }
      zero_the_rest(reduced_.all());
    }

    const Control control = norm_.over_ranks(mine, reduced_.all());
    for (int s : layout_.trainable()) {
      const Event updated = adam_.update(s, params_.mine(s), mine.mine(s), control, reduced_[s]);
      gathered_[s] = comm_.all_gather(params_.mine(s), params_.whole(s), s, updated);
    }
  }

  const State& parameters() const override { return params_; }
  const Optimizer& optimizer() const override { return adam_; }
  const GlobalNorm& norm() const override { return norm_; }

 private:
  void zero_the_rest(Event after) {
    Span span = device_.compute().begin(Phase::backward, no_label, after);
    for (int s : layout_.trainable())
      for (const View& v : sums_ ? std::array{grads_.whole(s), View()} : grads_.others(s))
        if (v) device_.compute().run(Clear{v});
    (void)span.end();
  }

  State params_, grads_;
  std::optional<State> sums_;
  Optimizer adam_;
  GlobalNorm norm_;
  Events reduced_, gathered_;
};

const Registered<Zero2Naive> registered{
    "zero2_naive", 5, "as zero2, but the rest of the gradient is zeroed, not freed"};

}  // namespace
}  // namespace shardmark
