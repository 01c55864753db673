// ZeRO-2 (P_os+g): as ZeRO-1, but a gradient is whole only from the first backward that writes it
// until its N-th is reduced.
//
//   the paper (section 5.2)                          this file
//   1  gradients on the own batch, by bucket         backward into buckets_, which come and go
//   2  reduced only to the rank that updates them,   reduce_scatter, every micro-batch, into my cut
//      then released                                 close: at most `buckets` are alive
//   3  rank i updates partition i                    adam_.update of mine
//   4  everyone collects the updated partitions      all_gather behind the update
#include "impl/strategies/strategy.hpp"

namespace shardmark {
namespace {

class Zero2 final : public Strategy {
 public:
  static Claim claim(const Layout& l, const Options& o) {
    Claim c(l);
    c.hold(Tag::parameter, o.precision.parameter, Form::whole, Which::all);
    c.hold(Tag::gradient, o.precision.gradient, Form::cut, Which::trainable);
    c.adam(o.precision, Form::cut);
    c.buckets(o);
    c.staging(o.precision);
    c.each(l.trainable(), Verb::reduce_scatter, o.precision.wire, o.accumulate);
    c.each(l.trainable(), Verb::all_gather, o.precision.parameter);
    GlobalNorm::claim(c, o, /*over_ranks=*/true);
    return c;
  }

  Zero2(Rank& rank, Model& model, const Layout& layout, const Options& o)
      : Strategy(rank, model, layout, o),
        params_(device_, layout, Tag::parameter, o.precision.parameter, Form::whole),
        grads_(device_, layout, Tag::gradient, o.precision.gradient, Form::cut, Which::trainable),
        buckets_(device_, device_.compute(), layout, Tag::bucket, o.precision.gradient,
                 o.buckets - 1),
        adam_(rank, layout, o, Form::cut),
        norm_(rank, layout, o),
        reduced_(layout),
        gathered_(layout) {}

  void step(const Batch& batch) override {
    for (int micro = 0; micro < options_.accumulate; ++micro) {
      const Reduce mean{Reduce::Op::mean, options_.precision.wire,
                        micro == 0 ? Reduce::Write::set : Reduce::Write::add};
      model_.load(batch, micro);
      for (int u = 0; u < layout_.units(); ++u)
        model_.forward(u, params_.views(), gathered_.of(layout_.used_by(u)));

      for (int u = layout_.units(); u-- > 0;) {
        buckets_.open_clear(u);
        const Event done = model_.backward(u, params_.views(), buckets_.views(), Event::none());
        for (int s : layout_.completed_by(u)) {
          reduced_[s] = comm_.reduce_scatter(buckets_.whole(s), grads_.mine(s), mean, s, done);
          buckets_.close(s, reduced_[s]);
        }
      }
      buckets_.retire();
    }

    const Control control = norm_.over_ranks(grads_, reduced_.all());
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
  Window buckets_;
  Optimizer adam_;
  GlobalNorm norm_;
  Events reduced_, gathered_;
};

const Registered<Zero2> registered{"zero2", 2, "optimizer state and gradients cut in N"};

}  // namespace
}  // namespace shardmark
