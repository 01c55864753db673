// What are Accelerate's options of FSDP as a cell? FSDP shards layer by layer, so each is zero3, or
// what comes nearest.
#include <fmt/format.h>

#include <algorithm>

#include "bench/import_parts.hpp"
#include "bench/units.hpp"

namespace shardmark {

namespace {

const std::vector<std::string> harmless_in_fsdp = {
    "fsdp_state_dict_type",           "fsdp_transformer_layer_cls_to_wrap",
    "fsdp_sync_module_states",        "fsdp_use_orig_params",
    "fsdp_cpu_ram_efficient_loading", "fsdp_ignored_modules",
    "fsdp_forward_prefetch",          "fsdp_min_num_params",
    "fsdp_limit_all_gathers"};

// FSDP1 takes a strategy by its name or by its number.
constexpr const char* strategies[] = {"full_shard", "shard_grad_op", "no_shard", "hybrid_shard",
                                      "hybrid_shard_zero2"};
enum Sharding { full, grad_op, none, hybrid, hybrid_zero2 };

Sharding named(ImportKeys& fsdp, const char* key) {
  const auto word = fsdp.word(key, {"full_shard", "shard_grad_op", "no_shard", "hybrid_shard",
                                    "hybrid_shard_zero2", "1", "2", "3", "4", "5"});
  if (!word) return full;
  if (word->size() == 1) return static_cast<Sharding>((*word)[0] - '1');
  return static_cast<Sharding>(std::find(std::begin(strategies), std::end(strategies), *word) -
                               std::begin(strategies));
}

// Parameters stay gathered from forward to backward: nearest to zero2, and not the same.
void note_grad_op(ImportKeys& fsdp, const FsdpPlace& at, const ImportFacts& facts) {
  const std::string whole =
      facts.parameters && at.types.precision
          ? fmt::format(" ({})", with_unit((at.types.two_bytes() ? 2.0 : 4.0) *
                                               static_cast<double>(*facts.parameters),
                                           "B"))
          : "";
  fsdp.note(fmt::format(
      "It is not ZeRO-2: between steps its parameters are cut, too (16P/N bytes a rank, where "
      "zero2 holds them whole{}), and they are gathered anew in every micro-step.",
      whole));
  const std::int64_t k = at.micro_steps;
  const auto times = [](std::int64_t n) { return n == 1 ? "P" : fmt::format("{}P", n); };
  fsdp.note(fmt::format(
      "With {} micro-step{} it gathers {} and reduces {} elements a step; zero2 gathers P once and "
      "reduces {}. Under no_sync, which Accelerate's accumulate() uses, FSDP reduces P once and "
      "keeps the whole gradient in between.",
      k, k == 1 ? "" : "s", times(k), times(k), times(k)));
}

void chosen(ImportKeys& fsdp, const char* key, Sharding s, const ImportFacts& facts,
            const FsdpPlace& at) {
  const bool keeps = s == grad_op || s == hybrid_zero2;
  const char* const strategy = s == none ? "ddp" : keeps ? "zero2" : "zero3";
  if ((s == hybrid || s == hybrid_zero2)) {
    const std::int64_t ranks = at.ranks.value_or(0);
    if (at.machines > 1 && ranks % at.machines != 0)
      fsdp.refuse(key,
                  fmt::format("{} processes do not divide among {} machines", ranks, at.machines));
    fsdp.imported().given["--strategy"] = {strategy};
    lack_replicas(fsdp, key, facts, ranks, at.replicas.value_or(at.machines));
  } else {
    fsdp.map(key, "--strategy", strategy, keeps ? "the nearest; see the notes" : "");
  }
  fsdp.imported().given["--overlap"] = {"on"};
  if (keeps || s == none) {
    fsdp.imported().given["--bucket-mb"] = {"0"};
    fsdp.note("FSDP reduces and gathers a layer at a time: --bucket-mb 0.");
  }
  if (keeps) note_grad_op(fsdp, at, facts);
}

void second_version(ImportKeys& fsdp, const ImportFacts& facts, const FsdpPlace& at) {
  constexpr const char* key = "fsdp_reshard_after_forward";
  fsdp.ignore("fsdp_sharding_strategy", "of FSDP1; in FSDP2 fsdp_reshard_after_forward says it");
  const bool again = fsdp.flag(key).value_or(true);
  chosen(fsdp, key, again ? full : grad_op, facts, at);
}

void first_version(ImportKeys& fsdp, const ImportFacts& facts, const FsdpPlace& at) {
  const char* key = "fsdp_sharding_strategy";
  constexpr const char* other = "fsdp_reshard_after_forward";
  if (fsdp.has(other)) {
    const nlohmann::json* value = fsdp.find(other);
    if (value->is_boolean())
      fsdp.refuse(other, "true and false are of FSDP2: \"fsdp_version\" must be 2 then");
    if (fsdp.has(key))
      fsdp.ignore(other, "fsdp_sharding_strategy says it");
    else
      key = other;
  }
  chosen(fsdp, key, named(fsdp, key), facts, at);
}

void wrapping(ImportKeys& fsdp, const ImportFacts& facts, const FsdpPlace& at) {
  constexpr const char* key = "fsdp_auto_wrap_policy";
  const auto policy = fsdp.word(key, {"transformer_based_wrap", "size_based_wrap", "no_wrap"});
  if (!policy) return;
  if (*policy == "transformer_based_wrap")
    return fsdp.say_mapped(key, "a layer is what is gathered at once, as here");
  if (*policy == "size_based_wrap")
    return fsdp.lack(key, "what is gathered at once is a layer here, whatever its size");
  const double bytes = at.types.two_bytes() ? 2 : 4;
  fsdp.lack(
      key,
      fmt::format("the whole model is gathered at once there: {}P bytes{}; here a layer", bytes,
                  facts.parameters
                      ? " (" + with_unit(bytes * static_cast<double>(*facts.parameters), "B") + ")"
                      : ""));
}

void prefetching(ImportKeys& fsdp) {
  constexpr const char* key = "fsdp_backward_prefetch";
  const auto when = fsdp.word(key, {"backward_pre", "backward_post", "no_prefetch", "1", "2", "3"});
  const bool forward = fsdp.flag("fsdp_forward_prefetch").value_or(false);
  if (!when) return;
  const bool never = *when == "no_prefetch" || *when == "3";
  if (fsdp.imported().given["--strategy"].front() != "zero3")
    return fsdp.ignore(key, "for what is gathered layer by layer");
  fsdp.map(key, "--prefetch", never ? "0" : "1",
           *when == "backward_post" || *when == "2" ? "there behind the layer's backward" : "");
  if (!never && !forward)
    fsdp.note(
        "fsdp_forward_prefetch is false, yet FSDP gathers the next layer of forward while "
        "this one computes, as soon as the host has issued it: --prefetch holds for both.");
}

}  // namespace

void lack_replicas(ImportKeys& keys, const std::string& key, const ImportFacts& facts,
                   std::int64_t ranks, std::int64_t replicas) {
  if (ranks <= 0)
    return keys.lack(key, "shards within a node and copies over nodes; give num_processes");
  const std::int64_t shard = std::max<std::int64_t>(ranks / replicas, 1);
  const auto bytes = [&](std::int64_t by) {
    return fmt::format("16P/{}", by) +
           (facts.parameters
                ? fmt::format(" = {}", with_unit(16 * static_cast<double>(*facts.parameters) /
                                                     static_cast<double>(by),
                                                 "B"))
                : "");
  };
  keys.lack(
      key, fmt::format("cut over {} ranks and copied {} time{}: {} bytes a rank there, {} in a "
                       "cell of {} ranks; --ranks {} has the bytes, without the all-reduce of "
                       "P/{} between the copies",
                       shard, replicas, replicas == 1 ? "" : "s", bytes(shard), bytes(ranks), ranks,
                       shard, shard));
}

void import_fsdp(ImportKeys fsdp, const ImportFacts& facts, const FsdpPlace& at) {
  const std::int64_t version = fsdp.whole("fsdp_version", 1, 2).value_or(1);
  Imported& to = fsdp.imported();
  to.kind = fmt::format("Accelerate with FSDP{}", version);
  version == 2 ? second_version(fsdp, facts, at) : first_version(fsdp, facts, at);
  fsdp.ignore("fsdp_version", "which options there are");
  wrapping(fsdp, facts, at);
  prefetching(fsdp);
  if (const auto again = fsdp.flag("fsdp_activation_checkpointing"))
    fsdp.map("fsdp_activation_checkpointing", "--recompute", *again ? "unit" : "none");
  if (fsdp.flag("fsdp_offload_params").value_or(false))
    fsdp.lack("fsdp_offload_params", "16P/N bytes on the host there, on the device here");
  else
    fsdp.ignore("fsdp_offload_params", "nothing is offloaded");
  fsdp.ignore_rest(harmless_in_fsdp, "changes no byte on the device and no call");
  if (at.types.two_bytes())
    to.notes.push_back(
        fmt::format("FSDP keeps fp32 weights and gathers them as {}; gradients are fp32 once "
                    "reduced: 4 + 4 + 8 "
                    "bytes a parameter over N, the 16 of the cell otherwise divided (2 + 2 + 12).",
                    *at.types.precision));
}

}  // namespace shardmark
