// Is a config that is wrong, or contradicts itself, refused in a sentence that says where, and does
// the importer survive any bytes at all?
#include <random>

#include "bench/import.hpp"
#include "bench/import_test_support.hpp"

namespace shardmark {
namespace {

using namespace importing;

std::string ds(const std::string& keys, const ImportFacts& facts = {}) {
  return refusal("{" + keys + "}", "ds.json", facts);
}

struct Wrong {
  const char *keys, *sentence;
};

TEST(ImportFaults, SaysWhatContradictsItself) {
  for (const Wrong& w :
       {Wrong{R"("fp16": {"enabled": true}, "bf16": {"enabled": "True"})",
              "\"bf16.enabled\" is \"True\", but fp16 is on as well, and only one of them can be"},
        Wrong{R"("bf16": {}, "bfloat16": {})",
              "\"bfloat16\" is an object, but \"bf16\", another name for it, is there as well"},
        Wrong{R"("fp16": true)", "\"fp16\" is true, but must be an object"},
        Wrong{R"("fp16": {"enabled": 3})", "\"fp16.enabled\" is 3, but must be true or false"},
        Wrong{R"("zero_optimization": {"stage": 4})",
              "\"zero_optimization.stage\" is 4, but must be a whole number from 0 to 3"},
        Wrong{R"("zero_optimization": {"stage": 2, "reduce_bucket_size": 1.5})",
              "\"zero_optimization.reduce_bucket_size\" is 1.5, but must be a whole number, which "
              "a fraction is not"},
        Wrong{R"("zero_optimization": {"stage": 1.5})",
              "\"zero_optimization.stage\" is 1.5, but must be a whole number, which a fraction is "
              "not"},
        Wrong{R"("train_batch_size": "64.5")",
              "\"train_batch_size\" is \"64.5\", but must be a whole number, which a fraction is "
              "not"},
        Wrong{R"("train_batch_size": 64, "gradient_accumulation_steps": 0.5)",
              "\"gradient_accumulation_steps\" is 0.5, but must be a whole number, which a "
              "fraction is not"},
        Wrong{R"("zero_optimization": {"stage": 2, "reduce_bucket_size": "many"})",
              "\"zero_optimization.reduce_bucket_size\" is \"many\", but must be a whole number "
              "from 0 to 1000000000000"},
        Wrong{R"("zero_optimization": {"stage": 2}, "offload_optimizer": {"device": "cpu"})",
              "\"offload_optimizer\" is an object, but belongs inside \"zero_optimization\": here "
              "DeepSpeed passes it over"},
        Wrong{R"("zero_optimization": {"stage": 2}, "optimizer": {"offload_optimizer": {}})",
              "\"optimizer.offload_optimizer\" is an object, but belongs inside "
              "\"zero_optimization\": here DeepSpeed passes it over"},
        Wrong{R"("zero_optimization": {"stage": 3, "offload_param": {"cpu_offload": true}})",
              "\"zero_optimization.offload_param.cpu_offload\" is true, but belongs inside "
              "\"zero_optimization\": here DeepSpeed passes it over"},
        Wrong{R"("zero_optimization": {"stage": 2, "offload_param": {"device": "cpu"}})",
              "\"zero_optimization.offload_param.device\" is \"cpu\", but needs stage 3 at least, "
              "not 2"},
        Wrong{R"("zero_optimization": {"stage": 0, "offload_optimizer": {"device": "nvme"}})",
              "\"zero_optimization.offload_optimizer.device\" is \"nvme\", but needs stage 1 at "
              "least, not 0"},
        Wrong{R"("zero_optimization": {"stage": 2, "offload_optimizer": true})",
              "\"zero_optimization.offload_optimizer\" is true, but must be an object"},
        Wrong{R"("zero_optimization": {"stage": 2, "cpu_offload": true,
                     "offload_optimizer": {"device": "cpu"}})",
              "\"zero_optimization.cpu_offload\" is true, but \"offload_optimizer\" is there, its "
              "new name"},
        Wrong{R"("train_batch_size": 0)",
              "\"train_batch_size\" is 0, but must be a whole number from 1 to 1000000000"},
        Wrong{R"("train_batch_size": 64, "train_micro_batch_size_per_gpu": 5,
                     "gradient_accumulation_steps": 2)",
              "\"train_batch_size\" is 64, but must be a multiple of 10, which is a rank's "
              "micro-batch times the micro-steps"},
        Wrong{R"("gradient_clipping": -1, "train_batch_size": 1)",
              "\"gradient_clipping\" is -1, but must be a number from 0 to 1e+30"},
        Wrong{R"("optimizer": {"type": 3})",
              "\"optimizer.type\" is 3, but must be a name, such as \"AdamW\""},
        Wrong{R"("communication_data_type": "fp8", "fp16": {"enabled": true})",
              "\"communication_data_type\" is \"fp8\", but may be fp16, bf16, fp32"}})
    EXPECT_EQ(ds(w.keys), std::string("ds.json: ") + w.sentence);
}

TEST(ImportFaults, SaysWhatContradictsTheRanks) {
  EXPECT_EQ(ds(R"("train_batch_size": 64, "train_micro_batch_size_per_gpu": 4,
                  "gradient_accumulation_steps": 2)",
               ranks(4)),
            "ds.json: \"train_batch_size\" is 64, but a micro-batch of 4 x 2 micro-steps x 4 ranks "
            "is 32");
  EXPECT_EQ(ds(R"("train_batch_size": 64)", ranks(3)),
            "ds.json: \"train_batch_size\" is 64, but must be a multiple of 3, which is the ranks "
            "times the micro-steps");
  EXPECT_EQ(ds(R"("train_batch_size": 64, "train_micro_batch_size_per_gpu": 4)", ranks(3)),
            "ds.json: \"train_batch_size\" is 64, but must be a multiple of 12, which is a rank's "
            "micro-batch times the ranks");
}

TEST(ImportFaults, SaysWhatAcceleratesConfigContradicts) {
  const auto yaml = [](const std::string& text, const ImportFacts& facts = {}) {
    return refusal(text, "c.yaml", facts);
  };
  EXPECT_EQ(yaml("distributed_type: MEGATRON_LM\n"),
            "c.yaml: \"distributed_type\" is \"MEGATRON_LM\", but may be no, multi_gpu, multi_cpu, "
            "multi_xpu, multi_npu, multi_mlu, multi_musa, multi_sdaa, multi_hpu, fsdp, deepspeed");
  EXPECT_EQ(yaml("distributed_type: FSDP\nfsdp_config: {fsdp_sharding_strategy: 6}\n"),
            "c.yaml: \"fsdp_config.fsdp_sharding_strategy\" is 6, but may be full_shard, "
            "shard_grad_op, no_shard, hybrid_shard, hybrid_shard_zero2, 1, 2, 3, 4, 5");
  EXPECT_EQ(yaml("distributed_type: FSDP\nfsdp_config: {fsdp_reshard_after_forward: true}\n"),
            "c.yaml: \"fsdp_config.fsdp_reshard_after_forward\" is true, but true and false are of "
            "FSDP2: \"fsdp_version\" must be 2 then");
  EXPECT_EQ(
      yaml("distributed_type: FSDP\nnum_processes: 8\nfsdp_config: {}\nparallelism_config: "
           "{parallelism_config_dp_shard_size: 3}\n"),
      "c.yaml: \"num_processes\" is 8, but \"parallelism_config\" has sizes whose product is 3");
  EXPECT_EQ(
      yaml("distributed_type: FSDP\nnum_processes: 7\nnum_machines: 2\nfsdp_config: "
           "{fsdp_sharding_strategy: HYBRID_SHARD}\n"),
      "c.yaml: \"fsdp_config.fsdp_sharding_strategy\" is \"HYBRID_SHARD\", but 7 processes do "
      "not divide among 2 machines");
  EXPECT_EQ(yaml("distributed_type: 'NO'\nnum_processes: 4\n"),
            "c.yaml: \"num_processes\" is 4, but \"distributed_type\" is NO, which is one process");
  EXPECT_EQ(yaml("distributed_type: DEEPSPEED\nnum_processes: 2\ndeepspeed_config: {zero_stage: 2, "
                 "offload_param_device: cpu}\n"),
            "c.yaml: \"deepspeed_config.offload_param_device\" is \"cpu\", but needs stage 3 at "
            "least, not 2");
  EXPECT_EQ(yaml("distributed_type: DEEPSPEED\noffload_optimizer_device: cpu\n"),
            "c.yaml: \"offload_optimizer_device\" is \"cpu\", but belongs inside "
            "\"deepspeed_config\"");
  EXPECT_EQ(yaml("distributed_type: FSDP\nfsdp_offload_params: true\n"),
            "c.yaml: \"fsdp_offload_params\" is true, but belongs inside \"fsdp_config\"");
  EXPECT_EQ(yaml("distributed_type: FSDP\nnum_processes: 2.5\n"),
            "c.yaml: \"num_processes\" is 2.5, but must be a whole number, which a fraction is "
            "not");
  EXPECT_EQ(yaml("distributed_type: MULTI_GPU\nnum_processes: 8\n", ranks(4)),
            "c.yaml: \"num_processes\" is 8, but --ranks says 4");
  ImportFacts facts;
  facts.precision = "fp16";
  EXPECT_EQ(yaml("distributed_type: FSDP\nmixed_precision: bf16\n", facts),
            "c.yaml: \"mixed_precision\" is \"bf16\", but --precision says fp16");
}

const char* const json_seed = R"({
  "fp16": {"enabled": "auto", "loss_scale": 0, "initial_scale_power": 16, "hysteresis": 2},
  "bf16": {"enabled": true}, // comment
  "optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "weight_decay": "auto"}},
  "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}, "overlap_comm": true,
    "reduce_bucket_size": 5e8, "stage3_prefetch_bucket_size": "auto", "cpu_offload_param": "true",
    "stage3_param_persistence_threshold": 1e5, "sub_group_size": 1e9, },
  "gradient_accumulation_steps": 2, "gradient_clipping": 1.0, /* and */
  "train_batch_size": 64, "train_micro_batch_size_per_gpu": 4, "communication_data_type": "fp32"
})";
const char* const yaml_seed = R"(compute_environment: LOCAL_MACHINE
distributed_type: FSDP
fsdp_config:
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_backward_prefetch: BACKWARD_PRE
  fsdp_sharding_strategy: HYBRID_SHARD
  fsdp_reshard_after_forward: 'false'
  fsdp_version: 1
deepspeed_config: {zero_stage: 3, gradient_clipping: 1.0, offload_param_device: none}
mixed_precision: bf16
num_machines: 2
num_processes: 16
parallelism_config:
  parallelism_config_dp_replicate_size: 2
  parallelism_config_dp_shard_size: &x 8
tpu_env: [*x]
)";

std::string mutated(std::string text, std::mt19937& random) {
  const char* const odd[] = {"null", "-1",       "1e999", "NaN",  "18446744073709551616",
                             "[",    "{",        "\"",    "#",    "/*",
                             "\xff", "- ",       "? ",    "0",    "0.5",
                             "&a",   "*a",       "true",  "auto", ": ",
                             "\t",   "|\n",      "}",     "]",    "<<: ",
                             "FSDP", "DEEPSPEED"};
  const auto below = [&](std::size_t n) { return n == 0 ? 0 : random() % n; };
  for (std::size_t times = 1 + below(4); times > 0; --times) {
    const std::size_t at = below(text.size()), length = below(40);
    switch (below(6)) {
      case 0:
        text.insert(at, 1, static_cast<char>(below(256)));
        break;
      case 1:
        if (below(4) == 0) text.resize(at);
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
        const std::size_t end = std::min(text.find_first_of(",}\n", colon), text.size());
        text.replace(colon + 2, end - colon - 2, odd[below(std::size(odd))]);
      }
    }
  }
  return text;
}

// What is taken is a line of `run`: it has cells, or is refused by one of its flags.
void try_import(const std::string& text, const std::string& file, const ImportFacts& facts,
                std::size_t& read, std::size_t& refused) {
  try {
    const Imported i = import_strategy(text, file, facts);
    ++read;
    EXPECT_TRUE(i.given.contains("--strategy"));
    EXPECT_FALSE(i.kind.empty());
  } catch (const InputError& e) {
    ++refused;
    EXPECT_TRUE(std::string_view(e.what()).starts_with(file)) << e.what();
    EXPECT_EQ(std::string_view(e.what()).find('\n'), std::string_view::npos) << e.what();
  }
}

TEST(ImportFaults, SurvivesAnyBytes) {
  std::mt19937 random(20240607);
  std::size_t read = 0, refused = 0;
  ImportFacts all = ranks(8);
  all.hidden_size = 64, all.parameters = 100'000, all.unit = 50'000;
  for (int i = 0; i < 6000; ++i) {
    const ImportFacts& facts = i % 3 == 0 ? all : ImportFacts{};
    try_import(mutated(json_seed, random), "c.json", facts, read, refused);
    try_import(mutated(yaml_seed, random), "c.yaml", facts, read, refused);
  }
  EXPECT_GT(read, 1000u);
  EXPECT_GT(refused, 1000u);
}

}  // namespace
}  // namespace shardmark
