#pragma once
// What is a model, as data? Parameters, units, and what each unit multiplies and keeps, for one
// batch shape. Nothing is allocated: 1e12 parameters are fine.
#include <string>
#include <vector>

#include "kernels/op.hpp"

namespace shardmark {

struct Parameter {
  std::string name;
  std::size_t size = 0;  // elements
  Init init;
};

// A matrix product that a unit runs `times` per micro-batch (causal attention counts half, so times
// may be a fraction).
struct Product {
  std::size_t m = 0, n = 0, k = 0;
  bool ta = false, tb = false, adds = false, bias = false, residual = false;
  double times = 1;
  bool attention = false;  // a tile product inside an attention op; needs no scratch of its own
  Matmul shape() const {
    Matmul o;
    o.m = m, o.n = n, o.k = k, o.ta = ta, o.tb = tb, o.adds = adds;
    if (bias) o.bias = {1, n, DType::f32, Space::nowhere};
    if (residual) o.residual = {1, m * n, DType::f32, Space::nowhere};
    return o;
  }
};

struct Unit {
  std::string name;
  std::vector<int>
      uses;  // parameter numbers; a tied parameter is used by two units and stored once
  std::size_t activation = 0;  // elements kept from forward for backward, in the parameter's type
  std::size_t statistics = 0;  // elements kept in f32 whatever the precision
  std::vector<Product> forward, backward;
};

struct Architecture {
  std::string name;  // the free form, all figures in it
  std::vector<Parameter> parameters;
  std::vector<Unit> units;
  std::size_t rows = 0;  // tokens of one rank's micro-batch
  std::size_t workspace =
      0;  // elements held for backward from the start to the end, in the parameter's type

  std::size_t parameter_count() const {
    std::size_t total = 0;
    for (const Parameter& p : parameters) total += p.size;
    return total;
  }
};

}  // namespace shardmark
