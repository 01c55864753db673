// Do free forms stand for the models that they name? Parameter counts as the literature has them,
// and sentences for figures that do not fit each other.
#include "impl/models/forms.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "impl/models/registry.hpp"

namespace shardmark {
namespace {

TEST(Forms, CountsParametersAsTheLiteratureDoes) {
  // GPT-2 small without its vocabulary: 12 layers of 12 d^2 + 13 d, the last norm 2 d, positions T
  // d (d = 768, T = 1024); with 256 bytes instead of 50,257 tokens the embedding is 256 d.
  const std::size_t d = 768;
  EXPECT_EQ(make_architecture("gpt:layers=12,width=768,heads=12", 1024).parameter_count(),
            124'439'808 - (50'257 - 256) * d);
  EXPECT_EQ(make_architecture("mlp-3x1024", 1).parameter_count(),
            2 * (1024 * 1024 + 1024) + 1024 * 256 + 256u);
}

TEST(Forms, PresetsHaveTheParametersThatTheLiteratureGivesThem) {
  const auto count = [](const char* name) {
    return make_architecture(name, 1024).parameter_count();
  };
  EXPECT_EQ(count("gpt2"), 124'439'808u);
  EXPECT_EQ(count("smollm-135m"), 134'515'008u);
}

// Embedding V d, twice where untied; a layer: d (H + 2 K) E + H E d + 3 d F + 2 d; the last norm d.
TEST(Forms, CountsLlamasParameters) {
  const auto count = [](const char* name) { return make_architecture(name, 8).parameter_count(); };
  // d 128, H 4, K 2, E 32, F 8/3 d = 341.3, up to 344.
  EXPECT_EQ(count("llama-nano"),
            256u * 128 + 3 * (128 * 256 + 128 * 128 + 3 * 128 * 344 + 256) + 128);
  EXPECT_EQ(count("llama-micro"),
            256u * 384 + 6 * (384 * 640 + 384 * 384 + 3 * 384 * 1024 + 768) + 384);
  EXPECT_EQ(count("llama:layers=1,width=6,heads=2,kv_heads=1,head_dim=4,inner=5,tied=0,"
                  "vocabulary=300,qkv_bias=1,o_bias=1,mlp_bias=1"),
            2u * 300 * 6 + 6 * 16 + 16 + 8 * 6 + 6 + 3 * 6 * 5 + 3 * 5 - 5 + 6 + 12 + 6);
}

TEST(Forms, BiasesStandBehindTheirWeights) {
  std::string names;
  for (const Parameter& p :
       make_architecture("llama:layers=1,width=4,heads=1,tied=0,qkv_bias=1", 8).parameters)
    names += p.name + " ";
  EXPECT_EQ(names,
            "embed.weight h0.norm1.gain h0.qkv.weight h0.qkv.bias h0.o.weight h0.norm2.gain "
            "h0.gate_up.weight h0.down.weight norm.gain head.weight ");
}

// Memory that is not said here would be missing in the ledger.
TEST(Forms, UnitsSayWhichOpsNeedScratch) {
  const auto ops = [](const char* form) {
    std::string all;
    for (const Unit& u : make_architecture(form, 8).units) {
      for (const auto& shape : u.scratch_for) all += fmt::format("{} ", name(shape(DType::bf16)));
      all += "| ";
    }
    return all;
  };
  EXPECT_EQ(ops("gpt:layers=1,width=4,heads=2"),
            "embed_backward | layer_norm_backward attention_backward | layer_norm_backward | ");
  EXPECT_EQ(ops("llama:layers=1,width=4,heads=2"),
            "embed_backward | rms_norm_backward attention_backward | rms_norm_backward | ");
}

// The name of an architecture is the form with what is not usual, in one order; a figure that is
// what it would be anyway is left away.
TEST(Forms, AnArchitecturesNameIsReadBackAsTheSame) {
  const std::pair<const char*, const char*> all[] = {
      {"gpt:heads=2,layers=1,width=4,tied=1,inner=16", "gpt:layers=1,width=4,heads=2"},
      {"gpt:layers=1,width=4,heads=2,tied=0,inner=7,vocabulary=9,positions=20,epsilon=1e-6",
       "gpt:layers=1,width=4,heads=2,tied=0,inner=7,vocabulary=9,positions=20,epsilon=1e-06"},
      {"gpt:layers=1,width=4,heads=2,positions=8", "gpt:layers=1,width=4,heads=2"},
      {"llama:layers=1,width=4,heads=2,kv_heads=2,head_dim=2,inner=16,theta=10000",
       "llama:layers=1,width=4,heads=2"},
      {"llama:layers=1,width=4,heads=3,kv_heads=1,head_dim=2,inner=5,tied=0,vocabulary=9,positions="
       "8,"
       "window=9,qkv_bias=1,o_bias=1,mlp_bias=1,epsilon=0.125,theta=500000,rope_factor=32,"
       "rope_low=1.5,rope_high=4.5,rope_original=8192",
       nullptr},
      {"mlp:width=4,layers=3", "mlp:layers=3,width=4"}};
  for (const auto& [given, name] : all) {
    const Architecture a = make_architecture(given, 8);
    EXPECT_EQ(a.name, name ? name : given);
    const Architecture again = make_architecture(a.name, 8);
    EXPECT_EQ(again.name, a.name);
    EXPECT_EQ(again.workspace, a.workspace);
    ASSERT_EQ(again.parameters.size(), a.parameters.size());
    for (std::size_t p = 0; p < a.parameters.size(); ++p) {
      EXPECT_EQ(again.parameters[p].name, a.parameters[p].name);
      EXPECT_EQ(again.parameters[p].size, a.parameters[p].size);
    }
  }
}

TEST(Forms, ReadsFiguresThatAreNotWhole) {
  const LlamaShape s = llama_shape("m",
                                   "layers=1,width=4,heads=2,epsilon=1e-6,theta=5e5,rope_factor=8,"
                                   "rope_low=1.25,rope_high=3,rope_original=2000",
                                   8, 1);
  EXPECT_EQ(s.epsilon, 1e-6f);
  EXPECT_EQ(s.theta, 500'000);
  EXPECT_EQ(s.scaling.factor, 8);
  EXPECT_EQ(s.scaling.low, 1.25);
  EXPECT_EQ(s.scaling.high, 3);
  EXPECT_EQ(s.scaling.original, 2000u);
}

TEST(Forms, RefusesShapesThatDoNotFit) {
  const auto sentence = [](const std::string& model) {
    try {
      make_architecture(model, 8);
    } catch (const InputError& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(sentence("gpt:layers=2,width=10,heads=3"),
            "model 'gpt:layers=2,width=10,heads=3': width 10 is not divisible by heads 3");
  EXPECT_EQ(sentence("gpt:layers=2,width=10"), "model 'gpt:layers=2,width=10': heads is missing");
  EXPECT_EQ(sentence("gpt:layers=2,width=10,heads=0"),
            "model 'gpt:layers=2,width=10,heads=0': heads must be 1 or more");
  EXPECT_EQ(sentence("gpt:layers=x,width=10,heads=1"),
            "model 'gpt:layers=x,width=10,heads=1': layers is 'x', but must be a whole number");
  EXPECT_EQ(
      sentence("gpt:layers=2,width=10,heads=11"),
      "model 'gpt:layers=2,width=10,heads=11': heads is 11, but may be at most the width, 10");
  EXPECT_EQ(sentence("mlp:layers=2,layers=4,width=8"),
            "model 'mlp:layers=2,layers=4,width=8': layers is given twice; give it once");
  EXPECT_EQ(
      sentence("mlp:deep=1"),
      "model 'mlp:deep=1': 'deep=1' is not a field of this family, which takes layers, width");
  EXPECT_NE(sentence("lstm").find("model 'lstm' is unknown: it may be mlp-3x1024, gpt-nano"),
            std::string::npos);
}

TEST(Forms, NamesTheFigureThatDoesNotFit) {
  const auto sentence = [](const std::string& figures) {
    const std::string form = "llama:layers=1,width=12,heads=4" + figures;
    try {
      make_architecture(form, 8);
    } catch (const InputError& e) {
      return std::string(e.what()).substr(form.size() + 10);
    }
    return std::string("accepted");
  };
  EXPECT_EQ(sentence(",kv_heads=3,head_dim=2"), "kv_heads is 3, but must divide heads, 4");
  EXPECT_EQ(sentence(",kv_heads=8,head_dim=2"), "kv_heads is 8, but must divide heads, 4");
  EXPECT_EQ(sentence(",kv_heads=0"), "kv_heads must be 1 or more");
  EXPECT_EQ(sentence(""), "head_dim is 3, but must be even: rotary positions turn pairs");
  EXPECT_EQ(sentence(",head_dim=2,positions=7"),
            "positions is 7, but the sequence is 8: give a --sequence of at most 7");
  EXPECT_EQ(sentence(",head_dim=2,window=4"),
            "window is 4, but the sequence is 8: give a --sequence of at most 4");
  EXPECT_EQ(sentence(",head_dim=2,theta=fast"), "theta is 'fast', but must be a number above 0");
  EXPECT_EQ(sentence(",head_dim=2,theta=inf"), "theta is 'inf', but must be a number above 0");
  EXPECT_EQ(sentence(",head_dim=2,epsilon=-1"), "epsilon is '-1', but must be a number above 0");
  EXPECT_EQ(sentence(",head_dim=2,epsilon=1"), "accepted");
  EXPECT_EQ(sentence(",head_dim=2,epsilon=1.5"), "epsilon is 1.5, but must be from 1e-30 to 1");
  EXPECT_EQ(sentence(",head_dim=2,epsilon=1e-31"), "epsilon is 1e-31, but must be from 1e-30 to 1");
  EXPECT_EQ(sentence(",head_dim=2,theta=1e40"), "theta is 1e40, but must be from 1e-30 to 1e+30");
  EXPECT_EQ(sentence(",head_dim=2,tied=2"), "tied is 2, but must be 0 or 1");
  EXPECT_EQ(sentence(",head_dim=2,rope_original=9,rope_low=4"),
            "rope_high is 4, but must be above rope_low, 4");
  EXPECT_EQ(sentence(",head_dim=2,rope_low=2"),
            "rope_low and rope_high say nothing without rope_original: give it too");
  EXPECT_EQ(sentence(",head_dim=2,positions=2000000000"),
            "positions is 2000000000, but must be at most 1000000000");
  EXPECT_EQ(sentence(",head_dim=1000000,inner=1000000,kv_heads=4"), "accepted");
  EXPECT_EQ(sentence(",head_dim=2,positions=8,window=8"), "accepted");
}

// Each of these would otherwise fill the memory with names and numbers before anything runs.
TEST(Forms, RefusesShapesThatNoMachineHolds) {
  const auto sentence = [](const std::string& form) {
    try {
      make_architecture(form, 8);
    } catch (const InputError& e) {
      return std::string(e.what()).substr(form.size() + 10);
    }
    return std::string("accepted");
  };
  EXPECT_EQ(sentence("gpt:layers=999999999,width=999999999,heads=1"),
            "layers is 999999999, but must be at most 10000");
  EXPECT_EQ(sentence("mlp:layers=1000000000,width=2"),
            "layers is 1000000000, but must be at most 10000");
  EXPECT_EQ(sentence("mlp:layers=2,width=1000001"),
            "width is 1000001, but must be at most 1000000");
  EXPECT_EQ(sentence("mlp:layers=99999999999999999999,width=2"),
            "layers is 99999999999999999999, but must be at most 10000");
  EXPECT_EQ(sentence("mlp:layers=10000,width=1000000"),
            "it has 1e+16 parameters, but may have at most 1e+12");
  EXPECT_EQ(sentence("gpt:layers=10000,width=10000,heads=1"),
            "it has 1.2e+13 parameters, but may have at most 1e+12");
  EXPECT_EQ(make_architecture("mlp:layers=10000,width=2", 8).units.size(), 10'000u);
}

}  // namespace
}  // namespace shardmark
