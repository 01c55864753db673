#pragma once
// What is a model, as data? Parameters, units, and what each unit multiplies and keeps, for one
// batch shape. Nothing is allocated: 1e12 parameters are fine.
#include <functional>
#include <string>
#include <vector>

#include "kernels/op.hpp"

namespace shardmark {

struct Parameter {
  std::string name;
  std::size_t size = 0;  // elements
  Init init;
};

// An operand that has a size and no memory: what a device asks for an op counts shapes alone.
inline View nowhere(std::size_t size, DType t) { return {1, size, t, Space::nowhere}; }

// A matrix product that a unit runs `times` per micro-batch (causal attention counts half, so times
// may be a fraction).
struct Product {
  std::size_t m = 0, n = 0, k = 0;
  bool ta = false, tb = false, adds = false, bias = false, residual = false;
  double times = 1;
  bool attention = false;  // a tile product inside an attention op; needs no scratch of its own
  int gradient_of = -1;    // the parameter whose gradient it is: not computed where that is frozen
  bool hands_on = false;   // writes what the next unit reads: not needed when activations are
                           // computed again
  Matmul shape(DType t) const {
    Matmul o;
    o.m = m, o.n = n, o.k = k, o.ta = ta, o.tb = tb, o.adds = adds;
    o.a = nowhere(m * k, t), o.b = nowhere(k * n, t), o.c = nowhere(m * n, t);
    if (bias) o.bias = nowhere(n, t);
    if (residual) o.residual = nowhere(m * n, t);
    return o;
  }
};

struct Unit {
  std::string name;
  std::vector<int>
      uses;  // parameter numbers; a tied parameter is used by two units and stored once
  std::size_t handed_on = 0;   // elements that the next unit reads, in the parameter's type
  std::size_t activation = 0;  // elements kept beside them for backward, in the parameter's type
  std::size_t statistics = 0;  // elements kept in f32 whatever the precision
  bool backward_reads = true;  // its backward reads its weights
  std::vector<Product> forward, backward;
  // The other ops that need scratch, in the parameter's type.
  std::vector<std::function<Op(DType)>> scratch_for;
};

struct Architecture {
  std::string name;  // the free form, all figures in it
  std::vector<Parameter> parameters;
  std::vector<Unit> units;
  std::size_t rows = 0;  // tokens of one rank's micro-batch
  // Elements held from the start to the end: in the parameter's type, and in f32.
  std::size_t workspace = 0, tables = 0;

  std::size_t parameter_count() const {
    std::size_t total = 0;
    for (const Parameter& p : parameters) total += p.size;
    return total;
  }
};

}  // namespace shardmark
