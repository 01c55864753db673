// Does the outline of a transformer multiply and keep what its layers would? By hand arithmetic.
#include "impl/models/outline.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "impl/models/model_config.hpp"
#include "impl/models/model_config_samples.hpp"

namespace shardmark {
namespace {

constexpr std::size_t sequence = 64, batch = 3, rows = sequence * batch;

Architecture named(const std::string& name) {
  for (const configs::Sample& s : configs::published_models)
    if (name == s.name) return read_model_config(s.config, "c.json", sequence, batch).architecture;
  throw Error(name + " is no sample");
}

double operations(const std::vector<Product>& products) {
  double total = 0;
  for (const Product& p : products)
    total += 2 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k) *
             p.times;
  return total;
}

struct Operations {
  double forward = 0, backward = 0;
};
Operations operations(const Architecture& a) {
  Operations all;
  for (const Unit& u : a.units)
    all.forward += operations(u.forward), all.backward += operations(u.backward);
  return all;
}

// weights: of all matrices that a token meets. pairs: of features over which one pair of tokens is
// compared and summed, over all heads and layers.
void expect(const char* name, double weights, double pairs, double share = 0.5) {
  const Operations o = operations(named(name));
  const double attention = 2.0 * sequence * sequence * batch * pairs * share;
  EXPECT_EQ(o.forward, 2 * rows * weights + attention) << name;
  EXPECT_EQ(o.backward, 2 * o.forward) << name;
}

TEST(Outline, ADenseModelMultipliesEachWeightOnceATokenAndHalfOfAllPairs) {
  const double d = 768;
  expect("opt-125m", 12 * 12 * d * d + 50'272 * d, 12 * 2 * d);
  const double f = 4544;  // one head of keys and values of 64 features
  expect("falcon-7b", 32 * (f * (f + 128) + f * f + 8 * f * f) + 65'024 * f, 32 * 2 * f);
}

TEST(Outline, ATokenMultipliesTheExpertsItIsRoutedTo) {
  const double d = 4096;
  expect("mixtral-8x7b",
         32 * (d * (4096 + 2 * 1024) + d * d + d * 8 + 2 * 3 * d * 14'336) + 32'000 * d,
         32 * 2 * 4096.0);
}

// Queries of 16 x (128 + 64); keys and values through 512, and 64 for positions; 16 x 128 back.
TEST(Outline, LowRanksAreMultipliedOneAfterTheOther) {
  const double d = 2048;
  const double attention = d * 16 * 192 + d * (512 + 64) + 512 * 16 * 256.0 + 16 * 128 * d,
               experts = d * 64 + (6 + 2) * 3 * d * 1408;
  expect("deepseek-v2-lite", 27 * attention + 3 * d * 10'944 + 26 * experts + 102'400 * d,
         27 * 16 * (192 + 128.0));
}

// All pairs of tokens, and the pooler for one token of each text.
TEST(Outline, AnEncoderSeesBothSides) {
  const double d = 768;
  const Operations o = operations(named("bert-base-uncased"));
  EXPECT_EQ(o.forward, 2 * rows * 12 * 12 * d * d + 2 * batch * d * d +
                           2.0 * sequence * sequence * batch * 12 * 2 * d);
  EXPECT_EQ(o.backward, 2 * o.forward);
}

// Each token looks at w tokens, and the first w at half as many: w T - w^2 / 2 of T^2 pairs.
TEST(Outline, AWindowLeavesPairsOut) {
  TransformerOutline o;
  o.layers = 2, o.width = 8, o.heads = o.kv_heads = 2, o.head_dim = 4, o.inner = 8;
  o.vocabulary = 10, o.sequence = 64, o.batch = 1;
  o.windows = {16, 0};
  const Architecture a = outline_architecture(o).value();
  const auto attention = [&](std::size_t unit) {
    double total = 0;
    for (const Product& p : a.units[unit].forward)
      if (p.attention) total += operations({p});
    return total;
  };
  EXPECT_EQ(attention(1), 2 * 2 * 8 * (16 * 64 - 16 * 16 / 2.0));
  EXPECT_EQ(attention(2), 2 * 2 * 8 * (64 * 64 / 2.0));
}

TransformerOutline small() {
  TransformerOutline o;
  o.family = "small", o.layers = 1, o.width = 8, o.heads = 2, o.kv_heads = 1, o.head_dim = 3;
  o.inner = 5, o.vocabulary = 10, o.sequence = 4, o.batch = 2;
  return o;
}

// For 8 tokens, in features: both norms and the sum between 3 x 8, queries, keys and values 4 x 3,
// what attention returns 2 x 3, gate and up 10 and their product 5.
TEST(Outline, KeepsWhatBackwardReads) {
  TransformerOutline o = small();
  const auto block = [&] { return outline_architecture(o).value().units[1]; };
  EXPECT_EQ(block().activation, 8u * (24 + 12 + 6 + 15));
  EXPECT_EQ(block().statistics, 8u * 2 + 2 * 2 * 4);
  o.norms = NormPlaces::shared, o.rms = false, o.gated = false;
  EXPECT_EQ(block().activation, 8u * (8 + 12 + 6 + 10));
  EXPECT_EQ(block().statistics, 8u * 2 + 2 * 2 * 4);
  o.norms = NormPlaces::around, o.query_key_norm = true;  // 3 heads of 3 features once more
  EXPECT_EQ(block().activation, 8u * (40 + 12 + 9 + 6 + 10));
  EXPECT_EQ(block().statistics, 8u * 2 * (4 + 3) + 2 * 2 * 4);
}

// Of 4 experts of 6 features each token goes to 2: copies of 8, gate and up 12, their product 6,
// and what comes back, 8; one that all share has 3 x 7.
TEST(Outline, KeepsARowForEachExpertOfAToken) {
  TransformerOutline o = small();
  o.experts.count = 4, o.experts.top_k = 2, o.experts.inner = 6, o.experts.shared_inner = 7;
  const Architecture a = outline_architecture(o).value();
  const Unit& u = a.units[1];
  EXPECT_EQ(u.activation, 8u * (24 + 12 + 6 + 2 * (8 + 12 + 6 + 8) + 21));
  EXPECT_EQ(u.statistics, 8u * 2 + 2 * 2 * 4 + 8 * (4 + 2));
  std::string names;
  for (const int p : u.uses) {
    const Parameter& parameter = a.parameters[static_cast<std::size_t>(p)];
    names += fmt::format("{} {}, ", parameter.name, parameter.size);
  }
  EXPECT_EQ(names,
            "h0.norm1.gain 8, h0.qkv.weight 96, h0.o.weight 48, h0.norm2.gain 8, "
            "h0.router.weight 32, h0.experts.gate_up.weight 384, h0.experts.down.weight 192, "
            "h0.shared.gate_up.weight 112, h0.shared.down.weight 56, ");
}

// A Llama is here twice: written down, and as an outline of itself.
TEST(Outline, OfALlamaIsTheLlama) {
  const std::string text = R"("hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
      "num_key_value_heads": 2, "intermediate_size": 96, "vocab_size": 300, "head_dim": 16,
      "max_position_embeddings": 128})";
  const Architecture real =
      read_model_config("{\"model_type\": \"llama\", " + text, "c.json", sequence, batch)
          .architecture;
  TransformerOutline o;
  o.layers = 2, o.width = 64, o.heads = 4, o.kv_heads = 2, o.head_dim = o.rotary = 16;
  o.inner = 96, o.vocabulary = 300, o.sequence = sequence, o.batch = batch;
  const Architecture a = outline_architecture(o).value();
  EXPECT_EQ(a.workspace, real.workspace);
  EXPECT_EQ(a.tables, real.tables);
  ASSERT_EQ(a.units.size(), real.units.size());
  for (std::size_t i = 0; i < a.units.size(); ++i) {
    EXPECT_EQ(a.units[i].name, real.units[i].name);
    EXPECT_EQ(a.units[i].activation, real.units[i].activation);
    EXPECT_EQ(a.units[i].statistics, real.units[i].statistics);
    EXPECT_EQ(a.units[i].handed_on, real.units[i].handed_on);
    EXPECT_EQ(a.units[i].backward_reads, real.units[i].backward_reads);
    EXPECT_EQ(operations(a.units[i].forward), operations(real.units[i].forward));
    EXPECT_EQ(operations(a.units[i].backward), operations(real.units[i].backward));
  }
  ASSERT_EQ(a.parameters.size(), real.parameters.size());
  for (std::size_t p = 0; p < a.parameters.size(); ++p) {
    EXPECT_EQ(a.parameters[p].name, real.parameters[p].name);
    EXPECT_EQ(a.parameters[p].size, real.parameters[p].size);
  }
}

TEST(Outline, StopsWhereNoMachineWouldHoldIt) {
  TransformerOutline o = small();
  o.layers = 10'000, o.width = 1'000'000, o.inner = 1'000'000;
  o.experts.count = 1'000'000, o.experts.top_k = 1, o.experts.inner = 1'000'000;
  EXPECT_FALSE(outline_architecture(o).has_value());
}

}  // namespace
}  // namespace shardmark
