// Is a config of Accelerate the cell that it means, whoever shards?
#include "bench/import.hpp"
#include "bench/import_test_support.hpp"

namespace shardmark {
namespace {

using namespace importing;

Imported read(const std::string& text, const ImportFacts& facts = {}) {
  return import_strategy(text, "config.yaml", facts);
}

std::string fsdp(const std::string& options, const std::string& precision = "bf16") {
  return "distributed_type: FSDP\nmixed_precision: " + precision +
         "\nnum_machines: 2\nnum_processes: 16\nfsdp_config:\n" + options;
}

TEST(ImportAccelerate, ShardingStrategiesHaveNamesAndNumbers) {
  const auto strategy = [](const std::string& value) {
    return flag(read(fsdp("  fsdp_sharding_strategy: " + value)), "--strategy");
  };
  EXPECT_EQ(strategy("FULL_SHARD"), "zero3");
  EXPECT_EQ(strategy("1"), "zero3");
  EXPECT_EQ(strategy("'SHARD_GRAD_OP'"), "zero2");
  EXPECT_EQ(strategy("2"), "zero2");
  EXPECT_EQ(strategy("NO_SHARD"), "ddp");
  EXPECT_EQ(strategy("3"), "ddp");
  EXPECT_EQ(strategy("HYBRID_SHARD"), "zero3");
  EXPECT_EQ(strategy("4"), "zero3");
  EXPECT_EQ(strategy("HYBRID_SHARD_ZERO2"), "zero2");
  EXPECT_EQ(strategy("5"), "zero2");
}

TEST(ImportAccelerate, ShardGradOpIsNotZeroTwo) {
  const Imported i = read("gradient_accumulation_steps: 4\n" + fsdp("  fsdp_sharding_strategy: 2"));
  EXPECT_TRUE(noted(i, "It is not ZeRO-2: between steps its parameters are cut, too"));
  EXPECT_TRUE(noted(i,
                    "With 4 micro-steps it gathers 4P and reduces 4P elements a step; zero2 "
                    "gathers P once and reduces 4P."));
  EXPECT_EQ(flag(i, "--accumulate"), "4");
  EXPECT_EQ(flag(i, "--bucket-mb"), "0");
}

TEST(ImportAccelerate, HybridShardingHasItsNumbers) {
  ImportFacts facts;
  facts.parameters = 8'000'000'000;
  // 16 processes on 2 machines: 8 ranks share a copy, 16 x 8e9 / 8 = 16 GB; over 16 ranks 8 GB.
  EXPECT_EQ(
      line(read(fsdp("  fsdp_sharding_strategy: HYBRID_SHARD"), facts).unsupported,
           "fsdp_config.fsdp_sharding_strategy"),
      "HYBRID_SHARD -> cut over 8 ranks and copied 2 times: 16P/8 = 16.0 GB bytes a rank there, "
      "16P/16 = 8.00 GB in a cell of 16 ranks; --ranks 8 has the bytes, without the all-reduce "
      "of P/8 between the copies");
}

TEST(ImportAccelerate, SecondVersionHasABoolean) {
  const auto strategy = [](const std::string& value) {
    return flag(read(fsdp("  fsdp_version: 2\n" + value)), "--strategy");
  };
  EXPECT_EQ(strategy(""), "zero3");
  EXPECT_EQ(strategy("  fsdp_reshard_after_forward: true"), "zero3");
  EXPECT_EQ(strategy("  fsdp_reshard_after_forward: 'false'"), "zero2");
  EXPECT_EQ(read(fsdp("  fsdp_version: 2")).kind, "Accelerate with FSDP2");
  EXPECT_EQ(read(fsdp("  fsdp_version: 1")).kind, "Accelerate with FSDP1");
}

TEST(ImportAccelerate, OptionsOfFsdp) {
  const Imported i =
      read(fsdp("  fsdp_activation_checkpointing: true\n"
                "  fsdp_backward_prefetch: NO_PREFETCH\n"
                "  fsdp_auto_wrap_policy: NO_WRAP\n"
                "  fsdp_offload_params: true\n"));
  EXPECT_EQ(
      run_line(i.given),
      "shardmark run --strategy zero3 --ranks 16 --overlap on --precision bf16 --reduce-dtype "
      "bf16 --recompute unit --prefetch 0");
  EXPECT_EQ(line(i.unsupported, "fsdp_config.fsdp_auto_wrap_policy"),
            "NO_WRAP -> the whole model is gathered at once there: 2P bytes; here a layer");
  EXPECT_EQ(line(i.unsupported, "fsdp_config.fsdp_offload_params"),
            "true -> 16P/N bytes on the host there, on the device here");
  EXPECT_TRUE(noted(i, "gradients are fp32 once reduced: 4 + 4 + 8"));
}

TEST(ImportAccelerate, RanksAreTheDataParallelOnes) {
  const Imported i = read(R"(distributed_type: FSDP
mixed_precision: 'no'
num_processes: 8
fsdp_config: {fsdp_version: 2}
parallelism_config:
  parallelism_config_cp_size: 1
  parallelism_config_dp_replicate_size: 2
  parallelism_config_dp_shard_size: 2
  parallelism_config_tp_size: 2
)");
  EXPECT_EQ(flag(i, "--ranks"), "4");
  EXPECT_EQ(flag(i, "--precision"), "fp32");
  EXPECT_EQ(line(i.unsupported, "parallelism_config.parallelism_config_tp_size"),
            "2 -> 2 processes share one batch there; ranks here are the 4 data-parallel ones");
  EXPECT_TRUE(
      line(i.unsupported, "parallelism_config.parallelism_config_dp_replicate_size")
          .starts_with("2 -> cut over 2 ranks and copied 2 times: 16P/2 bytes a rank there"));
}

TEST(ImportAccelerate, DeepSpeedWithinIsReadByItsNamesHere) {
  const Imported i = read(R"(distributed_type: DEEPSPEED
mixed_precision: bf16
num_processes: 4
deepspeed_config:
  gradient_accumulation_steps: 8
  gradient_clipping: 1.0
  offload_optimizer_device: none
  offload_param_device: none
  zero3_init_flag: true
  zero_stage: 3
)");
  EXPECT_EQ(i.kind, "Accelerate with DeepSpeed");
  EXPECT_EQ(run_line(i.given),
            "shardmark run --strategy zero3 --ranks 4 --accumulate 8 --clip 1 --overlap on "
            "--precision bf16 --reduce-dtype bf16 --persist-below 100001");
  EXPECT_EQ(line(i.mapped, "deepspeed_config.zero_stage"), "3 -> --strategy zero3");
  EXPECT_EQ(line(i.mapped, "mixed_precision"), "bf16 -> --precision bf16");
  EXPECT_EQ(line(i.mapped, "deepspeed_config.gradient_accumulation_steps"), "8 -> --accumulate 8");
  EXPECT_TRUE(line(i.left_open, "the training script's batch").starts_with("auto -> "));
}

TEST(ImportAccelerate, DeepSpeedInAFileOfItsOwn) {
  const std::string yaml =
      "distributed_type: DEEPSPEED\nmixed_precision: fp16\nnum_processes: 4\n"
      "deepspeed_config:\n  deepspeed_config_file: there/ds.json\n";
  ImportFacts facts;
  EXPECT_TRUE(
      refusal(yaml, "c.yaml", facts).find("deepspeed_config_file\" is \"there/ds.json\", but") !=
      std::string::npos);
  std::string asked;
  facts.read = [&](const std::string& file) {
    asked = file;
    return R"({"fp16": {"enabled": "auto"}, "train_batch_size": 64,
               "train_micro_batch_size_per_gpu": 8, "zero_optimization": {"stage": 1}})";
  };
  const Imported i = read(yaml, facts);
  EXPECT_EQ(asked, "there/ds.json");
  // fp16 is what mixed_precision says; 64 = 8 x 2 x 4.
  EXPECT_EQ(flag(i, "--precision"), "fp16");
  EXPECT_EQ(flag(i, "--accumulate"), "2");
  EXPECT_EQ(refusal(yaml + "  zero_stage: 2\n", "c.yaml", facts),
            "c.yaml: \"deepspeed_config.zero_stage\" is 2, but \"deepspeed_config_file\" is there, "
            "whose keys would say it as well");
}

TEST(ImportAccelerate, DdpAutocastsAndReducesInFp32) {
  const Imported i = read("distributed_type: MULTI_GPU\nnum_processes: 2\nmixed_precision: bf16\n");
  // 25 MiB = 25 x 1,048,576 bytes.
  EXPECT_EQ(run_line(i.given),
            "shardmark run --strategy ddp --ranks 2 --bucket-mb 26.2144 --overlap on --precision "
            "bf16 --reduce-dtype fp32");
  EXPECT_EQ(read("distributed_type: 'NO'\nuse_cpu: false\n").kind, "Accelerate with DDP");
}

TEST(ImportAccelerate, TheFlagsAreThoseOfRun) {
  for (const char* options : {"  fsdp_sharding_strategy: 1", "  fsdp_sharding_strategy: 2",
                              "  fsdp_sharding_strategy: 3", "  fsdp_version: 2"})
    for (const char* precision : {"no", "fp16", "bf16"})
      EXPECT_EQ(cells_of(read(fsdp(options, precision)).given, std::nullopt).size(), 1u);
}

}  // namespace
}  // namespace shardmark
