// Is a config.json of a family that can only be predicted refused by file and key where it is
// wrong, and does reading survive any bytes at all?
#include <gtest/gtest.h>

#include <random>

#include "impl/models/config.hpp"
#include "impl/models/model_config.hpp"
#include "impl/models/model_config_samples.hpp"
#include "kernels/error.hpp"

namespace shardmark {
namespace {

using namespace configs;

std::string outcome(const std::string& text) {
  try {
    return read_model_config(text, "c.json", 8, 1).architecture.name;
  } catch (const InputError& e) {
    return e.what();
  }
}

// A published file in which a key's value is replaced, or the key is added behind all others.
std::string with(const std::string& name, const std::string& key, const std::string& value) {
  for (const Sample& s : published_models) {
    if (name != s.name) continue;
    std::string text = s.config;
    const std::size_t at = text.find("\"" + key + "\": ");
    if (at == std::string::npos)
      return text.substr(0, text.rfind('}')) + ", \"" + key + "\": " + value + "}";
    const std::size_t from = at + key.size() + 4;
    return text.replace(from, text.find_first_of(",}", from) - from, value);
  }
  throw Error(name + " is no sample");
}

struct Wrong {
  const char *model, *key, *value, *sentence;
};
const Wrong wrong[] = {
    {"opt-125m", "ffn_dim", "null",
     "\"ffn_dim\" is null, but must be a whole number from 1 to 1000000"},
    {"opt-125m", "num_hidden_layers", "12.5",
     "\"num_hidden_layers\" is 12.5, but must be a whole number from 1 to 10000"},
    {"opt-125m", "num_attention_heads", "7",
     "\"hidden_size\" is 768, but must be a multiple of num_attention_heads, 7"},
    {"opt-125m", "layer_norm_elementwise_affine", "false",
     "\"layer_norm_elementwise_affine\" is false, but only true is known"},
    {"opt-125m", "max_position_embeddings", "7",
     "its texts have at most 7 tokens, but the sequence is 8: give a --sequence of at most 7"},
    {"bloom-560m", "hidden_size", "512",
     "\"hidden_size\" is 512, but \"n_embed\", another name for it, says something else"},
    {"bloom-560m", "n_inner", "8",
     "\"n_inner\" is 8, but BLOOM's is always 4 times its width, 4096"},
    {"pythia-160m", "rotary_pct", "1.5", "\"rotary_pct\" is 1.5, but must be at most 1"},
    {"qwen3-8b", "num_key_value_heads", "5",
     "\"num_key_value_heads\" is 5, but must divide the attention heads, 32"},
    {"qwen3-8b", "num_experts", "128",
     "\"num_experts\" is 128, but qwen3 models have none: it must not be there"},
    {"gemma-2b", "num_key_value_heads", "null",
     "\"num_key_value_heads\" is null, but its default, 16, must divide the attention heads, 8"},
    {"gemma-2-2b", "layer_types", "[\"full_attention\"]",
     "\"layer_types\" is a list, but must have an entry for each of 26 layers"},
    {"mixtral-8x7b", "num_experts_per_tok", "9",
     "\"num_experts_per_tok\" is 9, but may be at most the number of experts, 8"},
    {"mixtral-8x7b", "num_local_experts", "0",
     "\"num_local_experts\" is 0, but must be a whole number from 1 to 1000000"},
    {"mixtral-8x7b", "num_local_experts", "8000",
     "the model has more than 1e+12 parameters, but may have at most that; fewer layers or a "
     "smaller width make it smaller"},
    {"deepseek-v2-lite", "num_experts_per_tok", "null",
     "\"num_experts_per_tok\" is null, but must be a whole number from 1 to 1000000"},
    {"deepseek-v2-lite", "first_k_dense_replace", "-1",
     "\"first_k_dense_replace\" is -1, but must be a whole number from 1 to 10000"},
    {"phi-3-mini-4k", "attention_bias", "true",
     "\"attention_bias\" is true, but the linear maps of phi3 have none: only false is known"},
    {"falcon-7b", "num_ln_in_parallel_attn", "3",
     "\"num_ln_in_parallel_attn\" is 3, but must be 1 or 2"},
    {"falcon-7b", "model_type", "\"bloom\"",
     "\"model_type\" is \"bloom\", but \"architectures\" names FalconForCausalLM, which is of "
     "falcon"},
    {"bert-base-uncased", "model_type", "\"t5\"",
     "\"model_type\" is \"t5\", but may be gpt2, llama, mistral, qwen2, bert, bloom, deepseek_v2, "
     "deepseek_v3, falcon, gemma, gemma2, gemma3, gemma3_text, gpt_neox, gptj, mixtral, opt, phi, "
     "phi3, qwen3, starcoder2"},
    {"falcon-7b", "architectures", "[\"FalconForSequenceClassification\"]",
     "\"architectures\" names FalconForSequenceClassification, but with \"model_type\" falcon only "
     "a language model (...ForCausalLM, ...LMHeadModel) is predicted here"},
    {"falcon-7b", "text_config", "3, \"text_config\": 4",
     "\"text_config\" is there twice, but may stand once: again in line 4, column 86"},
};

TEST(ModelConfigFaults, SaysInOneSentenceWhatItWillNotGuess) {
  for (const Wrong& w : wrong)
    EXPECT_EQ(outcome(with(w.model, w.key, w.value)), std::string("c.json: ") + w.sentence);
}

TEST(ModelConfigFaults, RefusesContradictionsAroundALanguageModel) {
  const auto inside = [](const std::string& top, const std::string& text) {
    return outcome("{" + top + ", \"text_config\": " + text + "}");
  };
  EXPECT_EQ(inside(R"("model_type": "gemma3", "tie_word_embeddings": false)", "{}"),
            "c.json: \"tie_word_embeddings\" is false, but \"text_config\" says something else");
  EXPECT_EQ(inside(R"("model_type": "gemma3")", R"({"model_type": "gemma2"})"),
            "c.json: \"text_config.model_type\" is \"gemma2\", but the whole is gemma3");
  EXPECT_EQ(inside(R"("model_type": "gemma3")", "7"),
            "c.json: \"text_config\" is 7, but must be an object");
  EXPECT_TRUE(inside(R"("model_type": "llava")", R"({"vocab_size": 10})")
                  .starts_with("c.json: \"text_config.model_type\" is missing, but may be gpt2, "));
}

TEST(ModelConfigFaults, TrainingNamesTheFamiliesThatAreOnlyPredicted) {
  const auto trained = [](const std::string& text) {
    try {
      return form_of_config(text, "falcon.json", false);
    } catch (const InputError& e) {
      return std::string(e.what());
    }
  };
  EXPECT_EQ(trained(with("falcon-7b", "vocab_size", "65024")),
            "falcon.json: \"model_type\" is \"falcon\", but falcon models can be predicted and not "
            "trained here: it may be gpt2, llama, mistral, qwen2");
  EXPECT_EQ(trained(R"({"architectures": ["MixtralForCausalLM"]})"),
            "falcon.json: \"architectures\" names MixtralForCausalLM, but mixtral models can be "
            "predicted and not trained here: it may hold one of GPT2LMHeadModel, LlamaForCausalLM, "
            "MistralForCausalLM, Qwen2ForCausalLM");
}

TEST(ModelConfigFaults, SaysWhereTheTextIsNoJson) {
  EXPECT_EQ(outcome(""), "c.json is no JSON: it cannot be read from line 1, column 1 on");
  EXPECT_EQ(outcome("{\n  \"n_layer\": 3,\n  \"n_head\" 4}"),
            "c.json is no JSON: it cannot be read from line 3, column 12 on");
  EXPECT_EQ(outcome("{\"model_type\": NaN}"),
            "c.json is no JSON: it cannot be read from line 1, column 16 on");
  EXPECT_EQ(outcome("{\n\"a\xc3\xa4\": 1,\n \"a\xc3\xa4\": 2}"),
            "c.json: \"a\xc3\xa4\" is there twice, but may stand once: again in line 3, column 2");
}

// Bytes are turned, cut, doubled and exchanged for what readers stumble over.
std::string mutated(std::string text, std::mt19937& random) {
  const char* const odd[] = {"null",   "-1",  "1e999", "NaN",  "18446744073709551616",
                             "[",      "{",   "\"",    "\xff", "1000000",
                             "0",      "0.5", "true",  "\"\"", "[[[[[[[[",
                             "\\u0000"};
  const auto below = [&](std::size_t n) { return n == 0 ? 0 : random() % n; };
  for (std::size_t times = 1 + below(3); times > 0; --times) {
    const std::size_t at = below(text.size()), length = below(40);
    switch (below(6)) {
      case 0:
        text.insert(at, 1, static_cast<char>(below(256)));
        break;
      case 1:
        text.resize(at);
        break;
      case 2:
        text.insert(at, text.substr(at, length));
        break;
      case 3:
        text.erase(at, length);
        break;
      case 4:
        text.insert(at, odd[below(std::size(odd))]);
        break;
      default: {  // a value
        const std::size_t colon = text.find(": ", at);
        if (colon == std::string::npos) break;
        const std::size_t end = std::min(text.find_first_of(",}", colon), text.size());
        text.replace(colon + 2, end - colon - 2, odd[below(std::size(odd))]);
      }
    }
  }
  return text;
}

TEST(ModelConfigFaults, SurvivesAnyBytes) {
  std::mt19937 random(20240607);
  std::size_t read = 0, refused = 0;
  const auto try_all = [&](std::span<const Sample> samples) {
    for (const Sample& s : samples)
      for (int i = 0; i < 150; ++i) {
        const std::string text = mutated(s.config, random);
        try {
          read_model_config(text, "c.json", 8, 1);
          ++read;
        } catch (const InputError& e) {
          ++refused;
          EXPECT_TRUE(std::string_view(e.what()).starts_with("c.json") ||
                      std::string_view(e.what()).starts_with("model '"))
              << e.what();
        }
      }
  };
  try_all(published_models), try_all(further_models);
  EXPECT_GT(read, 300u);
  EXPECT_GT(refused, 1000u);
}

}  // namespace
}  // namespace shardmark
