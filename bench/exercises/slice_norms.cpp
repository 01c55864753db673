#include "bench/exercises/slice_norms.hpp"

#include <cmath>

#include "impl/comm/thread_ranks.hpp"
#include "impl/corpus.hpp"
#include "impl/models/registry.hpp"
#include "impl/optimizer.hpp"

namespace shardmark {

namespace {

void on_rank(Rank rank, const Training& t, const Architecture& architecture, SliceNorms& out) {
  const int me = rank.world.rank();
  Queue& queue = rank.device.compute();
  const Layout layout(architecture, t.options, t.ranks, me, /*by_unit=*/false);
  const auto model = make_model(rank, t.model, architecture, t.options, t.sequence, t.batch);
  const State params(rank.device, layout, Tag::parameter, DType::f32, Form::whole);
  const State grads(rank.device, layout, Tag::gradient, DType::f32, Form::whole, Which::trainable);
  GlobalNorm norm(rank, layout, t.options);
  model->scale_loss_by(norm.control());
  const Event started = params.initialize(architecture, t.seed);
  const Corpus corpus(t.corpus, {t.batch, t.sequence, t.ranks, me, 1, 1, t.seed});

  (void)grads.clear(Phase::backward);
  model->load(corpus.batch(0), 0);
  for (int u = 0; u < layout.units(); ++u) model->forward(u, params.views(), started);
  Event reduced = Event::none();
  for (int u = layout.units(); u-- > 0;) {
    const Event done = model->backward(u, params.views(), grads.views(), Event::none());
    for (int s : layout.completed_by(u))
      reduced = reduced | rank.comm.reduce_scatter(grads.whole(s), grads.mine(s),
                                                   {Reduce::Op::mean, DType::f32}, s, done);
  }

  const Buffer squares = rank.device.memory().alloc(1, DType::f64, Tag::workspace, queue);
  Span span = queue.begin(Phase::clip, 0, reduced);
  queue.run(Clear{squares.view()});
  std::size_t elements = 0;
  for (int s : layout.trainable()) {
    queue.run(SumSquares{grads.mine(s), squares.view()});
    elements += grads.mine(s).size();
  }
  const Event summed = span.end();
  norm.over_ranks(grads, summed);
  rank.device.drain();
  const auto at = static_cast<std::size_t>(me);
  out.local[at] = std::sqrt(squares.view().host<double>()[0]);
  out.elements[at] = elements;
  if (me == 0) out.over_ranks = norm.history().host<double>()[0];
}

}  // namespace

SliceNorms slice_norms(const Cell& cell) {
  Training t = training_of(cell, load_text(cell.data).bytes);
  t.options.steps = 1;
  const Architecture architecture = make_architecture(t.model, t.sequence, t.batch);
  SliceNorms out;
  out.local.resize(static_cast<std::size_t>(t.ranks));
  out.elements.resize(out.local.size());
  ThreadRanks how;
  how.ranks = t.ranks;
  for (const std::string& failure :
       run_on_threads(how, [&](const Rank& rank) { on_rank(rank, t, architecture, out); }))
    require(failure.empty(), failure);
  return out;
}

}  // namespace shardmark
