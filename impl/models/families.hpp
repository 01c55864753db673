#pragma once
// Which families of models can be read from a config.json, and which of them can be trained here?
// The others are written down (outline.hpp), so that a run of them can be predicted.
#include <span>
#include <string>

#include "impl/models/config_keys.hpp"
#include "impl/models/outline.hpp"

namespace shardmark {

// One of the ways in which a file names a family; a family may have several.
struct Family {
  const char *name, *model_type, *architecture;
  bool trains;
};
std::span<const Family> families();

enum class Purpose { train, predict };
// The family of a file, by "model_type" or else by "architectures", which must not contradict each
// other. One that does not serve the purpose is refused (InputError).
std::string family_of(const ConfigKeys&, Purpose);
bool trains(const std::string& family);

// The free form of a family that is trained here; bytes: with a vocabulary of 256.
std::string form_of_keys(const ConfigKeys&, const std::string& family, bool bytes);
// The outline of one that is not, without sequence and batch.
TransformerOutline outline_of_keys(const ConfigKeys&, const std::string& family);

// Experts in a family that has none would be other parameters than those of one dense layer.
void refuse_experts(const ConfigKeys&, const std::string& because);

}  // namespace shardmark
