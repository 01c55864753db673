// What is a DeepSpeed config as a cell? The keys of its top; types, stage and batches have files of
// their own.
#include <fmt/format.h>

#include <algorithm>

#include "bench/import_parts.hpp"
#include "bench/text.hpp"

namespace shardmark {

namespace {

const std::vector<std::string> harmless_in_deepspeed = {"steps_per_print",
                                                        "wall_clock_breakdown",
                                                        "dump_state",
                                                        "memory_breakdown",
                                                        "comms_logger",
                                                        "flops_profiler",
                                                        "tensorboard",
                                                        "wandb",
                                                        "csv_monitor",
                                                        "monitor_config",
                                                        "comet",
                                                        "aio",
                                                        "checkpoint",
                                                        "nebula",
                                                        "datastates",
                                                        "data_efficiency",
                                                        "zero_allow_untested_optimizer",
                                                        "zero_force_ds_cpu_optimizer",
                                                        "dataloader_drop_last",
                                                        "vocabulary_size",
                                                        "autotuning",
                                                        "eigenvalue",
                                                        "hybrid_engine",
                                                        "timers",
                                                        "compile",
                                                        "prescale_gradients",
                                                        "gradient_predivide_factor",
                                                        "gradient_allreduce_op",
                                                        "graph_harvesting",
                                                        "disable_allgather",
                                                        "sparse_gradients",
                                                        "seq_parallel_comm_data_type",
                                                        "seq_parallel_communication_data_type",
                                                        "allgather_size",
                                                        "log_level",
                                                        "use_data_before_expert_parallelism",
                                                        "scheduler",
                                                        "activation_checkpointing"};

// What would be another parallelism, another model or another loop.
struct Other {
  const char* key;
  const char* why;
};
constexpr Other others[] = {
    {"pipeline", "a pipeline of stages; ranks here are data-parallel"},
    {"tensor_parallel", "layers cut over ranks; ranks here are data-parallel"},
    {"expert_parallel", "experts on ranks of their own; ranks here are data-parallel"},
    {"sparse_attention", "attention here is dense"},
    {"compression_training", "weights here are not compressed"},
    {"weight_quantization", "weights here are not quantized"},
    {"curriculum_learning", "sequences have one length here"},
    {"progressive_layer_drop", "every layer is computed here"}};

void clipping(ImportKeys& root) {
  constexpr const char* key = "gradient_clipping";
  if (root.is_auto(key))
    return root.leave_open(key, "max_grad_norm of the Trainer, 1 unless told; give --clip");
  const double norm = root.real(key, 0, 1e30).value_or(0);
  root.map(key, "--clip", as_text(norm), norm == 0 ? "gradients are not clipped" : "");
}

void optimizer(ImportKeys& root) {
  if (!root.has("optimizer")) return;
  ImportKeys adam = root.below("optimizer");
  const nlohmann::json* type = adam.find("type");
  if (type && !type->is_string()) adam.refuse("type", "must be a name, such as \"AdamW\"");
  std::string name = type ? type->get<std::string>() : "";
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (name == "adam" || name == "adamw")
    adam.say_mapped("type", "AdamW, which every cell trains with");
  else if (type)
    adam.lack("type", "cells train with AdamW: two fp32 moments, 8 bytes a parameter");
  ImportKeys values = adam.below("params");
  if (values.has("lr") && !values.is_auto("lr"))
    values.map("lr", "--lr", as_text(*values.real("lr", 0, 1e3)));
  if (values.has("max_grad_norm"))
    values.lack("max_grad_norm", "nor does DeepSpeed clip by it; \"gradient_clipping\" does");
  for (const std::string& key : values.unspoken())
    values.ignore(key, "changes no byte and no time");
  for (const std::string& key : adam.unspoken()) adam.ignore(key, "changes no byte on the device");
}

void other_engines(ImportKeys& root) {
  for (const char* key : {"amp", "torch_autocast", "elasticity"}) {
    if (!root.has(key)) continue;
    ImportKeys engine = root.below(key);
    if (engine.flag("enabled").value_or(false))
      root.lack(key, key == std::string("elasticity")
                         ? "DeepSpeed then chooses the batch sizes itself"
                         : "parameters stay in fp32 and are cast in each product there");
    else
      root.ignore(key, "off");
  }
  for (const Other& o : others)
    if (root.has(o.key)) root.lack(o.key, o.why);
  if (!root.has("data_types")) return;
  ImportKeys types = root.below("data_types");
  if (types.has("grad_accum_dtype"))
    types.lack("grad_accum_dtype", "gradients are added up in the --precision here");
  types.ignore_rest({}, "");
}

// Where DeepSpeed passes them over in silence: anywhere but in "zero_optimization".
void refuse_offload_inside(const nlohmann::json& object, const std::string& path,
                           const ImportKeys& root) {
  static const std::vector<std::string> keys = {"offload_optimizer", "offload_param", "cpu_offload",
                                                "cpu_offload_params", "cpu_offload_param"};
  for (const auto& [key, value] : object.items()) {
    if (!value.is_null() && std::find(keys.begin(), keys.end(), key) != keys.end())
      ImportKeys(object, root.file(), root.imported(), nullptr, path)
          .refuse(key, "belongs inside \"zero_optimization\": here DeepSpeed passes it over");
    if (value.is_object()) refuse_offload_inside(value, path + key + ".", root);
  }
}

void refuse_misplaced(const ImportKeys& root) {
  for (const std::string& key : root.unspoken()) {
    if (const auto& inside = zero_keys();
        std::find(inside.begin(), inside.end(), key) != inside.end())
      root.refuse(key, "belongs inside \"zero_optimization\": here DeepSpeed passes it over");
    const nlohmann::json& value = *root.find(key);
    if (!value.is_object()) continue;
    if (key != "zero_optimization")
      refuse_offload_inside(value, key + ".", root);
    else
      for (const auto& [inner, below] : value.items())
        if (below.is_object()) refuse_offload_inside(below, key + "." + inner + ".", root);
  }
}

}  // namespace

void import_deepspeed(ImportKeys& root, const ImportFacts& facts) {
  refuse_misplaced(root);
  const ImportTypes types = import_types(root, facts);
  const ZeroPlan plan = import_zero(root, facts, types);
  const auto steps = import_batches(root, facts);
  clipping(root);
  optimizer(root);
  other_engines(root);
  root.ignore("scheduler", "the learning rate is constant here");
  root.ignore("activation_checkpointing",
              "how, where the model's code asks for it; here --recompute unit");
  root.ignore_rest(harmless_in_deepspeed, "changes no byte on the device and no call");
  note_deepspeed(plan, facts, types, steps, root.imported());
}

}  // namespace shardmark
