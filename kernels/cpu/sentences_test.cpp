// Does every op say in one sentence what does not fit?
#include <gtest/gtest.h>

#include "kernels/cpu/math.hpp"
#include "kernels/guarded.hpp"

namespace shardmark {
namespace {

using namespace testing;

// Runs the op and expects a sentence that says this.
void expect_sentence(const Op& op, const std::string& part) {
  try {
    cpu::run(op, 1);
    FAIL() << "no error, but one was expected that says: " << part;
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
}

TEST(Sentences, NameTheOpTheOperandAndWhatItShouldBe) {
  Guarded<float> four(4), six(6), eight(8);
  Guarded<double> d(1), three(3);
  Guarded<std::int32_t> tokens(Values{0, 9});
  const View nowhere(0, 4, DType::f32, Space::nowhere), none;
  expect_sentence(Clear{none}, "clear: to is empty");
  expect_sentence(Cast{four.view(), six}, "cast: from has 4 elements and to has 6");
  expect_sentence(Cast{four.view(), View(four.view().address(), 4, DType::i32, Space::host)},
                  "no conversion of f32 to i32");
  expect_sentence(Add{four.view(), none}, "add: from has 4 elements and to has 0");
  expect_sentence(SumSquares{four.view(), six},
                  "total has 6 elements of f32, but it must have 6 elements of f64");
  expect_sentence(SumSquares{four.view(), three}, "x has 4 elements, which are no 3 equal parts");
  expect_sentence(SumSquares{nowhere, d}, "x is not in host memory");
  expect_sentence(Fill{d, {}, 0, 0, 0},
                  "to has elements of f64, but they must be f32, bf16 or f16");
  expect_sentence(AdamW{none, {}, four.view(), four, four, four.view(), {}},
                  "weight is asked for with 0 elements");
  expect_sentence(AdamW{four, {}, six.view(), four, four, four.view(), {}},
                  "grad has 6 elements of f32");
  const Guarded<float> five(Values{1, 0, 1, 1, 0});
  expect_sentence(ClipControl{d, six, {}, 0, 1, {}}, "control has 6 elements");
  expect_sentence(ClipControl{d, five, d, 0, 1, {}}, "entry 0 lies behind the end of history");
  expect_sentence(ColumnSum{six.view(), four},
                  "x has 6 elements, but it must have whole rows of 4");
  expect_sentence(LayerNorm{eight.view(), six.view(), four.view(), eight, four, 4},
                  "layer_norm: gain has 6 elements");
  expect_sentence(LayerNorm{eight.view(), none, four.view(), eight, four, 4},
                  "gain is empty, but it must have 4");
  expect_sentence(Gelu{four.view(), six}, "gelu: out has 6 elements");
  expect_sentence(Attention{six.view(), four, four, 1, 1, 0, 0, 4}, "attention: heads is 0");
  expect_sentence(Embed{tokens.view(), four.view(), four.view(), eight, 4, 1},
                  "tokens[1] is 9, but it must be 0 to 0");
  expect_sentence(CrossEntropy{eight.view(), tokens.view(), six, d, 4, 0, 1},
                  "targets[1] is 9, but it must be 0 to 3");
  expect_sentence(Transfer{}, "only a communicator can run it");
  Matmul product;
  product.a = four.view(), product.b = four.view(), product.c = six;
  product.m = product.n = product.k = 2;
  expect_sentence(product, "matmul: c has 6 elements of f32, but it must have 4");
  EXPECT_THROW(cpu::use_instruction_set("mmx"), InputError);
}

TEST(Sentences, SayWhichTypeDoesNotFit) {
  const Guarded<float> four(4), eight(8), stats(2);
  const Guarded<Bf16> narrow(4), row(8);
  const Guarded<F16> half(4);
  const Guarded<float> five(Values{1, 0, 1, 1, 0});
  const Guarded<std::int32_t> tokens(Values{0, 0});
  expect_sentence(Add{narrow.view(), half}, "add: bf16 to f16 cannot be added");
  expect_sentence(Gelu{narrow.view(), four},
                  "out has 4 elements of f32, but it must have 4 elements of bf16");
  expect_sentence(Gelu{tokens.view(), four},
                  "gelu: x has elements of i32, but they must be f32, bf16 or f16");
  expect_sentence(AdamW{narrow, {}, narrow.view(), four, four, five.view(), {}},
                  "master is empty, but it must have 4 elements of f32");
  expect_sentence(AdamW{four, four, four.view(), four, four, five.view(), {}},
                  "master is given beside an f32 weight");
  expect_sentence(AdamW{narrow, four, half.view(), four, four, five.view(), {}},
                  "grad has 4 elements of f16, but it must have 4 elements of bf16");
  expect_sentence(LayerNorm{row.view(), four.view(), narrow.view(), row, four, 4, 1e-5f},
                  "gain has 4 elements of f32, but it must have 4 elements of bf16");
  expect_sentence(Embed{tokens.view(), half.view(), {}, row, 4, 0},
                  "table has 4 elements of f16, but it must have 4 elements of bf16");
  Matmul product;
  product.a = narrow.view(), product.b = half.view(), product.c = narrow;
  product.m = product.n = product.k = 2;
  expect_sentence(product, "b has 4 elements of f16, but it must have 4 elements of bf16");
}

}  // namespace
}  // namespace shardmark
