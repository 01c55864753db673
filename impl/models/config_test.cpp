// Is a config.json read as the model that its publishers trained? Parameter counts as published,
// from the fields of their files; and one sentence for what cannot be read without guessing.
#include <gtest/gtest.h>

#include "impl/models/config_test_support.hpp"
#include "impl/models/registry.hpp"

namespace shardmark {
namespace {

using namespace configs;

struct Published {
  const char *name, *config;
  std::size_t parameters;
};

const Published published[] = {
    {"gpt2",
     R"({"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_embd": 768, "n_head": 12,
         "n_inner": null, "n_layer": 12, "n_positions": 1024, "layer_norm_epsilon": 1e-05,
         "vocab_size": 50257, "activation_function": "gelu_new",
         "reorder_and_upcast_attn": false, "scale_attn_weights": true})",
     124'439'808},
    {"gpt2-xl",
     R"({"model_type": "gpt2", "n_embd": 1600, "n_head": 25, "n_layer": 48, "n_positions": 1024,
         "vocab_size": 50257, "activation_function": "gelu_new"})",
     1'557'611'200},
    {"llama-2-7b",
     R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "num_hidden_layers": 32,
         "num_attention_heads": 32, "intermediate_size": 11008, "vocab_size": 32000,
         "rms_norm_eps": 1e-05, "max_position_embeddings": 4096, "hidden_act": "silu",
         "rope_scaling": null})",
     6'738'415'616},
    {"llama-2-70b", R"({"model_type": "llama", "hidden_size": 8192, "num_hidden_layers": 80,
         "num_attention_heads": 64, "num_key_value_heads": 8, "intermediate_size": 28672,
         "vocab_size": 32000, "max_position_embeddings": 4096,
         "tie_word_embeddings": false})",
     68'976'648'192},
    {"llama-3-8b", R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
         "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
         "vocab_size": 128256, "max_position_embeddings": 8192, "rope_theta": 500000.0})",
     8'030'261'248},
    {"llama-3.2-1b",
     R"({"model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 16, "head_dim": 64,
         "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 8192,
         "vocab_size": 128256, "max_position_embeddings": 131072, "rope_theta": 500000.0,
         "tie_word_embeddings": true,
         "rope_scaling": {"factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
                          "original_max_position_embeddings": 8192, "rope_type": "llama3"}})",
     1'235'814'400},
    {"mistral-7b", R"({"model_type": "mistral", "hidden_size": 4096, "num_hidden_layers": 32,
         "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
         "vocab_size": 32000, "max_position_embeddings": 32768, "sliding_window": 4096})",
     7'241'732'096},
    {"mistral-nemo",
     R"({"model_type": "mistral", "hidden_size": 5120, "num_hidden_layers": 40, "head_dim": 128,
         "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
         "vocab_size": 131072, "max_position_embeddings": 128000, "rope_theta": 1000000.0,
         "sliding_window": null})",
     12'247'782'400},
    {"qwen2-0.5b", R"({"model_type": "qwen2", "hidden_size": 896, "num_hidden_layers": 24,
         "num_attention_heads": 14, "num_key_value_heads": 2, "intermediate_size": 4864,
         "vocab_size": 151936, "max_position_embeddings": 131072,
         "tie_word_embeddings": true, "rope_theta": 1000000.0, "rms_norm_eps": 1e-06,
         "use_sliding_window": false, "sliding_window": 64})",
     494'032'768},
    {"qwen2-7b", R"({"model_type": "qwen2", "hidden_size": 3584, "num_hidden_layers": 28,
         "num_attention_heads": 28, "num_key_value_heads": 4, "intermediate_size": 18944,
         "vocab_size": 152064, "max_position_embeddings": 131072,
         "tie_word_embeddings": false, "rope_theta": 1000000.0})",
     7'615'616'512},
    {"smollm-135m", R"({"model_type": "llama", "hidden_size": 576, "num_hidden_layers": 30,
         "num_attention_heads": 9, "num_key_value_heads": 3, "intermediate_size": 1536,
         "vocab_size": 49152, "max_position_embeddings": 2048, "tie_word_embeddings": true,
         "attention_bias": false})",
     134'515'008},
};

TEST(Config, ParametersAreAsPublished) {
  for (const Published& p : published) {
    const std::string form = form_of_config(p.config, "config.json", false);
    EXPECT_EQ(make_architecture(form, 1024).parameter_count(), p.parameters)
        << p.name << " " << form;
  }
}

TEST(Config, WithBytesOnlyTheVocabularyIsAnother) {
  const std::string form = form_of_config(published[0].config, "config.json", true);
  EXPECT_EQ(form, "gpt:layers=12,width=768,heads=12,positions=1024");
  EXPECT_EQ(make_architecture(form, 1024).parameter_count(), 124'439'808u - (50'257 - 256) * 768);
}

TEST(Config, KeepsWhatChangesNoCount) {
  const auto form = [](std::size_t i) {
    return form_of_config(published[i].config, "f.json", false);
  };
  EXPECT_EQ(form(5),
            "llama:layers=16,width=2048,heads=32,kv_heads=8,inner=8192,vocabulary=128256,"
            "positions=131072,epsilon=1e-06,theta=500000,rope_factor=32,rope_original=8192");
  EXPECT_EQ(form(6),
            "llama:layers=32,width=4096,heads=32,kv_heads=8,inner=14336,tied=0,vocabulary=32000,"
            "positions=32768,window=4096,epsilon=1e-06");
  EXPECT_EQ(form(8),
            "llama:layers=24,width=896,heads=14,kv_heads=2,inner=4864,vocabulary=151936,"
            "positions=131072,qkv_bias=1,epsilon=1e-06,theta=1000000");
}

const Wrong wrong[] = {
    {"gpt2", "n_layer", "", "\"n_layer\" is missing, but must be a whole number from 1 to 10000"},
    {"gpt2", "n_layer", "null", "\"n_layer\" is null, but must be a whole number from 1 to 10000"},
    {"gpt2", "n_layer", "0", "\"n_layer\" is 0, but must be a whole number from 1 to 10000"},
    {"gpt2", "n_layer", "-2", "\"n_layer\" is -2, but must be a whole number from 1 to 10000"},
    {"gpt2", "n_layer", "1.5", "\"n_layer\" is 1.5, but must be a whole number from 1 to 10000"},
    {"gpt2", "n_layer", "\"1\"",
     "\"n_layer\" is \"1\", but must be a whole number from 1 to 10000"},
    {"gpt2", "n_positions", "",
     "\"n_positions\" is missing, but must be a whole number from 1 to 1000000000"},
    {"gpt2", "n_head", "3", "\"n_embd\" is 8, but must be a multiple of n_head, 3"},
    {"gpt2", "activation_function", "\"relu\"",
     "\"activation_function\" is \"relu\", but may be gelu_new, gelu_pytorch_tanh"},
    {"gpt2", "reorder_and_upcast_attn", "true",
     "\"reorder_and_upcast_attn\" is true, but only false is known"},
    {"gpt2", "scale_attn_by_inverse_layer_idx", "true",
     "\"scale_attn_by_inverse_layer_idx\" is true, but only false is known"},
    {"gpt2", "scale_attn_weights", "false",
     "\"scale_attn_weights\" is false, but only true is known"},
    {"gpt2", "tie_word_embeddings", "1", "\"tie_word_embeddings\" is 1, but must be true or false"},
    {"gpt2", "layer_norm_epsilon", "0",
     "\"layer_norm_epsilon\" is 0, but must be a number above 0"},
    {"gpt2", "model_type", "\"mamba\"",
     "\"model_type\" is \"mamba\", but may be gpt2, llama, mistral, qwen2"},
    {"gpt2", "model_type", "", "\"model_type\" is missing, but may be gpt2, llama, mistral, qwen2"},
    {"llama", "hidden_size", "\"8\"",
     "\"hidden_size\" is \"8\", but must be a whole number from 1 to 1000000"},
    {"llama", "num_key_value_heads", "4",
     "\"num_key_value_heads\" is 4, but must divide num_attention_heads, 2"},
    {"llama", "hidden_size", "9",
     "\"hidden_size\" is 9, but must be an even multiple of num_attention_heads, 2, where there is "
     "no head_dim"},
    {"llama", "head_dim", "5",
     "\"head_dim\" is 5, but must be even, as rotary positions turn pairs"},
    {"mistral", "num_key_value_heads", "",
     "\"num_key_value_heads\" is missing, but its default, 8, must divide num_attention_heads, 2"},
    {"qwen2", "num_key_value_heads", "null",
     "\"num_key_value_heads\" is null, but its default, 32, must divide num_attention_heads, 2"},
    {"qwen2", "use_sliding_window", "true",
     "\"sliding_window\" is missing, but must be a whole number from 1 to 1000000000"},
    {"llama", "hidden_act", "\"gelu\"", "\"hidden_act\" is \"gelu\", but may be silu"},
    {"llama", "partial_rotary_factor", "0.5",
     "\"partial_rotary_factor\" is 0.5, but only 1 is known"},
    {"llama", "quantization_config", "{\"bits\": 4}",
     "\"quantization_config\" is an object, but quantized weights are not trained here"},
    {"llama", "attention_bias", "\"yes\"",
     "\"attention_bias\" is \"yes\", but must be true or false"},
    {"llama", "rope_theta", "-1.0", "\"rope_theta\" is -1.0, but must be a number above 0"},
    {"llama", "rope_scaling", "2", "\"rope_scaling\" is 2, but must be an object"},
    {"llama", "rope_scaling", "{\"type\": \"dynamic\", \"factor\": 2.0}",
     "\"rope_scaling.type\" is \"dynamic\", but may be default, linear, llama3"},
    {"llama", "rope_scaling", "{\"factor\": 2.0}",
     "\"rope_scaling.rope_type\" is missing, but may be default, linear, llama3"},
    {"llama", "rope_scaling", "{\"rope_type\": \"linear\", \"factor\": 0.5}",
     "\"rope_scaling.factor\" is 0.5, but must be a number of 1 or more"},
    {"llama", "rope_parameters", "{\"rope_type\": \"yarn\"}",
     "\"rope_parameters.rope_type\" is \"yarn\", but may be default, linear, llama3"},
    {"llama", "rope_scaling",
     "{\"rope_type\": \"llama3\", \"factor\": 8, \"low_freq_factor\": 4, \"high_freq_factor\": 4, "
     "\"original_max_position_embeddings\": 64}",
     "\"rope_scaling.high_freq_factor\" is 4, but must be above low_freq_factor, 4"},
};

TEST(Config, SaysInOneSentenceWhatItWillNotGuess) {
  for (const Wrong& w : wrong)
    EXPECT_EQ(outcome(with(w.family, w.key, w.value)), std::string("c.json: ") + w.sentence);
  EXPECT_EQ(outcome("{\"n_layer\" 3}"),
            "c.json is no JSON: it cannot be read from line 1, column 12 on");
  EXPECT_EQ(outcome("[]"), "c.json holds no JSON object, but a config.json is one");
  EXPECT_EQ(outcome(R"({"architectures": ["MambaForCausalLM"]})"),
            "c.json: \"architectures\" names MambaForCausalLM, but may hold one of "
            "GPT2LMHeadModel, LlamaForCausalLM, MistralForCausalLM, Qwen2ForCausalLM");
}

TEST(Config, ReadsWhatMayBeThereOrNot) {
  const auto read = [](const char* family, const char* key, const char* value) {
    return outcome(with(family, key, value));
  };
  const std::string gpt = "gpt:layers=1,width=8,heads=2", llama = "llama:layers=1,width=8,heads=2",
                    rest = ",inner=6,tied=0,vocabulary=300,positions=16",
                    usual = ",kv_heads=1" + rest, epsilon = ",epsilon=1e-06";
  EXPECT_EQ(read("gpt2", "n_inner", "9"), gpt + ",inner=9,vocabulary=300,positions=16");
  EXPECT_EQ(read("gpt2", "tie_word_embeddings", "false"),
            gpt + ",tied=0,vocabulary=300,positions=16");
  EXPECT_EQ(read("llama", "num_key_value_heads", ""), llama + rest + epsilon);
  EXPECT_EQ(read("llama", "num_key_value_heads", "null"), llama + rest + epsilon);
  EXPECT_EQ(read("llama", "head_dim", "null"), llama + usual + epsilon);
  EXPECT_EQ(read("llama", "attention_bias", "true"),
            llama + usual + ",qkv_bias=1,o_bias=1" + epsilon);
  EXPECT_EQ(read("llama", "mlp_bias", "true"), llama + usual + ",mlp_bias=1" + epsilon);
  EXPECT_EQ(read("llama", "rope_scaling", "{\"type\": \"linear\", \"factor\": 2.5}"),
            llama + usual + epsilon + ",rope_factor=2.5");
  EXPECT_EQ(read("llama", "rope_scaling", "{\"rope_type\": \"default\"}"), llama + usual + epsilon);
  EXPECT_EQ(read("llama", "rope_parameters", "{\"rope_theta\": 5e5, \"rope_type\": \"default\"}"),
            llama + usual + epsilon + ",theta=500000");
  EXPECT_EQ(read("qwen2", "sliding_window", "12"), llama + usual + ",qkv_bias=1" + epsilon);
  EXPECT_EQ(read("mistral", "sliding_window", "12"), llama + usual + ",window=12" + epsilon);
}

TEST(Config, AFileIsToldFromAModelByItsName) {
  EXPECT_TRUE(is_config("models/config.json"));
  EXPECT_FALSE(is_config("gpt-nano"));
  EXPECT_FALSE(is_config("gpt:layers=2,width=8,heads=2"));
}

}  // namespace
}  // namespace shardmark
