// What are models made of, beside matrix products? Rows looked up, normalised, bent, attended and
// compared. Here shapes are checked and work is shared among threads; the arithmetic is in the
// kernels.
#include <cstring>
#include <utility>

#include "kernels/operands.hpp"
#include "parallel.hpp"
#include "run.hpp"
#include "table.hpp"

namespace shardmark::cpu {

namespace {

constexpr std::size_t line = 32;  // elements of 2 bytes: threads never share one

// Tokens are input: one out of range would read or write somewhere else.
const std::int32_t* tokens_in(const Operands& is, const char* name, ConstView v, std::size_t rows,
                              std::size_t below) {
  const std::int32_t* t = is.in<std::int32_t>(name, v, rows);
  for (std::size_t r = 0; r < rows; ++r) {
    if (t[r] < 0 || static_cast<std::size_t>(t[r]) >= below) {
      is.fail(std::string(name) + "[" + std::to_string(r) + "] is " + std::to_string(t[r]) +
              ", but it must be 0 to " + std::to_string(below - 1));
    }
  }
  return t;
}

// Row numbers by the group that they add to, and in their own order within it: those of group g end
// at ends[g], and those of the next begin there.
struct Grouped {
  std::uint32_t *ends, *rows;
  std::size_t groups;
};
template <class F>
Grouped grouped(std::uint32_t* memory, std::size_t rows, std::size_t groups, F&& group_of) {
  const Grouped g{memory, memory + groups, groups};
  std::fill_n(g.ends, groups, 0u);
  for (std::size_t r = 0; r < rows; ++r) ++g.ends[group_of(r)];
  std::uint32_t begin = 0;
  for (std::size_t i = 0; i < groups; ++i) begin += std::exchange(g.ends[i], begin);
  for (std::size_t r = 0; r < rows; ++r)
    g.rows[g.ends[group_of(r)]++] = static_cast<std::uint32_t>(r);
  return g;
}

// Row g of `to` adds the rows of its group: summed before they are rounded, in their order. Threads
// share columns, because a few tokens have most of a text's rows.
template <class T>
void add_groups(const T* grad, const Grouped& of, T* to, std::size_t width, int threads) {
  parallel_for(threads, width, line, [&](std::size_t b, std::size_t e) {
    std::uint32_t begin = 0;
    for (std::size_t g = 0; g < of.groups; begin = of.ends[g++]) {
      if (const std::size_t count = of.ends[g] - begin; count > 0)
        table().of<T>().add_rows(grad, of.rows + begin, count, to + g * width, width, b, e);
    }
  });
}

}  // namespace

void run_op(const ColumnSum& o, int threads) {
  const Operands is("column_sum", Space::host);
  const std::size_t columns = o.total.size(), rows = is.rows("x", o.x, columns);
  with_type(is, "x", o.x, [&]<class T>() {
    const T* x = is.in<T>("x", o.x, rows * columns);
    T* total = is.out<T>("total", o.total, columns);
    parallel_for(threads, columns, line, [&](std::size_t b, std::size_t e) {
      table().of<T>().column_sum(x, total, rows, columns, b, e);
    });
  });
}

void run_op(const Embed& o, int threads) {
  const Operands is("embed", Space::host);
  const std::size_t w = o.width, rows = is.rows("out", o.out, w),
                    vocabulary = is.rows("table", o.table, w);
  if (o.positions) is.not_zero("sequence", o.sequence);
  const std::int32_t* tokens = tokens_in(is, "tokens", o.tokens, rows, vocabulary);
  with_type(is, "out", o.out, [&]<class T>() {
    const T* from = is.in<T>("table", o.table, vocabulary * w);
    const T* positions = is.maybe_in<T>("positions", o.positions, o.sequence * w);
    T* out = is.out<T>("out", o.out, rows * w);
    parallel_for(threads, rows, 1, [&](std::size_t b, std::size_t e) {
      for (std::size_t r = b; r < e; ++r) {
        std::memcpy(out + r * w, from + static_cast<std::size_t>(tokens[r]) * w, w * sizeof(T));
        if (positions) table().of<T>().add(positions + r % o.sequence * w, out + r * w, w);
      }
    });
  });
}

// An end for each row of the longer table, and the rows' numbers.
std::size_t scratch_of(const EmbedBackward& o, int) {
  const std::size_t groups = std::max(o.table.size(), o.positions.size());
  if (groups == 0 || o.width == 0) return 0;
  return (groups + o.grad.size()) / o.width * sizeof(std::uint32_t);
}

void run_op(const EmbedBackward& o, int threads) {
  const Operands is("embed_backward", Space::host);
  const std::size_t w = o.width, rows = is.rows("grad", o.grad, w);
  is.scratch(o.scratch, scratch_of(o, threads));
  auto* const numbers = reinterpret_cast<std::uint32_t*>(o.scratch.address());
  with_type(is, "grad", o.grad, [&]<class T>() {
    const T* grad = is.in<T>("grad", o.grad, rows * w);
    if (o.table) {
      const std::size_t vocabulary = is.rows("table", o.table, w);
      const std::int32_t* tokens = tokens_in(is, "tokens", o.tokens, rows, vocabulary);
      T* to = is.out<T>("table", o.table, vocabulary * w);
      const auto token = [&](std::size_t r) { return static_cast<std::size_t>(tokens[r]); };
      add_groups(grad, grouped(numbers, rows, vocabulary, token), to, w, threads);
    }
    if (o.positions) {
      is.not_zero("sequence", o.sequence);
      T* to = is.out<T>("positions", o.positions, o.sequence * w);
      const auto position = [&](std::size_t r) { return r % o.sequence; };
      add_groups(grad, grouped(numbers, rows, o.sequence, position), to, w, threads);
    }
  });
}

void run_op(const OneHot& o, int threads) {
  const Operands is("one_hot", Space::host);
  const std::size_t w = o.width, rows = is.rows("out", o.out, w);
  is.not_zero("sequence", o.sequence);
  const std::int32_t* tokens = tokens_in(is, "tokens", o.tokens, rows, 256);
  with_type(is, "out", o.out, [&]<class T>() {
    T* out = is.out<T>("out", o.out, rows * w);
    parallel_for(threads, rows, 1, [&](std::size_t b, std::size_t e) {
      table().of<T>().one_hot({tokens, out, b, e, w, o.sequence, o.context});
    });
  });
}

void run_op(const Gelu& o, int threads) {
  const Operands is("gelu", Space::host);
  with_type(is, "x", o.x, [&]<class T>() {
    const T* x = is.in<T>("x", o.x, o.x.size());
    T* out = is.out<T>("out", o.out, o.x.size());
    parallel_for(threads, o.x.size(), line, [&](std::size_t b, std::size_t e) {
      table().of<T>().gelu(x + b, out + b, e - b);
    });
  });
}

void run_op(const GeluBackward& o, int threads) {
  const Operands is("gelu_backward", Space::host);
  const std::size_t columns = o.columns, rows = is.rows("x", o.x, columns);
  with_type(is, "x", o.x, [&]<class T>() {
    const T* x = is.in<T>("x", o.x, rows * columns);
    T* grad = is.out<T>("grad", o.grad, rows * columns);
    T* bias = is.maybe_out<T>("bias_grad", o.bias_grad, columns);
    parallel_for(threads, columns, line, [&](std::size_t b, std::size_t e) {
      table().of<T>().gelu_backward(x, grad, bias, rows, columns, b, e);
    });
  });
}

void run_op(const Swiglu& o, int threads) {
  const Operands is("swiglu", Space::host);
  const std::size_t n = o.columns, rows = is.rows("out", o.out, n);
  with_type(is, "x", o.x, [&]<class T>() {
    const T* x = is.in<T>("x", o.x, rows * 2 * n);
    T* out = is.out<T>("out", o.out, rows * n);
    parallel_for(threads, rows, 1, [&](std::size_t b, std::size_t e) {
      table().of<T>().swiglu(x + b * 2 * n, out + b * n, e - b, n);
    });
  });
}

void run_op(const SwigluBackward& o, int threads) {
  const Operands is("swiglu_backward", Space::host);
  const std::size_t n = o.columns, rows = is.rows("grad", o.grad, n);
  with_type(is, "x", o.x, [&]<class T>() {
    const T* x = is.in<T>("x", o.x, rows * 2 * n);
    const T* grad = is.in<T>("grad", o.grad, rows * n);
    T* dx = is.out<T>("dx", o.dx, rows * 2 * n);
    parallel_for(threads, rows, 1, [&](std::size_t b, std::size_t e) {
      table().of<T>().swiglu_backward(x + b * 2 * n, grad + b * n, dx + b * 2 * n, e - b, n);
    });
  });
}

}  // namespace shardmark::cpu
