#include "impl/models/registry.hpp"

#include <fmt/format.h>

#include <array>

namespace shardmark {

std::span<const Preset> presets() {
  static const std::array<Preset, 7> all{{
      {"mlp-3x1024", "mlp:layers=3,width=1024", "three layers of width 1024 over the last 4 bytes"},
      {"gpt-nano", "gpt:layers=3,width=128,heads=4",
       "3 layers of width 128: a step in milliseconds"},
      {"gpt-micro", "gpt:layers=6,width=384,heads=6",
       "6 layers of width 384: matrix products dominate"},
      {"gpt2", "gpt:layers=12,width=768,heads=12,vocabulary=50257,positions=1024",
       "the smallest GPT-2"},
      {"llama-nano", "llama:layers=3,width=128,heads=4,kv_heads=2",
       "3 layers of width 128, half as many key and value heads"},
      {"llama-micro", "llama:layers=6,width=384,heads=6,kv_heads=2,inner=1024",
       "6 layers of width 384, a third as many key and value heads"},
      {"smollm-135m", "llama:layers=30,width=576,heads=9,kv_heads=3,inner=1536,vocabulary=49152",
       "a small model that is deep: 30 layers"},
  }};
  return all;
}

std::span<const FreeForm> free_forms() {
  static const std::array<FreeForm, 3> all{{
      {"gpt:layers=L,width=D,heads=H[,...]",
       "decoder-only transformer as GPT-2; may have tied=0|1 (1), inner=F (4 D), vocabulary=V "
       "(256), positions=T (the sequence), epsilon=X (1e-5)"},
      {"llama:layers=L,width=D,heads=H[,...]",
       "as Llama: RMSNorm, rotary positions, SwiGLU; may have kv_heads=K (H), head_dim=E (D/H), "
       "inner=F (8/3 D, up to a multiple of 8), tied=0|1 (1), vocabulary=V (256), positions=T and "
       "window=T (the longest text; any), qkv_bias, o_bias, mlp_bias=0|1 (0), epsilon=X (1e-5), "
       "theta=X (10000), rope_factor=X (positions turn X times slower; 1), and with "
       "rope_original=T only as far as Llama 3 scales them, by rope_low=X (1) and rope_high=X (4)"},
      {"mlp:layers=L,width=D", "multilayer perceptron over the last 4 bytes"},
  }};
  return all;
}

ModelShape shape_of(const std::string& model, std::size_t sequence, std::size_t batch) {
  std::string form = model;
  for (const Preset& p : presets())
    if (p.name == model) form = p.form;
  const std::size_t colon = form.find(':');
  const std::string family = form.substr(0, colon),
                    text = colon == std::string::npos ? "" : form.substr(colon + 1);
  if (family == "gpt" && !text.empty()) return gpt_shape(model, text, sequence, batch);
  if (family == "llama" && !text.empty()) return llama_shape(model, text, sequence, batch);
  if (family == "mlp" && !text.empty()) return mlp_shape(model, text, sequence, batch);
  std::string names;
  for (const Preset& p : presets()) names += p.name + ", ";
  for (const FreeForm& free : free_forms())
    names += free.pattern + (&free == &free_forms().back() ? "" : ", ");
  throw InputError(fmt::format("model '{}' is unknown: it may be {}", model, names));
}

namespace {

Architecture architecture_of(const GptShape& s) { return gpt_architecture(s); }
Architecture architecture_of(const LlamaShape& s) { return llama_architecture(s); }
Architecture architecture_of(const MlpShape& s) { return mlp_architecture(s); }

}  // namespace

Architecture make_architecture(const std::string& model, std::size_t sequence, std::size_t batch) {
  return std::visit([](const auto& s) { return architecture_of(s); },
                    shape_of(model, sequence, batch));
}

std::unique_ptr<Model> make_model(Rank& r, const std::string& model, const Architecture& a,
                                  const Options& o, std::size_t sequence, std::size_t batch) {
  const ModelShape shape = shape_of(model, sequence, batch);
  if (const auto* gpt = std::get_if<GptShape>(&shape)) return make_gpt(r, *gpt, a, o);
  if (const auto* llama = std::get_if<LlamaShape>(&shape)) return make_llama(r, *llama, a, o);
  return make_mlp(r, std::get<MlpShape>(shape), a, o);
}

}  // namespace shardmark
