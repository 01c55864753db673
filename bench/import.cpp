#include "bench/import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "bench/import_parts.hpp"
#include "bench/import_text.hpp"
#include "bench/text.hpp"
#include "impl/models/config.hpp"
#include "impl/models/json_text.hpp"
#include "impl/models/model_config.hpp"
#include "impl/models/registry.hpp"

namespace shardmark {

using nlohmann::json;

namespace {

constexpr std::array<const char*, 6> accelerate_keys{{"compute_environment", "distributed_type",
                                                      "fsdp_config", "deepspeed_config",
                                                      "num_processes", "mixed_precision"}};
constexpr std::array<const char*, 8> deepspeed_keys{
    {"zero_optimization", "train_batch_size", "train_micro_batch_size_per_gpu", "fp16", "bf16",
     "bfloat16", "gradient_accumulation_steps", "optimizer"}};

template <class Names>
bool has_any(const json& tree, const Names& names) {
  return std::any_of(names.begin(), names.end(), [&](const char* n) { return tree.contains(n); });
}

// A key at the top that is one of the stage's is in the wrong place, and still says what the file
// is.
bool is_deepspeed(const json& tree) {
  return has_any(tree, deepspeed_keys) ||
         std::any_of(zero_keys().begin(), zero_keys().end(),
                     [&](const std::string& key) { return tree.contains(key); });
}

// hidden_size, as the families call it; of a language model inside, its.
std::optional<std::size_t> width_of(json config) {
  if (config.contains("text_config") && config["text_config"].is_object())
    config = json(config["text_config"]);
  for (const char* key : {"hidden_size", "n_embd", "n_embed", "d_model"})
    if (config.contains(key) && config[key].is_number_unsigned())
      return config[key].get<std::size_t>();
  return {};
}

// Of the layers, which are all but the first and the last unit, the middle one.
void count(const Architecture& a, ImportFacts& facts) {
  facts.parameters = a.parameter_count();
  std::size_t unit = 0;
  for (const int p : a.units[a.units.size() / 2].uses)
    unit += a.parameters[static_cast<std::size_t>(p)].size;
  facts.unit = std::max<std::size_t>(unit, 1);
}

}  // namespace

ImportFacts facts_of_model(const std::string& model) {
  ImportFacts facts;
  if (is_config(model)) {
    const std::string text = read_config("--model", model);
    count(read_model_config(text, model, 1, 1).architecture, facts);
    facts.hidden_size = width_of(json_object(text, model, "a config.json"));
    return facts;
  }
  Cell cell;
  cell.model = model;
  check_model(cell);
  // A form's positions are as many as a text's tokens.
  const auto sequence = static_cast<std::size_t>(cell.sequence);
  count(make_architecture(model, sequence), facts);
  facts.hidden_size =
      std::visit([](const auto& shape) { return shape.width; }, shape_of(model, sequence));
  return facts;
}

Imported import_strategy(const std::string& text, const std::string& file,
                         const ImportFacts& facts) {
  const json tree = strategy_tree(text, file);
  Imported imported;
  ImportKeys root(tree, file, imported);
  if (facts.ranks) imported.given["--ranks"] = {fmt::to_string(*facts.ranks)};
  if (has_any(tree, accelerate_keys)) {
    import_accelerate(root, facts);
  } else if (is_deepspeed(tree)) {
    imported.kind = "DeepSpeed";
    import_deepspeed(root, facts);
  } else {
    throw InputError(fmt::format(
        "{} is neither a DeepSpeed config, which has keys such as {}, nor one of Accelerate, with "
        "{}",
        file, join({deepspeed_keys.begin(), deepspeed_keys.begin() + 3}, ", "),
        join({accelerate_keys.begin() + 1, accelerate_keys.begin() + 4}, ", ")));
  }
  return imported;
}

std::string run_line(const Given& given) {
  std::string line = "shardmark run";
  for (const CellFlag& flag : cell_flags())
    if (const auto it = given.find(flag.name); it != given.end())
      line += fmt::format(" {} {}", flag.name, shell_word(join(it->second, " ")));
  return line;
}

}  // namespace shardmark
