#include "kernels/device_rates.hpp"

#include <algorithm>
#include <limits>

namespace shardmark {
namespace {

constexpr int spans = 5;

// The best span of several, each with the op so many times in it.
double best_ns(Device& d, const Op& op, int times) {
  d.drain();
  const std::size_t before = d.timeline().lane(0).size();
  for (int i = 0; i < spans; ++i) {
    Span span = d.compute().begin(Phase::forward, no_label, Event::none());
    for (int j = 0; j < times; ++j) d.compute().run(op);
    (void)span.end();
  }
  d.drain();
  const auto& lane = d.timeline().lane(0);
  require(lane.size() == before + spans, "rates are measured on a device that records its times");
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = before; i < lane.size(); ++i)
    best = std::min(best, lane[i].end_ns - lane[i].begin_ns);
  return static_cast<double>(best) / times;
}

// As many as take a few milliseconds, so that the ends of a span do not count.
double settled_ns(Device& d, const Op& op) {
  const double once = std::max(best_ns(d, op, 1), 1e3);
  return best_ns(d, op, static_cast<int>(std::clamp(3e6 / once, 1.0, 1000.0)));
}

}  // namespace

double product_ns(Device& d, const Matmul& shape) {
  Matmul o = shape;
  const auto array = [&](std::size_t n, DType t) {
    return d.memory().alloc(n, t, Tag::workspace, d.compute());
  };
  const DType type = shape.a.dtype();
  const std::size_t outputs = o.m * o.n;
  Buffer a = array(o.m * o.k, type), b = array(o.k * o.n, type), c = array(outputs, type),
         bias = array(shape.bias ? o.n : 0, type),
         residual = array(shape.residual ? outputs : 0, type),
         scratch = array(d.scratch_bytes(o), DType::u8);
  Span span = d.compute().begin(Phase::forward, no_label, Event::none());
  // Not zeros: some machines are faster at them.
  for (const View v : {a.view(), b.view(), c.view(), bias.view(), residual.view()})
    if (v) d.compute().run(Fill{v, {Init::Kind::bell, 1.0f}, 1, 0, 0});
  (void)span.end();
  o.a = a.view(), o.b = b.view(), o.c = c.view();
  o.bias = bias.view(), o.residual = residual.view(), o.scratch = scratch.view();
  return settled_ns(d, o);
}

double copy_rate(Device& d, std::size_t bytes) {
  Buffer from = d.memory().alloc(bytes / 4, DType::f32, Tag::workspace, d.compute()),
         to = d.memory().alloc(bytes / 4, DType::f32, Tag::workspace, d.compute());
  Span span = d.compute().begin(Phase::forward, no_label, Event::none());
  d.compute().run(Clear{from.view()});
  (void)span.end();
  return 2.0 * static_cast<double>(from.view().bytes()) /
         settled_ns(d, Cast{from.view(), to.view()}) * 1e9;
}

double matrix_rate(Device& d, DType type, std::size_t rows) {
  Matmul o;
  o.a = ConstView(0, 0, type, Space::nowhere);
  o.m = o.n = o.k = rows;
  return flops(o) / product_ns(d, o) * 1e9;
}

}  // namespace shardmark
