// What is a config file of Accelerate as a cell? Who shards says another part of it: DeepSpeed,
// FSDP, or nobody.
#include <fmt/format.h>

#include "bench/import_parts.hpp"
#include "bench/import_text.hpp"

namespace shardmark {

using nlohmann::json;

namespace {

const std::vector<std::string> harmless_in_accelerate = {"debug",
                                                         "downcast_bf16",
                                                         "enable_cpu_affinity",
                                                         "machine_rank",
                                                         "main_training_function",
                                                         "rdzv_backend",
                                                         "same_network",
                                                         "tpu_env",
                                                         "tpu_use_cluster",
                                                         "tpu_use_sudo",
                                                         "use_cpu",
                                                         "main_process_ip",
                                                         "main_process_port",
                                                         "gpu_ids",
                                                         "dynamo_config",
                                                         "dynamo_backend",
                                                         "mpirun_config",
                                                         "commands",
                                                         "command_file",
                                                         "tpu_name",
                                                         "tpu_zone",
                                                         "ipex_config",
                                                         "num_machines",
                                                         "compute_environment",
                                                         "fp8_config",
                                                         "use_mps_device",
                                                         "deepspeed_config",
                                                         "fsdp_config",
                                                         "parallelism_config",
                                                         "megatron_lm_config",
                                                         "use_xpu"};
constexpr std::int64_t most_ranks = 1'000'000;

std::optional<std::int64_t> degree(ImportKeys& parts, const char* name) {
  return parts.whole(fmt::format("parallelism_config_{}_size", name), -1, most_ranks);
}

struct Parallel {
  std::optional<std::int64_t> ranks, replicas;
};

// Ranks here are data-parallel ones: what else there is cannot be a cell's.
Parallel parallelism(ImportKeys& root, const ImportFacts& facts,
                     std::optional<std::int64_t> processes) {
  if (!root.has("parallelism_config")) return {processes, {}};
  ImportKeys parts = root.below("parallelism_config");
  const auto at_least_1 = [&](const char* name) {
    return std::max<std::int64_t>(degree(parts, name).value_or(1), 1);
  };
  const std::int64_t copies = at_least_1("dp_replicate"), shard = at_least_1("dp_shard");
  const std::int64_t others = at_least_1("tp") * at_least_1("cp") * at_least_1("sp");
  if (processes && copies * shard * others != *processes)
    root.refuse("num_processes", fmt::format("\"parallelism_config\" has sizes whose product is {}",
                                             copies * shard * others));
  for (const char* name : {"tp", "cp", "sp"}) {
    const std::string key = fmt::format("parallelism_config_{}_size", name);
    if (at_least_1(name) > 1)
      parts.lack(key, fmt::format("{} processes share one batch there; ranks here are the {} "
                                  "data-parallel ones",
                                  at_least_1(name), copies * shard));
    else
      parts.ignore(key, "off");
  }
  if (parts.has("parallelism_config_dp_shard_size"))
    parts.say_mapped("parallelism_config_dp_shard_size",
                     fmt::format("of {} data-parallel ranks", copies * shard));
  if (copies > 1)
    lack_replicas(parts, "parallelism_config_dp_replicate_size", facts, copies * shard, copies);
  else
    parts.ignore("parallelism_config_dp_replicate_size", "one copy");
  parts.ignore_rest({"parallelism_config_cp_comm_strategy", "parallelism_config_sp_backend"},
                    "off");
  return {copies * shard, copies};
}

std::optional<std::int64_t> ranks_of(ImportKeys& root, const ImportFacts& facts, Parallel& p) {
  const auto processes = root.whole("num_processes", 1, most_ranks);
  p = parallelism(root, facts, processes);
  if (!processes) return facts.ranks ? facts.ranks : p.ranks;
  if (facts.ranks && *facts.ranks != *p.ranks)
    root.refuse(
        "num_processes",
        (*p.ranks == *processes ? "" : fmt::format("{} are data-parallel, and ", *p.ranks)) +
            fmt::format("--ranks says {}", *facts.ranks));
  root.map("num_processes", "--ranks", fmt::to_string(*p.ranks),
           *p.ranks == *processes ? "" : "the data-parallel ones");
  return p.ranks;
}

std::optional<std::string> mixed_precision(ImportKeys& root, const ImportFacts& facts) {
  const std::string word =
      root.word("mixed_precision", {"no", "fp16", "bf16", "fp8"}).value_or("no");
  if (word == "fp8") {
    root.lack("mixed_precision", "products of 1-byte numbers; give --precision for those here");
    return facts.precision;
  }
  const std::string type = word == "no" ? "fp32" : word;
  if (facts.precision && *facts.precision != type)
    root.refuse("mixed_precision", fmt::format("--precision says {}", *facts.precision));
  return type;
}

// Of FSDP and DDP, where no other config says it.
ImportTypes map_precision(ImportKeys& root, const std::optional<std::string>& type, bool autocast) {
  if (!type) return {};
  const std::string wire = autocast ? "fp32" : *type;
  if (root.word("mixed_precision", {"no", "fp16", "bf16", "fp8"}) != "fp8")
    root.map("mixed_precision", "--precision", *type);
  root.imported().given["--precision"] = {*type};
  root.imported().given["--reduce-dtype"] = {wire};
  return {type, wire};
}

// Without a file of its own, DeepSpeed gets this one from Accelerate. names: what each key is
// called in the YAML.
json deepspeed_of(ImportKeys& inline_keys, const std::optional<std::string>& precision,
                  ImportKeys::Names& names) {
  json made = {{"train_micro_batch_size_per_gpu", "auto"}, {"gradient_accumulation_steps", 1}};
  json& zero = made["zero_optimization"] = {{"stage", 2}};
  names["train_micro_batch_size_per_gpu"] = "the training script's batch";
  names["fp16.enabled"] = names["bf16.enabled"] = "mixed_precision";
  if (precision && *precision != "fp32") made[*precision]["enabled"] = true;
  const auto take = [&](const char* from, json& to, const char* key, const std::string& path) {
    names[path + key] = std::string("deepspeed_config.") + from;
    inline_keys.done(from);
    if (const json* value = inline_keys.find(from)) to[key] = *value;
  };
  take("zero_stage", zero, "stage", "zero_optimization.");
  take("gradient_accumulation_steps", made, "gradient_accumulation_steps", "");
  take("gradient_clipping", made, "gradient_clipping", "");
  for (const char* what : {"offload_optimizer", "offload_param"}) {
    const std::string key = std::string(what) + "_device";
    names[std::string("zero_optimization.") + what] = "deepspeed_config." + key;
    take(key.c_str(), zero[what], "device", std::string("zero_optimization.") + what + ".");
    if (zero[what].is_null()) zero.erase(what);
  }
  return made;
}

void deepspeed(ImportKeys& root, ImportFacts facts) {
  root.imported().kind = "Accelerate with DeepSpeed";
  ImportKeys keys = root.below("deepspeed_config");
  constexpr const char* file_key = "deepspeed_config_file";
  Imported& to = root.imported();
  if (keys.has(file_key)) {
    if (!keys.find(file_key)->is_string()) keys.refuse(file_key, "must be the name of a file");
    for (const char* key : {"zero_stage", "gradient_accumulation_steps", "gradient_clipping",
                            "offload_optimizer_device", "offload_param_device"})
      if (keys.has(key))
        keys.refuse(key, "\"deepspeed_config_file\" is there, whose keys would say it as well");
    if (!facts.read) keys.refuse(file_key, "a file of its own cannot be read here");
    const std::string name = keys.find(file_key)->get<std::string>();
    keys.say_mapped(file_key, "as below");
    if (!root.has("mixed_precision")) facts.precision.reset();
    ImportKeys inner(strategy_tree(facts.read(name), name), name, to);
    import_deepspeed(inner, facts);
  } else {
    ImportKeys::Names names;
    const json made = deepspeed_of(keys, facts.precision, names);
    facts.precision.reset();
    const std::string said =
        root.has("mixed_precision")
            ? root.word("mixed_precision", {"no", "fp16", "bf16", "fp8"}).value_or("no")
            : "(absent)";
    ImportKeys inner(made, root.file(), to, &names);
    import_deepspeed(inner, facts);
    // What Accelerate fills in, the file does not say.
    const std::string below = "deepspeed_config.";
    std::erase_if(to.said, [&](const auto& s) {
      return s.second.starts_with(below) && !keys.has(s.second.substr(below.size()));
    });
    for (auto* lines : {&to.mapped, &to.ignored})
      for (Imported::Line& l : *lines)
        if (l.key == "mixed_precision") l.value = said;
  }
  root.done("mixed_precision");
  keys.ignore_rest(
      {"zero3_init_flag", "zero3_save_16bit_model", "deepspeed_hostfile",
       "deepspeed_multinode_launcher", "deepspeed_inclusion_filter", "deepspeed_exclusion_filter",
       "deepspeed_moe_layer_cls_names", "offload_optimizer_nvme_path", "offload_param_nvme_path"},
      "changes no byte on the device and no call");
}

void plain(ImportKeys& root, const std::string& type, const std::optional<std::string>& precision) {
  root.imported().kind = "Accelerate with DDP";
  if (type == "no" && root.has("num_processes") && root.whole("num_processes", 1, most_ranks) != 1)
    root.refuse("num_processes", "\"distributed_type\" is NO, which is one process");
  root.map("distributed_type", "--strategy", "ddp");
  Given& given = root.imported().given;
  given["--bucket-mb"] = {"26.2144"};
  given["--overlap"] = {"on"};
  const ImportTypes types = map_precision(root, precision, true);
  root.note(
      "DDP of PyTorch reduces buckets of 25 MiB (the first one of 1 MiB): --bucket-mb 26.2144.");
  if (types.two_bytes())
    root.note(fmt::format(
        "Under DDP mixed_precision casts in each product (autocast): weights and gradients are "
        "fp32 "
        "there, 4 + 4 + 8 bytes a parameter, {} and fp32 in the cell, 2 + 2 + 12; gradients travel "
        "in fp32 in both.",
        *precision));
}

void refuse_misplaced(const ImportKeys& root) {
  for (const std::string& key : root.unspoken()) {
    if (key.starts_with("fsdp_") && key != "fsdp_config")
      root.refuse(key, "belongs inside \"fsdp_config\"");
    if (key == "zero_stage" || key.starts_with("offload_"))
      root.refuse(key, "belongs inside \"deepspeed_config\"");
  }
}

}  // namespace

void import_accelerate(ImportKeys& root, const ImportFacts& given) {
  refuse_misplaced(root);
  const std::string type =
      root.word("distributed_type",
                {"no", "multi_gpu", "multi_cpu", "multi_xpu", "multi_npu", "multi_mlu",
                 "multi_musa", "multi_sdaa", "multi_hpu", "fsdp", "deepspeed"})
          .value_or("no");
  if (const auto where = root.word("compute_environment", {"local_machine", "amazon_sagemaker"});
      where == "amazon_sagemaker")
    root.refuse("compute_environment", "only LOCAL_MACHINE is known here");
  ImportFacts facts = given;
  Parallel parallel;
  facts.ranks = ranks_of(root, given, parallel);
  facts.precision = mixed_precision(root, given);
  const auto steps = root.whole("gradient_accumulation_steps", 1, 10'000);
  if (steps) root.map("gradient_accumulation_steps", "--accumulate", fmt::to_string(*steps));
  const std::int64_t machines = root.whole("num_machines", 1, most_ranks).value_or(1);
  if (type == "deepspeed") {
    deepspeed(root, facts);
  } else if (type == "fsdp") {
    FsdpPlace at;
    at.types = map_precision(root, facts.precision, false);
    at.ranks = facts.ranks, at.replicas = parallel.replicas, at.machines = machines;
    at.micro_steps = steps.value_or(1);
    import_fsdp(root.below("fsdp_config"), facts, at);
  } else {
    plain(root, type, facts.precision);
  }
  if (type == "deepspeed" || type == "fsdp") {
    root.ignore("distributed_type", "says which part of the file holds");
    root.note(fmt::format("Where the file is silent, the defaults are those of Accelerate {}.",
                          assumed_accelerate));
  }
  root.ignore_rest(harmless_in_accelerate, "changes no byte on the device and no call");
}

}  // namespace shardmark
