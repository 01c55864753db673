// ZeRO-1 the naive way: as zero1, but the gradient is all-reduced though each rank needs only its
// N-th of the result. Same memory, 1.5 times the traffic. (DeepSpeed's stages 1 and 2 do this
// unless told to reduce-scatter.)
#include "impl/strategies/strategy.hpp"

namespace shardmark {
namespace {

class Zero1Naive final : public Strategy {
 public:
  static Claim claim(const Layout& l, const Options& o) {
    Claim c(l);
    c.hold(Tag::parameter, o.precision.parameter, Form::whole, Which::all);
    c.hold(Tag::gradient, o.precision.gradient, Form::whole, Which::trainable);
    c.adam(o.precision, Form::cut);
    c.staging(o.precision);
    c.each(l.trainable(), Verb::all_reduce, o.precision.wire);
    c.each(l.trainable(), Verb::all_gather, o.precision.parameter);
    GlobalNorm::claim(c, o, /*over_ranks=*/false);
    return c;
  }

  Zero1Naive(Rank& rank, Model& model, const Layout& layout, const Options& o)
      : Strategy(rank, model, layout, o),
        params_(device_, layout, Tag::parameter, o.precision.parameter, Form::whole),
        grads_(device_, layout, Tag::gradient, o.precision.gradient, Form::whole, Which::trainable),
        adam_(rank, layout, o, Form::cut),
        norm_(rank, layout, o),
        reduced_(layout),
        gathered_(layout) {}

  void step(const Batch& batch) override {
    const Reduce mean{Reduce::Op::mean, options_.precision.wire};
    grads_.clear(Phase::backward);
    for (int micro = 0; micro < options_.accumulate; ++micro) {
      model_.load(batch, micro);
      for (int u = 0; u < layout_.units(); ++u)
        model_.forward(u, params_.views(), gathered_.of(layout_.used_by(u)));

      for (int u = layout_.units(); u-- > 0;) {
        const Event done = model_.backward(u, params_.views(), grads_.views(), Event::none());
        if (micro + 1 < options_.accumulate) continue;
        for (int s : layout_.completed_by(u))
          reduced_[s] = comm_.all_reduce(grads_.whole(s), mean, s, done);
      }
    }

    const Control control = norm_.local(grads_, reduced_.all());  // the whole mean gradient is here
    for (int s : layout_.trainable()) {
      const Event updated = adam_.update(s, params_.mine(s), grads_.mine(s), control, reduced_[s]);
      gathered_[s] = comm_.all_gather(params_.mine(s), params_.whole(s), s, updated);
    }
  }

  const State& parameters() const override { return params_; }
  const Optimizer& optimizer() const override { return adam_; }
  const GlobalNorm& norm() const override { return norm_; }

 private:
  State params_, grads_;
  Optimizer adam_;
  GlobalNorm norm_;
  Events reduced_, gathered_;
};

const Registered<Zero1Naive> registered{
    "zero1_naive", 4, "as zero1, with an all-reduce where a reduce-scatter would do"};

}  // namespace
}  // namespace shardmark
