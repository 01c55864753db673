// Is each family's config.json read as the model that was published: parameters to the last one, of
// which some are active and some are tables, and a sentence for what was taken for granted?
#include "impl/models/model_config.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "impl/models/config.hpp"
#include "impl/models/config_test_support.hpp"
#include "impl/models/model_config_samples.hpp"
#include "impl/models/registry.hpp"

namespace shardmark {
namespace {

using namespace configs;

ModelConfig read(const std::string& text) { return read_model_config(text, "c.json", 8, 1); }

std::vector<Sample> all_samples() {
  std::vector<Sample> all(std::begin(published_models), std::end(published_models));
  all.insert(all.end(), std::begin(further_models), std::end(further_models));
  return all;
}

ModelConfig named(const std::string& name) {
  for (const Sample& s : all_samples())
    if (name == s.name) return read(s.config);
  throw Error(name + " is no sample");
}

bool noted(const ModelConfig& m, const std::string& sentence) {
  return std::find(m.notes.begin(), m.notes.end(), sentence) != m.notes.end();
}

TEST(ModelConfig, CountsAreAsPublished) {
  EXPECT_EQ(std::size(published_models), 26u);
  for (const Sample& s : all_samples()) {
    const ModelConfig m = read(s.config);
    EXPECT_EQ(m.architecture.parameter_count(), s.parameters) << s.name;
    EXPECT_EQ(m.active, s.active > 0 ? s.active : s.parameters) << s.name;
  }
}

// As the papers of the models give them.
TEST(ModelConfig, TablesAndUntiedHeadsAreEmbedding) {
  const auto rest = [](const char* name) {
    const ModelConfig m = named(name);
    return m.architecture.parameter_count() - m.embedding;
  };
  EXPECT_EQ(rest("pythia-160m"), 85'056'000u);
  EXPECT_EQ(rest("pythia-6.9b"), 6'444'163'072u);
  EXPECT_EQ(named("gpt2").embedding, (50'257u + 1024) * 768);
  EXPECT_EQ(named("opt-125m").embedding, (50'272u + 2050) * 768);
  EXPECT_EQ(named("bert-base-uncased").embedding, (30'522u + 512 + 2) * 768);
  EXPECT_EQ(named("llama-2-7b").embedding, 2u * 32'000 * 4096);
  EXPECT_EQ(named("phi-2").embedding, 2u * 51'200 * 2560 + 51'200);
}

TEST(ModelConfig, WhatIsTrainedHereIsPredictedAsItRuns) {
  int trained = 0;
  for (const Sample& s : all_samples()) {
    const ModelConfig m = read_model_config(s.config, "c.json", 64, 3);
    const bool here =
        m.family == "gpt2" || m.family == "llama" || m.family == "mistral" || m.family == "qwen2";
    EXPECT_EQ(!m.form.empty(), here) << s.name;
    if (!here) continue;
    ++trained;
    EXPECT_EQ(m.form, form_of_config(s.config, "c.json", false));
    const Architecture runs = make_architecture(m.form, 64, 3);
    EXPECT_EQ(m.architecture.name, runs.name);
    EXPECT_EQ(m.architecture.workspace, runs.workspace);
    EXPECT_EQ(m.architecture.rows, 192u);
    EXPECT_EQ(m.architecture.units.size(), runs.units.size());
  }
  EXPECT_EQ(trained, 13);
}

TEST(ModelConfig, EachParameterHasItsUnit) {
  for (const Sample& s : all_samples()) {
    const Architecture a = read(s.config).architecture;
    std::vector<int> uses(a.parameters.size());
    for (const Unit& u : a.units)
      for (const int p : u.uses) ++uses.at(static_cast<std::size_t>(p));
    for (std::size_t p = 0; p < uses.size(); ++p)
      EXPECT_GE(uses[p], 1) << s.name << " " << a.parameters[p].name;
    for (const Unit& u : a.units)
      for (const Product& p : u.backward)
        EXPECT_TRUE(p.gradient_of < 0 || std::count(u.uses.begin(), u.uses.end(), p.gradient_of))
            << s.name << " " << u.name;
  }
}

TEST(ModelConfig, SaysWhatItTookForGranted) {
  EXPECT_TRUE(noted(named("hf-llama-missing-kv"),
                    "\"num_key_value_heads\" is absent: 32, as num_attention_heads"));
  EXPECT_TRUE(noted(named("hf-gpt2-legacy-names"), "\"n_inner\" is absent: 3072, 4 times n_embd"));
  EXPECT_TRUE(noted(named("hf-gpt2-legacy-names"),
                    "the head is the embedding's table, which is counted once"));
  EXPECT_TRUE(noted(named("hf-moe-mixtral-8x7b"),
                    "\"tie_word_embeddings\" is absent: false, as MixtralConfig has it"));
  EXPECT_TRUE(noted(named("deepseek-v2-lite"),
                    "\"q_lora_rank\" is null: queries are projected in one step"));
  EXPECT_TRUE(noted(named("gemma-3-4b"),
                    "\"text_config.vocab_size\" is absent: 262208, as Gemma3TextConfig has it"));
  EXPECT_TRUE(noted(named("bert-base-uncased"),
                    "counted is the encoder with its pooler, without the head of a task"));
  EXPECT_TRUE(noted(named("deepseek-v3"),
                    "\"num_nextn_predict_layers\" is 1: layers that predict tokens after the next "
                    "are not counted"));
  EXPECT_TRUE(named("hf-head-dim-nemo").notes.empty());
}

// What a file does not say, whether by null or by silence, its class says.
TEST(ModelConfig, NullIsAsAbsent) {
  const auto count = [](const std::string& more) {
    return read(R"({"model_type": "gemma", "hidden_size": 64, "num_attention_heads": 16,
                    "num_hidden_layers": 1, "intermediate_size": 6, "vocab_size": 10)" +
                more + "}")
        .architecture.parameter_count();
  };
  // 256 features a head, 16 heads of each kind: 4 x 64 x 4096, MLP 3 x 64 x 6, 3 norms, 10 x 64.
  EXPECT_EQ(count(""), 4u * 64 * 4096 + 3 * 64 * 6 + 3 * 64 + 640);
  EXPECT_EQ(count(R"(, "head_dim": null, "num_key_value_heads": null)"), count(""));
  EXPECT_EQ(count(R"(, "tie_word_embeddings": null)"), count(""));
  EXPECT_EQ(count(R"(, "tie_word_embeddings": false)"), count("") + 640);
}

// The two keys whose null says something else than silence.
TEST(ModelConfig, NullIsNoneWhereAClassHasADefault) {
  const auto deepseek = [](const std::string& more) {
    return read(R"({"model_type": "deepseek_v2", "hidden_size": 64, "num_attention_heads": 2,
                    "num_hidden_layers": 1, "intermediate_size": 6, "vocab_size": 10,
                    "num_experts_per_tok": 2, "n_routed_experts": 4,
                    "first_k_dense_replace": 1)" +
                more + "}");
  };
  const ModelConfig absent = deepseek(""), none = deepseek(R"(, "q_lora_rank": null)");
  // Down to 1536 and its norm, then up to 2 heads of 128 + 64; or at once.
  EXPECT_EQ(absent.architecture.parameter_count() - none.architecture.parameter_count(),
            (64u * 1536 + 1536 + 1536 * 384) - 64 * 384);
  EXPECT_TRUE(noted(absent, "\"q_lora_rank\" is absent: 1536, as DeepseekV2Config has it"));
  const ModelConfig window = read(with("mistral", "vocab_size", "300"));
  EXPECT_NE(window.form.find(",window=4096"), std::string::npos) << window.form;
  EXPECT_TRUE(noted(window, "\"sliding_window\" is absent: 4096, as MistralConfig has it"));
  EXPECT_EQ(read(with("mistral", "sliding_window", "null")).form.find("window"), std::string::npos);
}

TEST(ModelConfig, HeadsOfKeysAreThoseOfTheClass) {
  const auto of = [](const std::string& family, const std::string& heads) {
    return read(R"({"model_type": ")" + family + R"(", "hidden_size": 64, "num_hidden_layers": 1,
                    "intermediate_size": 6, "vocab_size": 10, "max_position_embeddings": 16,
                    "num_attention_heads": )" +
                heads + "}");
  };
  const ModelConfig mistral = of("mistral", "16"), qwen2 = of("qwen2", "32");
  EXPECT_NE(mistral.form.find(",kv_heads=8,"), std::string::npos) << mistral.form;
  EXPECT_TRUE(noted(mistral, "\"num_key_value_heads\" is absent: 8, as MistralConfig has it"));
  EXPECT_TRUE(noted(qwen2, "\"num_key_value_heads\" is absent: 32, as Qwen2Config has it"));
}

TEST(ModelConfig, AQuantizedCheckpointIsCountedAsItsModel) {
  const std::string text = with("llama", "quantization_config", "{\"bits\": 4}");
  const ModelConfig m = read(text), plain = read(with("llama", "vocab_size", "300"));
  EXPECT_EQ(m.architecture.parameter_count(), plain.architecture.parameter_count());
  EXPECT_TRUE(m.form.empty());
  EXPECT_FALSE(plain.form.empty());
  EXPECT_TRUE(m.notes.back().starts_with("\"quantization_config\" is there: ")) << m.notes.back();
}

// The language model inside a file of a larger model, also where that is of no known family.
TEST(ModelConfig, ReadsTheLanguageModelInside) {
  const std::string llama = with("llama", "vocab_size", "300");
  const ModelConfig m = read(R"({"model_type": "llava", "text_config": )" + llama + "}");
  EXPECT_EQ(m.family, "llama");
  EXPECT_EQ(m.form, form_of_config(llama, "c.json", false));
  EXPECT_TRUE(noted(m,
                    "read is \"text_config\": what is there beside the language model is not "
                    "counted"));
}

// Llama 3.1: published as 405 B; 128,256 x 16,384 twice and 126 layers.
TEST(ModelConfig, IsReadInMilliseconds) {
  const std::string text = R"({"model_type": "llama", "hidden_size": 16384,
      "num_hidden_layers": 126, "num_attention_heads": 128, "num_key_value_heads": 8,
      "intermediate_size": 53248, "vocab_size": 128256, "max_position_embeddings": 131072})";
  EXPECT_EQ(read(text).architecture.parameter_count(), 405'853'388'800u);
  const auto fastest = [](const std::string& config) {
    double least = 1;
    for (int i = 0; i < 10; ++i) {
      const auto start = std::chrono::steady_clock::now();
      read(config);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      least = std::min(least, took.count());
    }
    return least;
  };
  EXPECT_LT(fastest(text), 5e-3);
  for (const Sample& s : all_samples()) EXPECT_LT(fastest(s.config), 5e-3) << s.name;
}

}  // namespace
}  // namespace shardmark
