// Is a config.json refused, by file and key, that contradicts itself, is beyond all limits, or is
// no config at all?
#include <gtest/gtest.h>

#include <chrono>

#include "impl/models/config_test_support.hpp"

namespace shardmark {
namespace {

using namespace configs;

const Wrong contradictory[] = {
    {"llama", "architectures", "[\"GPT2LMHeadModel\"]",
     "\"model_type\" is \"llama\", but \"architectures\" names GPT2LMHeadModel, which is of gpt2"},
    {"llama", "architectures", "[\"LlamaForSequenceClassification\"]",
     "\"architectures\" names LlamaForSequenceClassification, but with \"model_type\" llama only a "
     "language model (...ForCausalLM, ...LMHeadModel) is trained here"},
    {"llama", "num_local_experts", "8",
     "\"num_local_experts\" is 8, but experts are not trained here: it must not be there"},
    {"llama", "rope_theta", "10000.0, \"rope_parameters\": {\"rope_theta\": 500000.0}",
     "\"rope_theta\" is 10000.0, but \"rope_parameters.rope_theta\" is 500000"},
    {"llama", "rope_scaling",
     "{\"rope_type\": \"linear\", \"factor\": 2.0}, \"rope_parameters\": {\"rope_type\": "
     "\"default\"}",
     "\"rope_scaling\" is an object, but says something else than \"rope_parameters\": leave one "
     "of "
     "them"},
    {"llama", "vocab_size", "300, \"vocab_size\": 400",
     "\"vocab_size\" is there twice, but may stand once: again in line 1, column 193"},
    {"llama", "rope_scaling", "{\"factor\": 2, \"factor\": 3}",
     "\"factor\" is there twice, but may stand once: again in line 1, column 204"},
};

TEST(Config, RefusesWhatContradictsItself) {
  for (const Wrong& w : contradictory)
    EXPECT_EQ(outcome(with(w.family, w.key, w.value)), std::string("c.json: ") + w.sentence);
  const std::string plain = outcome(with("llama", "vocab_size", "300"));
  for (const auto& [key, value] :
       {std::pair("architectures", "[\"LlamaForCausalLM\"]"),
        std::pair("architectures", "[\"OurOwnForCausalLM\"]"), std::pair("architectures", "[]"),
        std::pair("rope_theta", "1e4, \"rope_parameters\": {\"rope_theta\": 1e4}"),
        std::pair("rope_scaling", "{\"rope_type\": \"default\"}, \"rope_parameters\": {}"),
        std::pair("attention_dropout", "0.1")})
    EXPECT_EQ(outcome(with("llama", key, value)), plain) << key;
}

// What would be refused as a form is refused as a file, by its keys.
TEST(Config, HasTheLimitsOfForms) {
  const auto read = [](const char* family, const char* key, const char* value) {
    return outcome(with(family, key, value));
  };
  EXPECT_EQ(read("llama", "num_hidden_layers", "10001"),
            "c.json: \"num_hidden_layers\" is 10001, but must be a whole number from 1 to 10000");
  EXPECT_EQ(read("gpt2", "vocab_size", "1000001"),
            "c.json: \"vocab_size\" is 1000001, but must be a whole number from 1 to 1000000");
  EXPECT_EQ(read("gpt2", "layer_norm_epsilon", "1e-50"),
            "c.json: \"layer_norm_epsilon\" is 1e-50, but must be from 1e-30 to 1");
  EXPECT_EQ(read("llama", "rms_norm_eps", "2"),
            "c.json: \"rms_norm_eps\" is 2, but must be from 1e-30 to 1");
  EXPECT_EQ(read("llama", "rope_theta", "1e300"),
            "c.json: \"rope_theta\" is 1e+300, but must be from 1e-30 to 1e+30");
  // 10,000 layers of 12 x 40,000^2 weights, 1.92e14, and little beside them.
  EXPECT_EQ(outcome(R"({"model_type": "gpt2", "n_layer": 10000, "n_embd": 40000, "n_head": 2,
                        "n_positions": 16, "vocab_size": 300})"),
            "c.json: the model has 1.9e+14 parameters, but may have at most 1e+12; \"n_layer\" and "
            "\"n_embd\" make it smaller");
}

// Labels of classes, or a quantizer's words for each weight: read in a moment, however many.
TEST(Config, ManyObjectsTakeTimeByTheirNumber) {
  std::string many = "{\"\": {}";
  for (int i = 0; i < 100'000; ++i) many += ", \"k" + std::to_string(i) + "\": {}";
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(outcome(with("gpt2", "quantizer", many + "}")),
            "gpt:layers=1,width=8,heads=2,vocabulary=300,positions=16");
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_LT(took.count(), 5.0);  // half a second; by their square 50
}

TEST(Config, SurvivesWhatNoConfigHolds) {
  EXPECT_NE(outcome(with("gpt2", "n_layer", "1e999")).find("c.json cannot be read: "),
            std::string::npos);
  const std::size_t levels = 200'000;
  const std::string deep = std::string(levels, '[') + std::string(levels, ']');
  const std::string sentence = "c.json is nested deeper than 100 levels, but a config.json is flat";
  EXPECT_EQ(outcome(with("gpt2", "n_layer", deep)), sentence);
  EXPECT_EQ(outcome(deep), sentence);
  EXPECT_EQ(outcome(std::string(levels, '[')), sentence);
  EXPECT_EQ(outcome(with("gpt2", "n_layer", "[[1]]")),
            "c.json: \"n_layer\" is a list, but must be a whole number from 1 to 10000");
}

}  // namespace
}  // namespace shardmark
