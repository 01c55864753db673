#include "op.hpp"

namespace shardmark {
namespace {

double attention_flops(std::size_t batch, std::size_t sequence, std::size_t width, int products) {
  // Each product is 2 T T d a sequence over all heads; half of it lies above the diagonal.
  return products * 1.0 * double(batch) * double(sequence) * double(sequence) * double(width);
}

struct Flops {
  double operator()(const Matmul& o) const { return 2.0 * double(o.m) * double(o.n) * double(o.k); }
  double operator()(const Attention& o) const {
    return attention_flops(o.batch, o.sequence, o.heads * o.head_dim, 2);
  }
  double operator()(const AttentionBackward& o) const {
    return attention_flops(o.batch, o.sequence, o.heads * o.head_dim, 4);
  }
  template <class O>
  double operator()(const O&) const {
    return 0;
  }
};

constexpr std::string_view names[] = {"clear",
                                      "cast",
                                      "add",
                                      "sum_ranks",
                                      "fill",
                                      "sum_squares",
                                      "clip_control",
                                      "adamw",
                                      "matmul",
                                      "column_sum",
                                      "embed",
                                      "embed_backward",
                                      "one_hot",
                                      "layer_norm",
                                      "layer_norm_backward",
                                      "rms_norm",
                                      "rms_norm_backward",
                                      "rotary_table",
                                      "rotary",
                                      "gelu",
                                      "gelu_backward",
                                      "swiglu",
                                      "swiglu_backward",
                                      "attention",
                                      "attention_backward",
                                      "cross_entropy",
                                      "cross_entropy_backward",
                                      "transfer"};
static_assert(std::size(names) == std::variant_size_v<Op>,
              "one name an op, in the order of the variant");

}  // namespace

double flops(const Op& op) { return std::visit(Flops{}, op); }
std::string_view name(const Op& op) { return names[op.index()]; }

}  // namespace shardmark
