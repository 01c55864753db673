// Is what is predicted what a run then measures, and does the command take what nothing here can
// run?
#include "bench/prediction.hpp"

#include <gtest/gtest.h>

#include "bench/predict_text.hpp"
#include "bench/registry.hpp"
#include "bench/suite.hpp"
#include "bench/test_support.hpp"
#include "bench/text.hpp"
#include "impl/dry_run.hpp"

namespace shardmark {
namespace {

using nlohmann::json;
using testing::refused;

constexpr const char* tiny = "gpt:layers=2,width=8,heads=2";

Training trained(const Prediction& p) {
  Training t = training_of(p.cell, std::vector<std::uint8_t>(1000, 65));
  t.steps = 2;
  return t;
}

// The most that rank 0 holds and all that it sends: of every strategy, and of the options that
// change either.
TEST(Prediction, EqualsTheRunByteForByte) {
  const Given lines[] = {
      {{"--ranks", {"1,3"}}, {"--overlap", {"off,on"}}},
      {{"--ranks", {"2"}}, {"--precision", {"bf16,fp16"}}, {"--accumulate", {"2"}}},
      {{"--ranks", {"2"}}, {"--recompute", {"unit"}}, {"--bucket-mb", {"0.001"}}},
      {{"--ranks", {"2"}}, {"--prefetch", {"0,2"}}, {"--persist-below", {"20"}}},
      {{"--ranks", {"2"}}, {"--collectives", {"ring"}}, {"--reduce-dtype", {"bf16"}}}};
  std::size_t seen = 0;
  for (Given given : lines) {
    given["--model"] = {tiny};
    given["--sequence"] = {"8"};
    given["--batch"] = {"1"};
    given["--steps"] = {"2"};
    for (const Prediction& p : predict(predicted_cells_of(given))) {
      const TrainingReport run = train(trained(p));
      EXPECT_TRUE(p.peak_exact);
      EXPECT_EQ(p.peak_bytes, static_cast<double>(run.ranks[0].peak_bytes)) << id_of(p.cell);
      double volume = 0;
      for (const auto& [what, t] : run.ranks[0].traffic_by_step.back())
        volume += static_cast<double>(t.volume);
      EXPECT_EQ(p.volume_bytes(), volume) << id_of(p.cell);
      for (const auto& [what, bytes] : run.ranks[0].held) {
        const auto claimed = p.claims.exact.find(what);
        EXPECT_EQ(claimed == p.claims.exact.end() ? 0.0 : claimed->second,
                  static_cast<double>(bytes))
            << id_of(p.cell);
      }
      ++seen;
    }
  }
  EXPECT_GE(seen, 6u * 7);
}

// 405,853,388,800 parameters on N ranks in bf16 with f32 masters: 16 bytes each, all cut by zero3.
TEST(Prediction, TakesModelsAndRanksThatAreNotHere) {
  const testing::Folder f;
  testing::write(f / "big.json",
                 R"({"model_type": "llama", "hidden_size": 16384, "intermediate_size": 53248,
                     "num_hidden_layers": 126, "num_attention_heads": 128,
                     "num_key_value_heads": 8, "vocab_size": 128256,
                     "max_position_embeddings": 131072, "tie_word_embeddings": false})");
  const std::vector<Prediction> all =
      predict(predicted_cells_of({{"--model", {(f / "big.json").string()}},
                                  {"--strategy", {"ddp,zero3"}},
                                  {"--precision", {"bf16"}},
                                  {"--ranks", {"1024,100000"}}}));
  ASSERT_EQ(all.size(), 4u);
  constexpr double parameters = 405'853'388'800;
  EXPECT_EQ(all[0].claims.parameters, 405'853'388'800u);
  EXPECT_EQ(all[0].model_state_bytes(), 16 * parameters);
  EXPECT_EQ(all[2].cell.strategy, "zero3");
  EXPECT_EQ(all[2].model_state_bytes(), 16 * parameters / 1024);  // 1024 divides every layer
  EXPECT_GE(all[3].model_state_bytes(), 16 * parameters / 100'000);
  EXPECT_LT(all[3].model_state_bytes(), 1.001 * 16 * parameters / 100'000);
}

constexpr const char* neox =
    R"({"model_type": "gpt_neox", "hidden_size": 64, "intermediate_size": 256,
        "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100,
        "max_position_embeddings": 128, "tie_word_embeddings": false})";

Prediction neox_in(const std::string& bucket_mb) {
  const testing::Folder f;
  testing::write(f / "neox.json", neox);
  return predict(predicted_cells_of({{"--model", {(f / "neox.json").string()}},
                                     {"--strategy", {"zero2"}},
                                     {"--bucket-mb", {bucket_mb}},
                                     {"--sequence", {"64"}}}))
      .at(0);
}

TEST(Prediction, KnowsThePeakOfWhatCannotBeTrainedHere) {
  const Prediction p = neox_in("0.1");
  EXPECT_EQ(p.model->family, "gpt_neox");
  EXPECT_TRUE(p.peak_exact);
  double least = 0, most = 0;
  for (int tag = 0; tag < tags; ++tag) {
    const double bytes = p.held_bytes(static_cast<Tag>(tag));
    most += bytes;
    if (!is_passing(static_cast<Tag>(tag))) least += bytes;
  }
  EXPECT_GT(p.peak_bytes, least);
  EXPECT_LE(p.peak_bytes, most);
  EXPECT_EQ(to_json(p)["model"]["parameters"], p.claims.parameters);
}

TEST(Prediction, HasABoundWhereBucketsAreMany) {
  const Prediction p = neox_in("0.0001");
  EXPECT_FALSE(p.peak_exact);
  double sum = 0;
  for (int tag = 0; tag < tags; ++tag) sum += p.held_bytes(static_cast<Tag>(tag));
  EXPECT_EQ(p.peak_bytes, sum);
  EXPECT_GE(p.peak_bytes, neox_in("0.0002").peak_bytes);
  EXPECT_NE(predict_text({p}).find("≤"), std::string::npos);
}

// What the ops of a model, or of its outline, multiply: by the rate at which they do.
std::map<bool, double> operations(const Training& t, const Architecture* outline) {
  std::map<bool, double> of_attention;
  DryAsked asked{.steps = 1, .check_order = false, .outline = outline};
  asked.clock.ns = [&](const Op& op) {
    const bool attention = name(op).substr(0, 9) == "attention";
    of_attention[attention] += flops(op);
    return 1;
  };
  dry_run(t, asked);
  return of_attention;
}

TEST(Prediction, AnOutlineMultipliesAsItsModelDoes) {
  const Prediction p = predict(predicted_cells_of({{"--model", {tiny}},
                                                   {"--strategy", {"zero3"}},
                                                   {"--sequence", {"64"}},
                                                   {"--batch", {"2"}}}))
                           .at(0);
  const Training t = training_of(p.cell, {});
  const std::map<bool, double> model = operations(t, nullptr);
  EXPECT_EQ(operations(t, &p.model->architecture), model);
  // Two layers, six products of 2 x 64 x 64 x 8 a sequence, half of them masked, two sequences.
  EXPECT_EQ(model.at(true), 2 * 6 * 64 * 64 * 8 * 2);
}

TEST(Prediction, WhatIsWrongIsOneSentence) {
  const auto why = [](const Given& given) {
    return refused([&] { predict(predicted_cells_of(given)); });
  };
  EXPECT_EQ(why({{"--ranks", {"100001"}}}),
            "--ranks is \"100001\", but must be a whole number from 1 to 100000.");
  EXPECT_EQ(why({{"--strategy", {"zero33"}}}).find("--strategy \"zero33\" is unknown; known are"),
            0u);
  EXPECT_EQ(why({{"--model", {"none.json"}}}).find("--model"), 0u);
  EXPECT_NE(why({{"--model", {"gpt:layers=100,width=28800,heads=96"}},
                 {"--bucket-mb", {"0.000004"}},
                 {"--ranks", {"1"}}})
                .find("but there may be at most 1000000000"),
            std::string::npos);
  const testing::Folder f;
  const auto ran = testing::shardmark(f, "predict --format yaml");
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err, "shardmark: --format is \"yaml\", but must be text or json.\n");
  EXPECT_EQ(testing::shardmark(f, "predict --lr 1").code, 2);
}

TEST(Prediction, TheCommandShowsARowAStrategyAndN) {
  const testing::Folder f;
  const auto text = testing::shardmark(f, "predict --ranks 2,64 --strategy ddp,zero3");
  EXPECT_EQ(text.code, 0) << text.err;
  for (const char* row :
       {"\nddp        2 ", "\nddp       64 ", "\nzero3      2 ", "\nzero3     64 "})
    EXPECT_NE(text.out.find(row), std::string::npos) << row << text.out;
  for (const std::string& line : split(text.out, '\n')) EXPECT_LE(line.size(), 100u + 12) << line;
  const auto one = testing::shardmark(f, "predict --ranks 2 --strategy zero1 --format json");
  const json all = json::parse(one.out);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0]["cell"]["strategy"], "zero1");
  EXPECT_EQ(all[0]["peak_is"], "exact");
}

}  // namespace
}  // namespace shardmark
