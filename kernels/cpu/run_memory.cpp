// What can be done to any array of elements? Clear, convert, add, fill, square, reduce, copy, and
// the optimizer's pass.
#include <array>
#include <cstring>

#include "kernels/elements.hpp"
#include "kernels/operands.hpp"
#include "math.hpp"
#include "parallel.hpp"
#include "run.hpp"
#include "table.hpp"

namespace shardmark::cpu {

namespace {

constexpr std::size_t grain = 1024;  // elements: threads never share a line

// From here on writes go past the caches: less than this stays in the second level, where the next
// to read may find it.
constexpr std::size_t streams_from = std::size_t{1} << 20;  // bytes

std::string pair_of(ConstView a, ConstView b) {
  return std::string(name(a.dtype())) + " to " + std::string(name(b.dtype()));
}

template <class From, class To>
void each(ConstView from, View to, void (*f)(const From*, To*, std::size_t), int threads) {
  const From* x = from.host<From>().data();
  To* y = to.host<To>().data();
  parallel_for(threads, to.size(), grain,
               [&](std::size_t b, std::size_t e) { f(x + b, y + b, e - b); });
}

void copy_bytes(const std::uint8_t* from, std::uint8_t* to, std::size_t bytes) {
  if (bytes >= streams_from) {
    table().stream_copy(from, to, bytes);
  } else if (bytes > 0) {
    std::memmove(to, from, bytes);
  }
}

}  // namespace

void run_op(const Clear& o, int threads) {
  const Operands is("clear", Space::host);
  is.need(static_cast<bool>(o.to), "to is empty, but it must have at least 1 element");
  is.here("to", o.to);
  auto* to = reinterpret_cast<std::uint8_t*>(o.to.address());
  parallel_for(threads, o.to.bytes(), grain,
               [&](std::size_t b, std::size_t e) { std::memset(to + b, 0, e - b); });
}

void run_op(const Cast& o, int threads) {
  const Operands is("cast", Space::host);
  is.same_size(o.from, o.to);
  is.here("from", o.from);
  is.here("to", o.to);
  if (o.from.dtype() == o.to.dtype()) {
    const auto* from = reinterpret_cast<const std::uint8_t*>(o.from.address());
    auto* to = reinterpret_cast<std::uint8_t*>(o.to.address());
    parallel_for(threads, o.to.bytes(), grain,
                 [&](std::size_t b, std::size_t e) { copy_bytes(from + b, to + b, e - b); });
    return;
  }
  if (o.from.dtype() == DType::f32 && o.to.dtype() == DType::f64)
    return each(o.from, o.to, table().widen_f64, threads);
  if (o.from.dtype() == DType::f64 && o.to.dtype() == DType::f32)
    return each(o.from, o.to, table().narrow_f64, threads);
  is.need(is_carrier(o.from.dtype()) && is_carrier(o.to.dtype()),
          "there is no conversion of " + pair_of(o.from, o.to) +
              ", only among f32, bf16 and f16, and between f32 and f64");
  with_type(is, "from", o.from, [&]<class From>() {
    with_type(is, "to", o.to, [&]<class To>() {
      each(o.from, o.to, table().of<From>().template to<To>(), threads);
    });
  });
}

void run_op(const Add& o, int threads) {
  const Operands is("add", Space::host);
  is.same_size(o.from, o.to);
  is.here("from", o.from);
  is.here("to", o.to);
  const DType from = o.from.dtype(), to = o.to.dtype();
  if (from == DType::f64 && to == DType::f64) return each(o.from, o.to, table().add_f64, threads);
  is.need(
      is_carrier(from) && is_carrier(to) && (from == to || from == DType::f32 || to == DType::f32),
      pair_of(o.from, o.to) +
          " cannot be added, only numbers of one type, and f32 to or from bf16 or f16");
  if (from == to) {
    with_type(is, "to", o.to, [&]<class T>() { each(o.from, o.to, table().of<T>().add, threads); });
  } else if (from == DType::f32) {
    with_type(is, "to", o.to,
              [&]<class T>() { each(o.from, o.to, table().of<T>().add_f32, threads); });
  } else {
    with_type(is, "from", o.from,
              [&]<class T>() { each(o.from, o.to, table().of<T>().add_to_f32, threads); });
  }
}

void run_op(const SumRanks& o, int) {
  reduce_ranks(std::span(o.from.data(), o.ranks()), o.to, o.factor);
}

void run_op(const SumSquares& o, int threads) {
  const Operands is("sum_squares", Space::host);
  with_type(is, "x", o.x, [&]<class T>() {
    const T* x = is.in<T>("x", o.x, o.x.size());
    const std::size_t parts = std::max<std::size_t>(o.total.size(), 1);
    double* total = is.out<double>("total", o.total, parts);
    is.need(o.x.size() % parts == 0, "x has " + std::to_string(o.x.size()) +
                                         " elements, which are no " + std::to_string(parts) +
                                         " equal parts");
    const auto of_block = table().of<T>().sum_squares;
    const std::size_t size = o.x.size() / parts;
    for (std::size_t p = 0; p < parts; ++p)
      total[p] += sum_of_blocks(
          threads, size, std::size_t{1} << 16,
          [&](std::size_t at, std::size_t count) { return of_block(x + p * size + at, count); });
  });
}

namespace {

AdamStep resolved(const Operands& is, const AdamW& o, const float* control) {
  const auto slot = [&](ControlSlot s) { return control[static_cast<int>(s)]; };
  const double step = static_cast<double>(slot(ControlSlot::step));
  is.need(step >= 1, "the step count is " + std::to_string(step) +
                         ", but the first step is 1: clip control comes before");
  return {slot(ControlSlot::coefficient),
          o.with.lr,
          o.with.beta1,
          o.with.beta2,
          o.with.epsilon,
          o.with.decay,
          bias_correction(o.with.beta1, slot(ControlSlot::step)),
          bias_correction(o.with.beta2, slot(ControlSlot::step))};
}

// What is updated: the master, or an f32 weight itself.
template <class T>
float* updated(const Operands& is, const AdamW& o, T* weight) {
  if constexpr (std::is_same_v<T, float>) {
    is.need(!o.master,
            "master is given beside an f32 weight, which is its own master: leave it empty");
    return weight;
  } else {
    return is.out<float>("master", o.master, o.weight.size());
  }
}

}  // namespace

void run_op(const AdamW& o, int threads) {
  const Operands is("adamw", Space::host);
  const std::size_t n = o.weight.size();
  with_type(is, "weight", o.weight, [&]<class T>() {
    T* w = is.out<T>("weight", o.weight, n);
    float* master = updated(is, o, w);
    const T* g = is.in<T>("grad", o.grad, n);
    float* m = is.out<float>("first", o.first, n);
    float* v = is.out<float>("second", o.second, n);
    const float* control = is.in<float>("control", o.control, control_slots);
    if (control[static_cast<int>(ControlSlot::skip)] != 0) return;
    const AdamStep with = resolved(is, o, control);
    parallel_for(threads, n, grain, [&](std::size_t b, std::size_t e) {
      table().of<T>().adamw(w + b, master + b, g + b, m + b, v + b, e - b, with);
    });
  });
}

void run_op(const ClipControl& o, int) {
  const Operands is("clip_control", Space::host);
  const Clipping clipping = clipping_of(is, o);
  const float scale = clipping.slot(ControlSlot::loss_scale);
  is.need(scale > 0, "the loss scale is " + std::to_string(scale) + ", but it must be positive");
  clipping.run();
}

void reduce_ranks(std::span<const ConstView> sources, View to, double factor) {
  const Operands is("reduce_ranks", Space::host);
  constexpr std::size_t most = 1024;
  is.need(!sources.empty() && sources.size() <= most,
          "there are " + std::to_string(sources.size()) + " sources, but there must be 1 to " +
              std::to_string(most));
  bool streams = to.bytes() >= streams_from;
  std::array<const void*, most> at;
  for (std::size_t r = 0; r < sources.size(); ++r) {
    is.need(sources[r].size() == to.size() && sources[r].dtype() == to.dtype(),
            "a source has other elements than the destination, but all must be alike");
    at[r] = reinterpret_cast<const void*>(sources[r].address());
    // A line that was just read is in the cache already: writing it past the cache would only cost.
    if (sources[r].address() == to.address()) streams = false;
  }
  if (!to) return;
  if (to.dtype() == DType::f64) {
    return table().reduce_f64(reinterpret_cast<const double* const*>(at.data()), sources.size(),
                              to.host<double>().data(), to.size(), factor);
  }
  with_type(is, "the destination", to, [&]<class T>() {
    table().of<T>().reduce(reinterpret_cast<const T* const*>(at.data()), sources.size(),
                           to.host<T>().data(), to.size(), static_cast<float>(factor), streams);
  });
}

void stream_copy(ConstView from, View to) {
  const Operands is("stream_copy", Space::host);
  is.need(from.size() == to.size() && from.dtype() == to.dtype(),
          "source and destination have different elements, but they must be alike");
  if (!to || from.address() == to.address()) return;
  is.here("from", from);
  is.here("to", to);
  copy_bytes(reinterpret_cast<const std::uint8_t*>(from.address()),
             reinterpret_cast<std::uint8_t*>(to.address()), to.bytes());
}

}  // namespace shardmark::cpu
