// Is a DeepSpeed config the cell that it means, and is every key of it accounted for?
#include "bench/import.hpp"

#include "bench/import_test_support.hpp"
#include "bench/registry.hpp"

namespace shardmark {
namespace {

using namespace importing;

Imported read(const std::string& text, const ImportFacts& facts = {}) {
  return import_strategy(text, "ds.json", facts);
}

// Statement C9 of the course: its example file.
constexpr const char* c9 = R"({
  "train_batch_size": 64,
  "fp16": {"enabled": true},
  "zero_optimization": {
    "stage": 2,
    "allgather_bucket_size": 5e8,
    "reduce_bucket_size": 5e8,
    "overlap_comm": true,
    "reduce_scatter": true,
    "contiguous_gradients": true
  }
})";

TEST(Import, TheCoursesExampleAllReducesWhatItCallsAReduceScatter) {
  ImportFacts facts = ranks(8);
  facts.parameters = 7'000'000'000;
  const Imported i = read(c9, facts);
  // 64 / 8 ranks; 5e8 elements of 2 bytes are 1000 MB.
  EXPECT_EQ(
      run_line(i.given),
      "shardmark run --strategy zero2 --ranks 8 --batch 8 --accumulate 1 --clip 0 --bucket-mb "
      "1000 --overlap on --precision fp16 --reduce-dtype fp16 --loss-scale 65536 "
      "--loss-scale-window 1000");
  // 3P(N-1)/N elements of 2 bytes: 3 x 2 x 7e9 x 7/8 = 36.75e9; with a reduce-scatter 24.5e9.
  EXPECT_TRUE(
      noted(i, "DeepSpeed all-reduces each bucket in stage 2 though reduce_scatter is true"));
  EXPECT_TRUE(noted(i, "3P(N-1)/N (36.8 GB) elements a step"));
  EXPECT_TRUE(noted(i, "zero2 here sends 2P(N-1)/N (24.5 GB)"));
  // 5e8 x 2 / 2^20 = 953.67; twice that 1907.35.
  EXPECT_TRUE(noted(i, "500,000,000 elements is 954 MiB in fp16"));
  EXPECT_TRUE(noted(i, "overlap_comm keeps two of them, 1,907 MiB"));
  EXPECT_TRUE(noted(i, "defaults are those of DeepSpeed 0.18"));
  EXPECT_FALSE(noted(i, "fit into one bucket"));
}

TEST(Import, ParametersTravelInTheirOwnType) {
  ImportFacts facts = ranks(2);
  facts.parameters = 1'000'000'000;
  // Gradients 2 x 4 bytes and parameters 2, half of it on two ranks: 5 GB; zero2 (4 + 2) / 2.
  const Imported i = read(R"({"bf16": {"enabled": true}, "train_batch_size": 2,
    "communication_data_type": "fp32", "zero_optimization": {"stage": 2}})",
                          facts);
  EXPECT_TRUE(noted(i, "3P(N-1)/N (5.00 GB) elements a step"));
  EXPECT_TRUE(noted(i, "zero2 here sends 2P(N-1)/N (3.00 GB)"));
}

TEST(Import, ASmallModelIsOneBucketThatNothingHides) {
  ImportFacts facts;
  facts.parameters = 660'608;
  EXPECT_TRUE(
      noted(read(c9, facts),
            "The model's 660,608 parameters fit into one bucket: its reduction begins behind "
            "the last gradient, and overlap_comm hides none of it."));
  facts.parameters = 500'000'001;
  EXPECT_FALSE(noted(read(c9, facts), "one bucket"));
}

TEST(Import, StagesAreStrategies) {
  const auto strategy = [](const std::string& zero) {
    return flag(read(R"({"train_batch_size": 8, "zero_optimization": )" + zero + "}"),
                "--strategy");
  };
  EXPECT_EQ(strategy(R"({"stage": 0})"), "ddp");
  EXPECT_EQ(strategy(R"({"stage": 1})"), "zero1");
  EXPECT_EQ(strategy(R"({"stage": 2})"), "zero2");
  EXPECT_EQ(strategy(R"({"stage": 3.0})"), "zero3");
  EXPECT_EQ(strategy("true"), "zero1");
  EXPECT_EQ(strategy("\"true\""), "zero1");
  EXPECT_EQ(strategy("false"), "ddp");
  EXPECT_EQ(strategy(R"({"stage": 1, "reduce_scatter": "false"})"), "zero1_naive");
  EXPECT_EQ(flag(read(R"({"train_batch_size": 8})"), "--strategy"), "ddp");
}

TEST(Import, OverlapIsDeepSpeedsDefaultOfItsStage) {
  const auto overlap = [](const std::string& zero) {
    return flag(read(R"({"train_batch_size": 8, "zero_optimization": )" + zero + "}"), "--overlap");
  };
  EXPECT_EQ(overlap(R"({"stage": 2})"), "off");
  EXPECT_EQ(overlap(R"({"stage": 3})"), "on");
  EXPECT_EQ(overlap(R"({"stage": 3, "overlap_comm": "False"})"), "off");
  // Passed over there: the first two stages reduce behind backward.
  EXPECT_EQ(overlap(R"({"stage": 0, "overlap_comm": true})"), "off");
  EXPECT_EQ(overlap(R"({"stage": 1, "overlap_comm": true})"), "off");
  EXPECT_EQ(overlap(R"({"stage": 2, "overlap_comm": true})"), "on");
}

TEST(Import, AccumulationMultipliesWhatStageTwoReduces) {
  const char* text = R"({"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4,
                         "bf16": {"enabled": true}, "zero_optimization": {"stage": 2}})";
  // Each of 4 micro-steps: 2P; and P gathered. zero2: 4P + P.
  EXPECT_TRUE(noted(read(text), ": 9P(N-1)/N elements a step"));
  EXPECT_TRUE(noted(read(text), "zero2 here sends 5P(N-1)/N"));
}

constexpr const char* auto3 = R"({
  "bf16": {"enabled": "auto"}, "fp16": {"enabled": "auto"},
  "zero_optimization": {"stage": 3, "reduce_bucket_size": "auto",
    "stage3_prefetch_bucket_size": "auto", "stage3_param_persistence_threshold": "auto",
    "stage3_max_live_parameters": 1e9, "stage3_max_reuse_distance": 1e9,
    "offload_optimizer": {"device": "cpu", "pin_memory": true}},
  "gradient_clipping": "auto", "train_batch_size": "auto",
  "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto"
})";

TEST(Import, AutoFollowsFromTheHiddenSize) {
  ImportFacts facts;
  facts.hidden_size = 768, facts.parameters = 124'439'808, facts.unit = 7'087'872;
  facts.precision = "bf16";
  const Imported i = read(auto3, facts);
  // h^2 = 589,824; int(0.9 h^2) = 530,841; 10 h = 7680, "at most", so fewer than 7681.
  EXPECT_EQ(
      line(i.unsupported, "zero_optimization.reduce_bucket_size"),
      "auto -> 589,824 elements, h^2 with h = 768, as Accelerate fills it: zero3 here reduces "
      "a layer at a time");
  EXPECT_EQ(
      line(i.mapped, "zero_optimization.stage3_prefetch_bucket_size"),
      "auto -> --prefetch 1: 530,841 elements of layers with 7,087,872, int(0.9 h^2) with h = "
      "768, as Accelerate fills it");
  EXPECT_EQ(flag(i, "--persist-below"), "7681");
  EXPECT_EQ(flag(i, "--precision"), "bf16");
  EXPECT_EQ(line(i.unsupported, "zero_optimization.offload_optimizer.device"),
            "cpu -> 12P/N bytes on the host there, on the device here");
  EXPECT_TRUE(noted(i, "a model of 124,439,808 stays gathered from forward to backward"));
  EXPECT_EQ(line(i.left_open, "gradient_clipping"),
            "auto -> max_grad_norm of the Trainer, 1 unless told; give --clip");
  for (const char* unknown : {"--batch", "--accumulate", "--clip", "--global-batch", "--ranks"})
    EXPECT_EQ(flag(i, unknown), "") << unknown;
}

TEST(Import, AutoWithoutASourceIsLeftOpen) {
  const Imported i = read(auto3);
  for (const char* key :
       {"fp16.enabled", "bf16.enabled", "gradient_clipping", "train_batch_size",
        "train_micro_batch_size_per_gpu", "gradient_accumulation_steps",
        "zero_optimization.reduce_bucket_size", "zero_optimization.stage3_prefetch_bucket_size",
        "zero_optimization.stage3_param_persistence_threshold"})
    EXPECT_TRUE(line(i.left_open, key).starts_with("auto -> ")) << key;
  EXPECT_EQ(run_line(i.given), "shardmark run --strategy zero3 --overlap on");
  for (const char* unknown : {"A bucket of", "elements on every rank"})
    EXPECT_FALSE(noted(i, unknown)) << unknown;
}

TEST(Import, AThresholdOfEveryMatrixIsSaid) {
  ImportFacts facts;
  facts.hidden_size = 128;  // 128^2 = 16,384 <= 100,000
  const char* text = R"({"train_batch_size": 1, "zero_optimization": {"stage": 3}})";
  EXPECT_TRUE(noted(read(text, facts),
                    "at most 100,000 elements on every rank, here even a matrix "
                    "of 128 x 128"));
  facts.hidden_size = 317;  // 100,489
  EXPECT_FALSE(noted(read(text, facts), "here even"));
}

TEST(Import, CommentsAndTrailingCommasAreDeepSpeeds) {
  const Imported i = read(R"(# a comment
{ // another
  "train_micro_batch_size_per_gpu": 4, /* "bf16":
  {"enabled": true}, */
  "gradient_clipping": 0.5, # "x": }
  "zero_optimization": {"stage": 2, "reduce_bucket_size": 2e8, },
  "wandb": {"group": "a # b // c", "tags": ["x,", "],", ], },
})");
  EXPECT_EQ(run_line(i.given),
            "shardmark run --strategy zero2 --batch 4 --accumulate 1 --clip 0.5 --bucket-mb 800 "
            "--overlap off --precision fp32 --reduce-dtype fp32");
}

TEST(Import, TwoOfThreeBatchSizesGiveTheThird) {
  const auto batches = [](const std::string& keys, const ImportFacts& facts = {}) {
    const Imported i = read("{" + keys + R"(, "zero_optimization": {"stage": 1}})", facts);
    return flag(i, "--ranks") + "/" + flag(i, "--batch") + "/" + flag(i, "--accumulate") + "/" +
           flag(i, "--global-batch");
  };
  const std::string whole = R"("train_batch_size": 64)",
                    micro = R"("train_micro_batch_size_per_gpu": 4)",
                    steps = R"("gradient_accumulation_steps": 2)";
  EXPECT_EQ(batches(whole + "," + micro + "," + steps), "8/4/2/");
  EXPECT_EQ(batches(whole + "," + micro + "," + steps, ranks(8)), "8/4/2/");
  EXPECT_EQ(batches(whole + "," + micro, ranks(4)), "4/4/4/");
  EXPECT_EQ(batches(whole + "," + micro), "/4//");
  EXPECT_EQ(batches(whole + "," + steps), "//2/64");
  EXPECT_EQ(batches(whole + "," + steps, ranks(4)), "4/8/2/");
  EXPECT_EQ(batches(whole), "//1/64");
  EXPECT_EQ(batches(micro, ranks(2)), "2/4/1/");
  EXPECT_EQ(batches(micro + "," + steps), "/4/2/");
}

TEST(Import, OldNamesAreReadAndSaid) {
  const Imported i = read(R"({"bfloat16": {"enabled": true}, "train_batch_size": 8,
    "zero_optimization": {"stage": 2, "cpu_offload": true}, "allgather_size": 5e8})");
  EXPECT_EQ(flag(i, "--precision"), "bf16");
  EXPECT_EQ(line(i.unsupported, "zero_optimization.cpu_offload"),
            "true -> 12P/N bytes on the host there, on the device here; today's name is "
            "offload_optimizer");
  EXPECT_TRUE(noted(i, "\"bfloat16\" is the old name of \"bf16\""));
}

TEST(Import, WhatTravelsOtherwiseIsSaid) {
  const auto with = [](const std::string& type) {
    return read(R"({"bf16": {"enabled": true}, "train_batch_size": 8, "zero_optimization":
      {"stage": 2, "reduce_bucket_size": 1000000}, "communication_data_type": ")" +
                type + "\"}");
  };
  EXPECT_EQ(flag(with("fp32"), "--reduce-dtype"), "fp32");
  EXPECT_EQ(flag(with("fp32"), "--bucket-mb"), "4");
  EXPECT_EQ(flag(with("FP16"), "--reduce-dtype"), "bf16");
  EXPECT_EQ(flag(with("FP16"), "--bucket-mb"), "2");
  EXPECT_TRUE(line(with("fp16").unsupported, "communication_data_type")
                  .starts_with("fp16 -> --reduce-dtype fp16 does not fit --precision bf16"));
}

// Whatever the file says, its flags make cells.
TEST(Import, TheFlagsAreThoseOfRun) {
  for (const char* text : {c9, auto3}) {
    ImportFacts facts = ranks(4);
    facts.precision = "fp16", facts.hidden_size = 64, facts.unit = 50'000;
    const std::vector<Cell> cells = cells_of(read(text, facts).given, std::nullopt);
    ASSERT_EQ(cells.size(), 1u);
    EXPECT_EQ(cells[0].ranks, 4);
    EXPECT_EQ(cells[0].precision, "fp16");
  }
}

TEST(Import, EveryKeyStandsInOneList) {
  const Imported i = read(R"({"train_batch_size": 8, "steps_per_print": 10, "surprise": 1,
    "optimizer": {"type": "Lion", "params": {"lr": 1e-4, "betas": [0.9, 0.99]}},
    "zero_optimization": {"stage": 2, "zero_hpz_partition_size": 4, "reduce_bucket_sise": 5,
      "zero_quantized_weights": true, "mics_shard_size": -1}})");
  EXPECT_TRUE(line(i.ignored, "steps_per_print").starts_with("10 -> "));
  EXPECT_EQ(line(i.unsupported, "surprise"), "1 -> not known here");
  EXPECT_EQ(line(i.unsupported, "zero_optimization.reduce_bucket_sise"),
            "5 -> not known here; did you mean reduce_bucket_size?");
  EXPECT_EQ(line(i.unsupported, "optimizer.type"),
            "Lion -> cells train with AdamW: two fp32 moments, 8 bytes a parameter");
  EXPECT_EQ(line(i.mapped, "optimizer.params.lr"), "0.0001 -> --lr 0.0001");
  EXPECT_TRUE(line(i.ignored, "optimizer.params.betas").starts_with("[...] -> "));
  EXPECT_EQ(line(i.unsupported, "zero_optimization.zero_hpz_partition_size"),
            "4 -> a second copy of the parameters, cut over 4 ranks: 2P/4 bytes more there");
  EXPECT_TRUE(line(i.unsupported, "zero_optimization.zero_quantized_weights").starts_with("true"));
  EXPECT_EQ(line(i.ignored, "zero_optimization.mics_shard_size"), "-1 -> off");
}

TEST(Import, FactsOfAModel) {
  // gpt-nano: width 128, 4 blocks of 12 h^2 + 13 h.
  const ImportFacts nano = facts_of_model("gpt-nano");
  const std::size_t h = *nano.hidden_size;
  EXPECT_EQ(*nano.unit, 12 * h * h + 13 * h);
  EXPECT_EQ(*nano.parameters, 660'608u);
}

}  // namespace
}  // namespace shardmark
