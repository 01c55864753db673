// Does attention compute what its formula says, and its gradient, in each element type and however
// query heads share keys? Every target, against plain loops in double on the rounded
// inputs; sizes that fill no tile; guards around every output.
#include <gtest/gtest.h>

#include "kernels/transformer_reference.hpp"

namespace shardmark {
namespace {

using namespace testing;
namespace ref = testing::reference;

// The reference takes longer than the kernels: once for all targets.
template <class F>
void for_each_target(F&& f) {
  for (const std::string& target : targets()) {
    SCOPED_TRACE(target);
    use(target);
    f();
  }
}

AttentionBackward backward_of(const ref::Shape& s) {
  AttentionBackward o;
  o.batch = s.batch, o.sequence = s.sequence, o.heads = s.heads, o.kv_heads = s.kv_heads;
  o.head_dim = s.head_dim;
  return o;
}

// What a GPU's tensor cores add: they take probabilities, and the gradients of scores, as numbers
// of 2 bytes, each off by at most half a gap. Summed up as its products are, with every sign the
// same.
struct Roundings {
  Values out, dqkv;  // empty where nothing is rounded
};
template <class T>
Roundings roundings(const Values& qkv, const Values& out, const Values& grad, const ref::Shape& s) {
  const double half = std::ldexp(1, -format_of<T>.fraction - 1),
               scale = half / std::sqrt(static_cast<double>(s.head_dim));
  Roundings r{Values(out.size()), Values(qkv.size())};
  const auto add = [](Values& to, std::size_t i, double by, const Values& x, std::size_t j,
                      std::size_t n) {
    for (std::size_t d = 0; d < n; ++d) to[i + d] += by * std::fabs(x[j + d]);
  };
  ref::for_each_query(qkv, s, [&](auto b, auto h, auto t, double, const Values& p) {
    const std::size_t n = s.head_dim, o = s.out_at(b, t, h), q = s.q_at(b, t, h);
    const double mean = ref::dot_at(grad, o, out, o, n);
    for (std::size_t j = 0; j <= t; ++j) {
      const std::size_t k = s.k_at(b, j, h), v = s.v_at(b, j, h);
      const double ds = scale * p[j] * std::fabs(ref::dot_at(grad, o, qkv, v, n) - mean);
      add(r.out, o, half * p[j], qkv, v, n);
      add(r.dqkv, q, ds, qkv, k, n);
      add(r.dqkv, k, ds, qkv, q, n);
      add(r.dqkv, v, half * p[j], grad, o, n);
    }
  });
  return r;
}

// shift: elements that operands stand off a line of memory.
template <class T>
void check_attention(const ref::Shape& s, double scale, std::size_t shift = 0) {
  SCOPED_TRACE(::testing::Message() << "sequence " << s.sequence << " head_dim " << s.head_dim
                                    << " kv_heads " << s.kv_heads << " shift " << shift);
  const Values in = random_values<T>(s.rows() * s.qkv_width(), 1, scale),
               grads = random_values<T>(s.rows() * s.width(), 2);
  const ref::Attended want = ref::attention(in, s);
  Values rounded = want.out;
  for (double& v : rounded) v = number(element<T>(v));
  const Values back = ref::attention_backward(in, rounded, grads, s);
  Roundings within;
  if constexpr (has_two_bytes<T>) within = roundings<T>(in, rounded, grads, s);
  const bool fits_tensor_cores = s.head_dim % 8 == 0 && s.head_dim <= 128 && shift == 0;
  for_each_target([&] {
    const Roundings also = on_gpu() && fits_tensor_cores ? within : Roundings{};
    const Guarded<T> qkv(in, shift), grad(grads, shift), attended(rounded, shift);
    const Guarded<float> lse_attended(want.lse, shift);
    for (const int threads : counts({1, 3})) {
      const Guarded<T> out(want.out.size(), shift), dqkv(back.size(), shift);
      const Guarded<float> lse(want.lse.size(), shift);
      run(Attention{qkv, out, lse, s.batch, s.sequence, s.heads, s.kv_heads, s.head_dim}, threads);
      expect_near(out, want.out, 3e-6 * scale, "out", also.out);
      expect_near(lse, want.lse, 3e-6 * scale, "lse");
      AttentionBackward o = backward_of(s);
      o.qkv = qkv, o.out = attended, o.lse = lse_attended, o.grad = grad, o.dqkv = dqkv;
      run_with_scratch(o, threads);
      expect_near(dqkv, back, 1e-5 * scale * scale, "dqkv", also.dqkv);
    }
  });
}

TEST(Attention, GivesWhatItsFormulaSays) {
  in_every_type([]<class T>() {
    for (const std::size_t head_dim : {1, 5, 8, 32, 64, 80, 128, 130}) {
      check_attention<T>({1, 1, 2, 2, head_dim}, 1);
      check_attention<T>({1, 65, 2, 1, head_dim}, 1);
    }
    for (const std::size_t kv_heads : {1, 4, 2}) {  // for four of queries
      check_attention<T>({1, 63, 4, kv_heads, 32}, 1);
      check_attention<T>({1, 64, 4, kv_heads, 5}, 1);
      check_attention<T>({1, 70, 4, kv_heads, 64}, 1);
    }
    check_attention<T>({1, 200, 2, 1, 64}, 1);
    check_attention<T>({1, 130, 2, 1, 130}, 1);
    check_attention<T>({2, 70, 3, 3, 64}, 4);   // scores far apart
    check_attention<T>({3, 40, 1, 1, 300}, 1);  // wider than the sums that are kept at once
    check_attention<T>({2, 70, 2, 1, 64}, 1, 1);
  });
}

// However blocks and threads take their turns.
TEST(Attention, GivesTheSameBitsEachTime) {
  in_every_type([]<class T>() {
    const ref::Shape s{1, 130, 2, 1, 64};
    for_each_target([&] {
      const Guarded<T> qkv(random_values<T>(s.rows() * s.qkv_width(), 1)),
          grad(random_values<T>(s.rows() * s.width(), 2));
      Values first;
      for (int turn = 0; turn < 2; ++turn) {
        const Guarded<T> out(s.rows() * s.width()), dqkv(qkv.size());
        const Guarded<float> lse(s.rows() * s.heads);
        run(Attention{qkv, out, lse, s.batch, s.sequence, s.heads, s.kv_heads, s.head_dim}, 2);
        AttentionBackward o = backward_of(s);
        o.qkv = qkv, o.out = out, o.lse = lse, o.grad = grad, o.dqkv = dqkv;
        run_with_scratch(o, 2);
        if (turn == 0) first = dqkv.values();
        EXPECT_EQ(dqkv.values(), first);
      }
    });
  });
}

TEST(Attention, OfOneKeyIsItsValue) {
  for_each_target([&] {
    const Guarded<float> out(8), lse(2),
        in(Values{1, 2, 3, 4, 0, 0, 0, 0, 5, 6, 7, 8, 9, 9, 9, 9, 1, 1, 1, 1, -1, -2, -3, -4});
    run(Attention{in, out, lse, 2, 1, 1, 1, 4}, 1);
    expect_near(out, {5, 6, 7, 8, -1, -2, -3, -4}, 0, "out");
    expect_near(lse, {0, 18}, 1e-6, "lse");  // 0, and 4 * 9 / sqrt(4)
  });
}

TEST(Attention, SaysWhatDoesNotFit) {
  for_each_target([] {
    const Guarded<float> qkv(4 * 7 * 2), out(4 * 3 * 2), lse(12);
    EXPECT_THROW(run(Attention{qkv, out, lse, 1, 4, 3, 2, 2}, 1), Error);
    EXPECT_THROW(run(Attention{qkv, out, lse, 1, 4, 3, 0, 2}, 1), Error);
    const Guarded<float> of_one(4 * 5 * 2), dqkv(4 * 5 * 2);
    AttentionBackward o = backward_of({1, 4, 3, 1, 2});
    o.qkv = of_one, o.out = out, o.lse = lse, o.grad = out, o.dqkv = dqkv;
    EXPECT_THROW(run(o, 1), Error);  // no scratch
  });
}

}  // namespace
}  // namespace shardmark
