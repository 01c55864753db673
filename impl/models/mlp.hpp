#pragma once
// A multilayer perceptron that reads the last bytes one-hot and predicts the next: linear, GELU,
// linear, GELU, linear (the course's three layers, at any width and depth). Units: the layers.
// Weights are stored (in, out).
#include "impl/models/model.hpp"

namespace shardmark {

struct MlpShape {
  std::size_t layers = 0, width = 0, vocabulary = 0, sequence = 0, batch = 0;
  static constexpr std::size_t context = 4;  // bytes it sees
  std::size_t rows() const { return batch * sequence; }
  std::size_t out(std::size_t layer) const { return layer + 1 == layers ? vocabulary : width; }
};

Architecture mlp_architecture(const MlpShape&);
std::unique_ptr<Model> make_mlp(Rank&, const MlpShape&, const Architecture&, const Options&);

}  // namespace shardmark
