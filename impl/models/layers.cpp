// Which ops is a layer made of, forward and backward? What all models share: linear maps, and the
// head that compares with the next token.
#include "impl/models/model.hpp"

namespace shardmark {

void Model::product(Matmul m) {
  require(m.a && m.b && m.c, "a matrix that a product needs is not here");
  run(std::move(m));
}

void Model::linear(ConstView x, ConstView w, ConstView bias, ConstView residual, View out,
                   std::size_t from, std::size_t to) {
  Matmul m;
  m.a = x, m.b = w, m.c = out, m.bias = bias, m.residual = residual;
  m.m = rows(), m.n = to, m.k = from;
  product(m);
}

void Model::weight_gradient(ConstView x, ConstView dy, View dw, std::size_t from, std::size_t to) {
  if (!dw) return;
  Matmul m;
  m.a = x, m.b = dy, m.c = dw, m.m = from, m.n = to, m.k = rows(), m.ta = true, m.adds = true;
  product(m);
}

void Model::input_gradient(ConstView dy, ConstView w, View dx, std::size_t from, std::size_t to) {
  Matmul m;
  m.a = dy, m.b = w, m.c = dx, m.m = rows(), m.n = from, m.k = to, m.tb = true;
  product(m);
}

void Model::bias_gradient(ConstView dy, View db) {
  if (db) run(ColumnSum{dy, db});
}

void Model::head_forward(ConstView x, ConstView table, View logits, View lse, std::size_t width,
                         std::size_t vocabulary) {
  Matmul m;
  m.a = x, m.b = table, m.c = logits, m.m = rows(), m.n = vocabulary, m.k = width, m.tb = true;
  product(m);
  run(CrossEntropy{logits, targets_, lse, losses_.view(), vocabulary, step_, micro_scale()});
}

void Model::head_backward(ConstView x, ConstView table, View logits, ConstView lse, View dtable,
                          View dx, std::size_t width, std::size_t vocabulary) {
  run(CrossEntropyBackward{targets_, lse, logits, vocabulary, micro_scale(), control_});
  if (dtable) {
    Matmul m;
    m.a = logits, m.b = x, m.c = dtable, m.m = vocabulary, m.n = width, m.k = rows();
    m.ta = true, m.adds = true;
    product(m);
  }
  Matmul m;
  m.a = logits, m.b = table, m.c = dx, m.m = rows(), m.n = width, m.k = vocabulary;
  product(m);
}

}  // namespace shardmark
