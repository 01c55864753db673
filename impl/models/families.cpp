#include "impl/models/families.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace shardmark {
namespace {

constexpr std::array<Family, 24> all_families{{
    {"gpt2", "gpt2", "GPT2LMHeadModel", true},
    {"llama", "llama", "LlamaForCausalLM", true},
    {"mistral", "mistral", "MistralForCausalLM", true},
    {"qwen2", "qwen2", "Qwen2ForCausalLM", true},
    {"bert", "bert", "BertModel", false},
    {"bert", "bert", "BertForMaskedLM", false},
    {"bert", "bert", "BertForPreTraining", false},
    {"bloom", "bloom", "BloomForCausalLM", false},
    {"bloom", "bloom", "BloomModel", false},
    {"deepseek_v2", "deepseek_v2", "DeepseekV2ForCausalLM", false},
    {"deepseek_v3", "deepseek_v3", "DeepseekV3ForCausalLM", false},
    {"falcon", "falcon", "FalconForCausalLM", false},
    {"gemma", "gemma", "GemmaForCausalLM", false},
    {"gemma2", "gemma2", "Gemma2ForCausalLM", false},
    {"gemma3", "gemma3", "Gemma3ForConditionalGeneration", false},
    {"gemma3", "gemma3_text", "Gemma3ForCausalLM", false},
    {"gpt_neox", "gpt_neox", "GPTNeoXForCausalLM", false},
    {"gptj", "gptj", "GPTJForCausalLM", false},
    {"mixtral", "mixtral", "MixtralForCausalLM", false},
    {"opt", "opt", "OPTForCausalLM", false},
    {"phi", "phi", "PhiForCausalLM", false},
    {"phi3", "phi3", "Phi3ForCausalLM", false},
    {"qwen3", "qwen3", "Qwen3ForCausalLM", false},
    {"starcoder2", "starcoder2", "Starcoder2ForCausalLM", false},
}};

bool serves(const Family& f, Purpose p) { return f.trains || p == Purpose::predict; }

const Family* of_architecture(const std::string& name) {
  for (const Family& f : all_families)
    if (f.architecture == name) return &f;
  return nullptr;
}

// Names of one kind, of all that serve the purpose.
std::vector<std::string> known(Purpose p, const char* Family::*kind) {
  std::vector<std::string> all;
  for (const Family& f : all_families)
    if (serves(f, p) && std::find(all.begin(), all.end(), f.*kind) == all.end())
      all.emplace_back(f.*kind);
  return all;
}

std::string predicted_only(const Family& f) {
  return fmt::format("{} models can be predicted and not trained here", f.name);
}

// Beside a model type: another family's name, or what is not a language model, would be read as
// something else than it is.
void fits_architecture(const ConfigKeys& c, const std::string& family, Purpose p) {
  const std::vector<std::string> given = c.words("architectures");
  if (given.empty()) return;
  const Family* named = of_architecture(given.front());
  if (named && family != named->name)
    c.refuse("model_type",
             fmt::format("\"architectures\" names {}, which is of {}", given.front(), named->name));
  if (!named && !given.front().ends_with("ForCausalLM") && !given.front().ends_with("LMHeadModel"))
    c.refuse_all(
        fmt::format("\"architectures\" names {}, but with \"model_type\" {} only a "
                    "language model (...ForCausalLM, ...LMHeadModel) is {} here",
                    given.front(), family, p == Purpose::train ? "trained" : "predicted"));
}

std::string by_architecture(const ConfigKeys& c, Purpose p) {
  const std::vector<std::string> given = c.words("architectures");
  const Family* only = given.size() == 1 ? of_architecture(given.front()) : nullptr;
  if (only && serves(*only, p)) return only->name;
  const std::string names = joined(known(p, &Family::architecture));
  if (only)
    c.refuse_all(fmt::format("\"architectures\" names {}, but {}: it may hold one of {}",
                             given.front(), predicted_only(*only), names));
  c.refuse_all(fmt::format("\"architectures\" names {}, but may hold one of {}",
                           given.empty() ? "nothing" : given.front(), names));
}

}  // namespace

std::span<const Family> families() { return all_families; }

std::string family_of(const ConfigKeys& c, Purpose p) {
  if (!c.has("model_type") && c.has("architectures")) return by_architecture(c, p);
  const std::vector<std::string> types = known(p, &Family::model_type);
  if (p == Purpose::train)
    for (const Family& f : all_families)
      if (!f.trains && c.holds("model_type", f.model_type))
        c.refuse("model_type", fmt::format("{}: it may be {}", predicted_only(f), joined(types)));
  const std::string type = c.word("model_type", types, "");
  const Family& f = *std::find_if(all_families.begin(), all_families.end(),
                                  [&](const Family& one) { return one.model_type == type; });
  fits_architecture(c, f.name, p);
  return f.name;
}

bool trains(const std::string& family) {
  return std::any_of(all_families.begin(), all_families.end(),
                     [&](const Family& f) { return f.trains && f.name == family; });
}

void refuse_experts(const ConfigKeys& c, const std::string& because) {
  for (const char* key : {"num_local_experts", "num_experts", "n_routed_experts"})
    if (c.has(key)) c.refuse(key, because + ": it must not be there");
}

}  // namespace shardmark
