// ZeRO-3 (P_os+g+p): nothing is kept whole. A unit's weights are gathered just before they are
// used, in both directions.
//
//   the paper (section 5.3)                          this file
//   1  collect a layer's parameters for its forward  fetch: this unit and the next `prefetch`
//   2  discard them                                  release
//   3  the same again for its backward               fetch, release; what is needed next may stay
//   4  partition i of the gradient goes to rank i    reduce_scatter, every micro-batch, into my cut
//   5  rank i updates partition i                    adam_.update of mine; small ones stay whole
#include "impl/strategies/strategy.hpp"

namespace shardmark {
namespace {

class Zero3 final : public Strategy {
 public:
  static Claim claim(const Layout& l, const Options& o) {
    Claim c(l);
    const Precision& p = o.precision;
    c.hold(Tag::parameter, p.parameter, Form::cut, Which::all);
    c.resident(p);
    c.hold(Tag::gradient, p.gradient, Form::cut, Which::trainable);
    c.adam(p, Form::cut);
    c.gathered(o);  // twice a micro-batch, less what stays across the turn
    c.buckets(o);
    c.staging(p);
    c.each(l.trainable(), Verb::reduce_scatter, p.wire, o.accumulate);
    GlobalNorm::claim(c, o, /*over_ranks=*/true);
    return c;
  }

  Zero3(Rank& rank, Model& model, const Layout& layout, const Options& o)
      : Strategy(rank, model, layout, o),
        params_(device_, layout, Tag::parameter, o.precision.parameter, Form::cut),
        grads_(device_, layout, Tag::gradient, o.precision.gradient, Form::cut, Which::trainable),
        weights_(device_, device_.comm(), layout, Tag::gathered, o.precision.parameter, 0,
                 params_.views()),
        buckets_(device_, device_.compute(), layout, Tag::bucket, o.precision.gradient,
                 o.buckets - 1),
        adam_(rank, layout, o, Form::cut),
        norm_(rank, layout, o),
        here_(static_cast<std::size_t>(layout.units())),
        gathered_(layout),
        reduced_(layout),
        updated_(layout) {}

  void step(const Batch& batch) override {
    const int last = layout_.units() - 1;
    for (int micro = 0; micro < options_.accumulate; ++micro) {
      const Reduce mean{Reduce::Op::mean, options_.precision.wire,
                        micro == 0 ? Reduce::Write::set : Reduce::Write::add};
      model_.load(batch, micro);
      for (int u = 0; u <= last; ++u) {
        fetch(u);
        release(u, model_.forward(u, weights_.views(), gathered_.of(layout_.used_by(u))));
      }

      for (int u = last; u >= 0; --u) {
        const int visit = layout_.visits() - 1 - u;
        fetch(visit);
        buckets_.open_clear(u);
        const Event done = model_.backward(u, weights_.views(), buckets_.views(),
                                           gathered_.of(layout_.used_by(u)));
        release(visit, done);
        for (int s : layout_.completed_by(u)) {
          reduced_[s] = comm_.reduce_scatter(buckets_.whole(s), grads_.mine(s), mean, s, done);
          buckets_.close(s, reduced_[s]);
        }
      }
      buckets_.retire();
    }

    const Control control = norm_.over_ranks(grads_, reduced_.all());
    for (int s : layout_.trainable()) {
      updated_[s] = adam_.update(s, params_.mine(s), grads_.mine(s), control, reduced_[s]);
      if (layout_[s].resident)
        gathered_[s] = comm_.all_gather(params_.mine(s), params_.whole(s), s, updated_[s]);
    }
  }

  const State& parameters() const override { return params_; }
  const Optimizer& optimizer() const override { return adam_; }
  const GlobalNorm& norm() const override { return norm_; }

 private:
  // Visit v of a micro-batch is the forward of unit v, then the backward of unit 2 last + 1 - v.
  void fetch(int visit) {
    for (int v = visit; v <= visit + options_.prefetch && v < layout_.visits(); ++v) {
      if (here(v) || layout_.read_by(v).empty()) continue;
      here_[static_cast<std::size_t>(layout_.unit_of(v))] = true;
      for (int s : layout_.read_by(v))
        if (!layout_[s].resident && weights_.open(s))
          gathered_[s] = comm_.all_gather(params_.mine(s), weights_.whole(s), s, updated_[s]);
    }
  }
  void release(int visit, Event after) {
    const int again = layout_.visits() - 1 - visit;  // when the unit is visited again
    const bool soon = again > visit && again - visit <= std::max(1, options_.prefetch);
    if (!here(visit) || (options_.keep_last && soon && !layout_.read_by(again).empty())) return;
    here_[static_cast<std::size_t>(layout_.unit_of(visit))] = false;
    for (int s : layout_.used_by(layout_.unit_of(visit)))
      if (!layout_[s].resident) weights_.close(s, after);
  }
  bool here(int visit) const { return here_[static_cast<std::size_t>(layout_.unit_of(visit))]; }

  State params_, grads_;
  Window weights_, buckets_;
  Optimizer adam_;
  GlobalNorm norm_;
  std::vector<bool> here_;  // by unit
  Events gathered_, reduced_, updated_;
};

const Registered<Zero3> registered{"zero3", 3, "everything cut in N; weights gathered unit by unit",
                                   /*by_unit=*/true};

}  // namespace
}  // namespace shardmark
