// What can be done to any array of elements? Each is one pass over memory. All of it gives the bits
// that the processor gives; of NaNs only that they are NaNs.
#include "kernels/cuda/ops.hpp"
#include "kernels/cuda/packs.cuh"
#include "kernels/operands.hpp"

namespace shardmark::cuda {
namespace {

template <class From, class To>
struct Casting {
  const From* from;
  To* to;
  template <int n>
  __device__ void at(std::size_t i) const {
    if constexpr (sizeof(From) == 8 || sizeof(To) == 8) {
      const Pack<From, n> x = load_pack<n>(from + i);
      Pack<To, n> y;
#pragma unroll
      for (int j = 0; j < n; ++j) y.at[j] = static_cast<To>(x.at[j]);
      store_pack<n>(to + i, y);
    } else {
      store<n>(to + i, load<n>(from + i));
    }
  }
};

template <class From, class To>
struct Adding {
  const From* from;
  To* to;
  template <int n>
  __device__ void at(std::size_t i) const {
    if constexpr (sizeof(To) == 8) {
      const Pack<From, n> x = load_pack<n>(from + i);
      Pack<To, n> y = load_pack<n>(to + i);
#pragma unroll
      for (int j = 0; j < n; ++j) y.at[j] += x.at[j];
      store_pack<n>(to + i, y);
    } else {
      const Floats<n> x = load<n>(from + i), y = load<n>(to + i);
      store<n>(to + i, each_of<n>([&](int j) { return y.at[j] + x.at[j]; }));
    }
  }
};

// In the order of ranks, while the loads of all are on their way.
template <class T>
struct SummingRanks {
  using Wide = std::conditional_t<sizeof(T) == 8, double, float>;
  const T* from[std::tuple_size_v<decltype(SumRanks::from)>];
  int ranks;
  T* to;
  Wide factor;

  __device__ static Wide wide(T x) {
    if constexpr (sizeof(T) == 8)
      return x;
    else
      return widened(x);
  }
  __device__ static T rounded(Wide x) {
    if constexpr (sizeof(T) == 8)
      return x;
    else
      return narrowed<T>(x);
  }
  template <int n>
  __device__ void at(std::size_t i) const {
    constexpr int most = std::tuple_size_v<decltype(SumRanks::from)>;
    Pack<T, n> x[most]{};
#pragma unroll
    for (int r = 0; r < most; ++r)
      if (r < ranks) x[r] = load_pack<n>(from[r] + i);
    Pack<T, n> y;
#pragma unroll
    for (int j = 0; j < n; ++j) {
      Wide sum = wide(x[0].at[j]);
#pragma unroll
      for (int r = 1; r < most; ++r)
        if (r < ranks) sum += wide(x[r].at[j]);
      y.at[j] = rounded(sum * factor);
    }
    store_pack<n>(to + i, y);
  }
};

template <class T>
struct Filling {
  T* to;
  FirstValues value;
  template <int n>
  __device__ void at(std::size_t i) const {
    store<n>(to + i, each_of<n>([&](int j) { return value(i + static_cast<unsigned>(j)); }));
  }
};

template <template <class, class> class F, class From, class To>
void pass(ConstView from, View to, const Launch& with) {
  const auto* x = reinterpret_cast<const From*>(from.address());
  auto* y = reinterpret_cast<To*>(to.address());
  // 16 bytes of the wider: two accesses, 32 bytes from thread to thread, would halve each sector.
  constexpr int width = width_of<From> < width_of<To> ? width_of<From> : width_of<To>;
  over_elements<width>(to.size(), fits<width>(x) && fits<width>(y), F<From, To>{x, y}, with);
}

bool of_host(ConstView v) { return v.space() == Space::host; }

}  // namespace

void run_op(const Clear& o, const Launch& with) {
  const Operands is("clear", Space::device);
  is.need(static_cast<bool>(o.to), "to is empty, but it must have at least 1 element");
  is.here("to", o.to);
  check(cudaMemsetAsync(reinterpret_cast<void*>(o.to.address()), 0, o.to.bytes(), with.stream),
        "clearing memory");
}

void run_op(const Cast& o, const Launch& with) {
  const Operands is("cast", Space::device);
  is.same_size(o.from, o.to);
  if (!of_host(o.from)) is.here("from", o.from);
  if (!of_host(o.to) || of_host(o.from)) is.here("to", o.to);
  const DType from = o.from.dtype(), to = o.to.dtype();
  if (from == to) {
    const cudaMemcpyKind kind = of_host(o.from) ? cudaMemcpyHostToDevice
                                : of_host(o.to) ? cudaMemcpyDeviceToHost
                                                : cudaMemcpyDeviceToDevice;
    return check(cudaMemcpyAsync(reinterpret_cast<void*>(o.to.address()),
                                 reinterpret_cast<const void*>(o.from.address()), o.to.bytes(),
                                 kind, with.stream),
                 "copying");
  }
  const std::string pair = std::string(name(from)) + " to " + std::string(name(to));
  is.need(!of_host(o.from) && !of_host(o.to),
          pair + " cannot be converted on the way from or to the host, only copied");
  if (from == DType::f32 && to == DType::f64)
    return pass<Casting, float, double>(o.from, o.to, with);
  if (from == DType::f64 && to == DType::f32)
    return pass<Casting, double, float>(o.from, o.to, with);
  is.need(is_carrier(from) && is_carrier(to),
          "there is no conversion of " + pair +
              ", only among f32, bf16 and f16, and between f32 and f64");
  with_type(is, "from", o.from, [&]<class From>() {
    with_type(is, "to", o.to, [&]<class To>() { pass<Casting, From, To>(o.from, o.to, with); });
  });
}

void run_op(const Add& o, const Launch& with) {
  const Operands is("add", Space::device);
  is.same_size(o.from, o.to);
  is.here("from", o.from);
  is.here("to", o.to);
  const DType from = o.from.dtype(), to = o.to.dtype();
  if (from == DType::f64 && to == DType::f64)
    return pass<Adding, double, double>(o.from, o.to, with);
  is.need(
      is_carrier(from) && is_carrier(to) && (from == to || from == DType::f32 || to == DType::f32),
      std::string(name(from)) + " to " + std::string(name(to)) +
          " cannot be added, only numbers of one type, and f32 to or from bf16 or f16");
  with_type(is, "from", o.from, [&]<class T>() {
    if (from == to) return pass<Adding, T, T>(o.from, o.to, with);
    if (to == DType::f32) return pass<Adding, T, float>(o.from, o.to, with);
    with_type(is, "to", o.to, [&]<class To>() { pass<Adding, float, To>(o.from, o.to, with); });
  });
}

void run_op(const SumRanks& o, const Launch& with) {
  const Operands is("sum_ranks", Space::device);
  is.need(o.ranks() > 0, "from is empty, but there must be a rank");
  const auto sum = [&]<class T>() {
    SummingRanks<T> f{};
    f.ranks = static_cast<int>(o.ranks());
    f.to = is.out<T>("to", o.to, o.to.size());
    f.factor = static_cast<typename SummingRanks<T>::Wide>(o.factor);
    constexpr int width = width_of<T>;
    bool packs = fits<width>(f.to);
    for (int r = 0; r < f.ranks; ++r) {
      f.from[r] = is.in<T>("from", o.from[static_cast<std::size_t>(r)], o.to.size());
      packs = packs && fits<width>(f.from[r]);
    }
    over_elements<width>(o.to.size(), packs, f, with);
  };
  if (o.to.dtype() == DType::f64) return sum.template operator()<double>();
  with_type(is, "to", o.to, sum);
}

void run_op(const Fill& o, const Launch& with) {
  const Operands is("fill", Space::device);
  with_type(is, "to", o.to, [&]<class T>() {
    T* to = is.out<T>("to", o.to, o.to.size());
    over_elements<width_of<T>>(o.to.size(), fits<width_of<T>>(to), Filling<T>{to, FirstValues(o)},
                               with);
  });
}

}  // namespace shardmark::cuda
