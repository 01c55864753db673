#pragma once
// How is a transformer written down as data? What the families share: parameters numbered in their
// order, a linear map with its weight and bias, GPT-2's starts (Radford et al. 2019, section 2.3).
#include <cmath>
#include <string>
#include <utility>

#include "impl/models/products.hpp"

namespace shardmark {

class ArchitectureBuilder {
 protected:
  static constexpr double start = 0.02;  // standard deviation of weights
  // Of projections into the residual stream, which adds up 2 of them a layer.
  static double into_residual(std::size_t layers) {
    return start / std::sqrt(2.0 * static_cast<double>(layers));
  }
  static Init bell(double scale) { return {Init::Kind::bell, static_cast<float>(scale)}; }
  static Init constant(float value) { return {Init::Kind::constant, value}; }

  // A new parameter, the unit's next one; its number.
  int use(Unit& u, std::string name, std::size_t size, Init init) {
    a_.parameters.push_back({std::move(name), size, init});
    u.uses.push_back(static_cast<int>(a_.parameters.size()) - 1);
    return u.uses.back();
  }
  // NAME.weight, and NAME.bias where there is one. l.weight is filled in.
  void linear(Unit& u, const std::string& name, LinearShape l, double scale) {
    l.weight = use(u, name + ".weight", l.in * l.out, bell(scale));
    if (l.bias) use(u, name + ".bias", l.out, constant(0));
    add_linear(u, l);
  }
  // The table of the head: the embedding's where they are tied.
  int head_table(Unit& u, bool tied, int embedding, std::size_t size) {
    if (!tied) return use(u, "head.weight", size, bell(start));
    u.uses.push_back(embedding);
    return embedding;
  }
  void keep(Unit u) { a_.units.push_back(std::move(u)); }

  Architecture a_;
};

}  // namespace shardmark
