#pragma once
// Which models are there? Presets, and the free forms that they are short for.
#include <memory>
#include <span>
#include <variant>

#include "impl/models/forms.hpp"

namespace shardmark {

struct Preset {
  std::string name, form, summary;
};
std::span<const Preset> presets();
struct FreeForm {
  std::string pattern, summary;
};
std::span<const FreeForm> free_forms();

// model: a preset ("gpt-nano") or a free form ("gpt:layers=4,width=256,heads=8",
// "llama:layers=4,width=256,heads=8,kv_heads=2", "mlp:layers=3,width=1024"). All three throw
// InputError in one sentence where it is neither, or where its figures do not fit each other.
using ModelShape = std::variant<GptShape, LlamaShape, MlpShape>;
ModelShape shape_of(const std::string& model, std::size_t sequence, std::size_t batch = 1);
Architecture make_architecture(const std::string& model, std::size_t sequence,
                               std::size_t batch = 1);
// The same, together with what runs it; architecture and options must outlive the model.
std::unique_ptr<Model> make_model(Rank&, const std::string& model, const Architecture&,
                                  const Options&, std::size_t sequence, std::size_t batch);

}  // namespace shardmark
