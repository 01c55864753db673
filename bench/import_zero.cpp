// Which stage of ZeRO does "zero_optimization" ask for, and with which options?
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/import_parts.hpp"
#include "bench/text.hpp"

namespace shardmark {

namespace {

constexpr std::int64_t most_elements = 1'000'000'000'000;

// What changes no byte on a device, no call and no order of a step here.
const std::vector<std::string> harmless_in_zero = {"contiguous_gradients",
                                                   "allgather_partitions",
                                                   "load_from_fp32_weights",
                                                   "elastic_checkpoint",
                                                   "sub_group_size",
                                                   "ignore_unused_parameters",
                                                   "legacy_stage1",
                                                   "round_robin_gradients",
                                                   "memory_efficient_linear",
                                                   "pipeline_loading_checkpoint",
                                                   "override_module_apply",
                                                   "log_trace_cache_warnings",
                                                   "enable_sanity_checks",
                                                   "cpu_offload_use_pin_memory",
                                                   "stage3_gather_16bit_weights_on_model_save",
                                                   "stage3_gather_fp16_weights_on_model_save",
                                                   "gather_16bit_weights_on_model_save",
                                                   "leaf_module",
                                                   "stage3_module_granularity_threshold",
                                                   "stage3_model_persistence_threshold",
                                                   "stage3_use_all_reduce_for_fetch_params",
                                                   "stage3_allgather_sequential",
                                                   "mics_hierarchical_params_gather",
                                                   "zeropp_loco_param"};
// What the readers below look for.
const std::vector<std::string> looked_for = {"stage",
                                             "reduce_scatter",
                                             "reduce_bucket_size",
                                             "overlap_comm",
                                             "use_multi_rank_bucket_allreduce",
                                             "allgather_bucket_size",
                                             "offload_param",
                                             "offload_optimizer",
                                             "cpu_offload",
                                             "cpu_offload_params",
                                             "cpu_offload_param",
                                             "stage3_prefetch_bucket_size",
                                             "stage3_param_persistence_threshold",
                                             "stage3_max_live_parameters",
                                             "stage3_max_reuse_distance",
                                             "zero_hpz_partition_size",
                                             "mics_shard_size",
                                             "zero_quantized_weights",
                                             "zero_quantized_gradients",
                                             "zero_quantized_nontrainable_weights"};

// "auto" as Accelerate and the Trainer fill it from the hidden size.
std::optional<std::int64_t> from_width(ImportKeys& zero, const char* key, const ImportFacts& facts,
                                       const char* rule, double factor, int power) {
  if (!facts.hidden_size) {
    zero.leave_open(key, fmt::format("{} of the hidden size h; give --model", rule));
    return {};
  }
  const auto h = static_cast<double>(*facts.hidden_size);
  return static_cast<std::int64_t>(factor * (power == 2 ? h * h : h));
}

std::string filled(const ImportKeys& zero, const char* key, const char* rule,
                   const ImportFacts& facts) {
  return zero.is_auto(key)
             ? fmt::format(", {} with h = {}, as Accelerate fills it", rule, *facts.hidden_size)
             : "";
}

std::optional<std::int64_t> size_or_auto(ImportKeys& zero, const char* key,
                                         const ImportFacts& facts, const char* rule, double factor,
                                         int power, std::int64_t otherwise) {
  if (zero.is_auto(key)) return from_width(zero, key, facts, rule, factor, power);
  return zero.whole(key, 0, most_elements).value_or(otherwise);
}

void bucket(ImportKeys& zero, const ImportFacts& facts, const ImportTypes& types, ZeroPlan& plan) {
  constexpr const char* key = "reduce_bucket_size";
  const auto size = size_or_auto(zero, key, facts, "h^2", 1, 2, *plan.bucket);
  plan.bucket = size;
  if (!size) return;
  const std::string how = elements(*size) + " elements" + filled(zero, key, "h^2", facts);
  if (plan.stage == 3) return zero.lack(key, how + ": zero3 here reduces a layer at a time");
  const double bytes = static_cast<double>(*size) * types.gradient_bytes();
  if (bytes > 1e12) return zero.lack(key, how + ": a bucket has at most 1e12 bytes here");
  zero.map(
      key, "--bucket-mb", as_text(bytes / 1e6),
      how + (types.wire ? " of " + *types.wire : ", counted in fp32 until --precision is known"));
}

// Prefetching is counted in elements there and in layers here: a layer of which any part is fetched
// counts.
void prefetch(ImportKeys& zero, const ImportFacts& facts) {
  constexpr const char* key = "stage3_prefetch_bucket_size";
  const auto size = size_or_auto(zero, key, facts, "int(0.9 h^2)", 0.9, 2, 50'000'000);
  if (!size) return;
  const std::string fill = filled(zero, key, "int(0.9 h^2)", facts);
  const std::string how = elements(*size) + " elements";
  if (*size == 0) return zero.map(key, "--prefetch", "0");
  if (!facts.unit)
    return zero.leave_open(key, how + fill + ": how many layers is that? give --model");
  const auto unit = static_cast<std::int64_t>(*facts.unit);
  // No more than the model has, and than --prefetch may be.
  const auto all = static_cast<std::int64_t>(facts.parameters.value_or(*facts.unit * 1000)) / unit;
  const std::int64_t layers =
      std::min({(*size + unit - 1) / unit, std::max<std::int64_t>(all, 1), std::int64_t{1000}});
  zero.map(key, "--prefetch", fmt::to_string(layers),
           fmt::format("{} of layers with {}{}", how, elements(unit), fill));
}

void persistence(ImportKeys& zero, const ImportFacts& facts, ZeroPlan& plan) {
  constexpr const char* key = "stage3_param_persistence_threshold";
  const auto size = size_or_auto(zero, key, facts, "10 h", 10, 1, *plan.persistence);
  plan.persistence = size;
  if (!size) return;
  // "At most" there, "fewer than" here.
  zero.map(key, "--persist-below", fmt::to_string(std::min(*size + 1, most_elements)),
           fmt::format("at most {} elements{}", elements(*size), filled(zero, key, "10 h", facts)));
}

void third_stage(ImportKeys& zero, const ImportFacts& facts, ZeroPlan& plan) {
  if (plan.stage != 3) {
    for (const std::string& key : zero.unspoken())
      if (key.starts_with("stage3_")) zero.ignore(key, "for stage 3 alone");
    return;
  }
  prefetch(zero, facts);
  persistence(zero, facts, plan);
  const auto reach = [&](const char* key, std::int64_t& to) {
    to = zero.whole(key, 0, most_elements).value_or(to);
    if (zero.has(key)) zero.lack(key, "a layer is released once it was used here; see the notes");
  };
  reach("stage3_max_live_parameters", plan.live);
  reach("stage3_max_reuse_distance", plan.reuse);
}

// What leaves the device there stays here. Under its old name it was a boolean.
void offload(ImportKeys& zero, const char* key, const std::vector<const char*>& old_names,
             int least_stage, const ZeroPlan& plan, const std::string& bytes) {
  for (const char* old : old_names) {
    if (!zero.has(old)) continue;
    if (zero.has(key)) zero.refuse(old, fmt::format("\"{}\" is there, its new name", key));
    if (!zero.flag(old).value_or(false)) {
      zero.ignore(old, "nothing is offloaded");
    } else {
      if (plan.stage < least_stage)
        zero.refuse(old, fmt::format("needs stage {} at least, not {}", least_stage, plan.stage));
      zero.lack(old, bytes + fmt::format("; today's name is {}", key));
    }
  }
  if (!zero.has(key)) return;
  ImportKeys where = zero.below(key);
  const std::string device = where.word("device", {"none", "cpu", "nvme"}).value_or("none");
  if (device == "none") return zero.ignore(key, "device none: nothing is offloaded");
  if (plan.stage < least_stage)
    where.refuse("device", fmt::format("needs stage {} at least, not {}", least_stage, plan.stage));
  where.lack("device", bytes);
  where.ignore_rest({"device", "nvme_path", "buffer_count", "buffer_size", "max_in_cpu",
                     "pin_memory", "pipeline_read", "pipeline_write", "fast_init", "ratio",
                     "super_offload", "cpuadam_cores_perc"},
                    "of what is not offloaded here");
}

void other_layouts(ImportKeys& zero) {
  const auto parts = [&](const char* key, const char* what) {
    const auto size = zero.whole(key, -1, 1'000'000);
    if (size && *size > 1)
      zero.lack(key, fmt::format(fmt::runtime(what), *size));
    else
      zero.ignore(key, "off");
  };
  parts("zero_hpz_partition_size",
        "a second copy of the parameters, cut over {0} ranks: 2P/{0} bytes more there");
  parts("mics_shard_size",
        "states cut over {0} ranks and not over all: 16P/{0} bytes a rank there");
  const auto quantized = [&](const char* key, const char* what) {
    if (zero.flag(key).value_or(false))
      zero.lack(key, what);
    else
      zero.ignore(key, "off");
  };
  quantized("zero_quantized_weights", "weights travel in 1 byte there, in the --precision here");
  quantized("zero_quantized_gradients", "gradients travel in 4 bits there, in --reduce-dtype here");
  quantized("zero_quantized_nontrainable_weights", "frozen weights in 1 byte there");
}

std::string strategy_of(ImportKeys& zero, const ZeroPlan& plan) {
  if (plan.reduce_scatter || plan.stage == 0)
    return plan.stage == 0 ? "ddp" : fmt::format("zero{}", plan.stage);
  if (plan.stage == 1) {
    zero.say_mapped("reduce_scatter", "--strategy zero1_naive, which all-reduces");
    return "zero1_naive";
  }
  zero.lack("reduce_scatter", fmt::format("zero{} here reduce-scatters", plan.stage));
  return fmt::format("zero{}", plan.stage);
}

void reductions(ImportKeys& zero, ZeroPlan& plan) {
  plan.reduce_scatter = zero.flag("reduce_scatter").value_or(true);
  plan.multi_rank = zero.flag("use_multi_rank_bucket_allreduce").value_or(true);
  // Of stages 2 and 3: DeepSpeed passes both over in stage 1, which reduces behind backward.
  const bool early = plan.stage >= 2;
  plan.contiguous = zero.flag("contiguous_gradients").value_or(true) && early;
  const auto overlap = zero.flag("overlap_comm");
  plan.overlap = early && overlap.value_or(plan.stage == 3);
  zero.map("stage", "--strategy", strategy_of(zero, plan));
  zero.map("overlap_comm", "--overlap", plan.overlap ? "on" : "off",
           overlap.value_or(false) && !early
               ? fmt::format("DeepSpeed reduces behind backward in stage {}", plan.stage)
               : "");
  zero.ignore("reduce_scatter", plan.stage == 0 ? "for stages 1 to 3" : "as here; see the notes");
  zero.ignore("use_multi_rank_bucket_allreduce", "see the notes");
  if (zero.whole("allgather_bucket_size", 0, most_elements))
    zero.ignore("allgather_bucket_size", "parameters are gathered in the gradients' buckets here");
}

// `"zero_optimization": true`, the form before there was an object.
bool old_form(ImportKeys& root, const char* key, ZeroPlan& plan) {
  const nlohmann::json* value = root.find(key);
  if (!value || value->is_object()) return false;
  const std::optional<bool> on = root.flag(key);
  plan.stage = on.value_or(false) ? 1 : 0;
  root.map(key, "--strategy", plan.stage == 1 ? "zero1" : "ddp",
           "the old form, which means stage 1 or none");
  root.imported().given["--overlap"] = {"off"};
  root.ignore("allgather_size", "parameters are gathered in the gradients' buckets here");
  return true;
}

}  // namespace

const std::vector<std::string>& zero_keys() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> keys = looked_for;
    keys.insert(keys.end(), harmless_in_zero.begin(), harmless_in_zero.end());
    return keys;
  }();
  return all;
}

ZeroPlan import_zero(ImportKeys& root, const ImportFacts& facts, const ImportTypes& types) {
  constexpr const char* key = "zero_optimization";
  ZeroPlan plan;
  if (old_form(root, key, plan)) {
    ImportKeys nothing(nlohmann::json::object(), root.file(), root.imported(), nullptr,
                       "zero_optimization.");
    if (plan.stage > 0) bucket(nothing, facts, types, plan);
    return plan;
  }
  ImportKeys zero = root.below(key);
  plan.stage = static_cast<int>(zero.whole("stage", 0, 3).value_or(0));
  reductions(zero, plan);
  if (plan.stage > 0 || zero.has("reduce_bucket_size")) bucket(zero, facts, types, plan);
  offload(
      zero, "offload_optimizer", {"cpu_offload"}, 1, plan,
      fmt::format("{}P/N bytes on the host there, on the device here", types.two_bytes() ? 12 : 8));
  offload(
      zero, "offload_param", {"cpu_offload_params", "cpu_offload_param"}, 3, plan,
      fmt::format("{}P/N bytes on the host there, on the device here", types.two_bytes() ? 2 : 4));
  other_layouts(zero);
  third_stage(zero, facts, plan);
  zero.ignore("sub_group_size", "the update's portions, of what is offloaded");
  zero.ignore_rest(zero_keys(), "changes no byte on the device and no call");
  return plan;
}

}  // namespace shardmark
