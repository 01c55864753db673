// DDP: every rank keeps everything; gradients are averaged over ranks behind the last backward of a
// step, bucket by bucket.
//
//   Li et al. 2020, section 3                        this file
//   1  gradients on the own batch                    forward, backward (k micro-batches add up)
//   2  a bucket that is complete is all-reduced      all_reduce, behind the last backward
//   3  every rank makes the same update              adam_.update of the whole
#include "impl/strategies/strategy.hpp"

namespace shardmark {
namespace {

class Ddp final : public Strategy {
 public:
  static Claim claim(const Layout& l, const Options& o) {
    Claim c(l);
    c.hold(Tag::parameter, o.precision.parameter, Form::whole, Which::all);
    c.hold(Tag::gradient, o.precision.gradient, Form::whole, Which::trainable);
    c.adam(o.precision, Form::whole);
    c.staging(o.precision);
    c.each(l.trainable(), Verb::all_reduce, o.precision.wire);
    GlobalNorm::claim(c, o, /*over_ranks=*/false);
    return c;
  }

  Ddp(Rank& rank, Model& model, const Layout& layout, const Options& o)
      : Strategy(rank, model, layout, o),
        params_(device_, layout, Tag::parameter, o.precision.parameter, Form::whole),
        grads_(device_, layout, Tag::gradient, o.precision.gradient, Form::whole, Which::trainable),
        adam_(rank, layout, o, Form::whole),
        norm_(rank, layout, o),
        reduced_(layout) {}

  void step(const Batch& batch) override {
    const Reduce mean{Reduce::Op::mean, options_.precision.wire};
    grads_.clear(Phase::backward);
    for (int micro = 0; micro < options_.accumulate; ++micro) {
      model_.load(batch, micro);
      for (int u = 0; u < layout_.units(); ++u) model_.forward(u, params_.views(), Event::none());

      for (int u = layout_.units(); u-- > 0;) {
        const Event done = model_.backward(u, params_.views(), grads_.views(), Event::none());
        if (micro + 1 < options_.accumulate) continue;
        for (int s : layout_.completed_by(u))
          reduced_[s] = comm_.all_reduce(grads_.whole(s), mean, s, done);
      }
    }

    const Control control = norm_.local(grads_, reduced_.all());
    for (int s : layout_.trainable())
      adam_.update(s, params_.whole(s), grads_.whole(s), control, reduced_[s]);
  }

  const State& parameters() const override { return params_; }
  const Optimizer& optimizer() const override { return adam_; }
  const GlobalNorm& norm() const override { return norm_; }

 private:
  State params_, grads_;
  Optimizer adam_;
  GlobalNorm norm_;
  Events reduced_;
};

const Registered<Ddp> registered{"ddp", 0, "everything whole on every rank; gradients all-reduced"};

}  // namespace
}  // namespace shardmark
