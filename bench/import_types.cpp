// In which element types does a DeepSpeed config train, and how do gradients travel?
#include <fmt/format.h>

#include <cmath>

#include "bench/import_parts.hpp"

namespace shardmark {

double ImportTypes::gradient_bytes() const { return wire && *wire != "fp32" ? 2 : 4; }

namespace {

const std::vector<std::string> fp16_keys = {"enabled",
                                            "auto_cast",
                                            "loss_scale",
                                            "hysteresis",
                                            "min_loss_scale",
                                            "consecutive_hysteresis",
                                            "fused_mode",
                                            "loss_scale_window",
                                            "initial_scale_power",
                                            "fp16_master_weights_and_grads"};
const std::vector<std::string> bf16_keys = {"enabled", "immediate_grad_update",
                                            "check_grad_overflow", "bf16_master_weights_and_grads",
                                            "bf16_optimizer_states"};

// "auto" is what Accelerate's mixed_precision or --precision says.
std::optional<bool> enabled(ImportKeys& type, const char* name, const ImportFacts& facts) {
  if (!type.is_auto("enabled")) return type.flag("enabled").value_or(false);
  if (facts.precision) return *facts.precision == name;
  type.leave_open("enabled", fmt::format("--{} of the Trainer, or mixed_precision of Accelerate; "
                                         "give --precision",
                                         name));
  return {};
}

// A loss scale as DeepSpeed moves it, where fp16 is on.
void scaling(ImportKeys& fp16) {
  if (const auto fixed = fp16.real("loss_scale", 0, 1e30); fixed && *fixed != 0)
    fp16.lack("loss_scale", "a scale that stays; here an overflow halves it");
  else
    fp16.ignore("loss_scale", "0: the scale moves, as here");
  constexpr int most = 24;  // of --loss-scale
  const std::int64_t power = fp16.whole("initial_scale_power", 0, 1000).value_or(16);
  if (power > most)
    fp16.lack("initial_scale_power", fmt::format("a scale starts at 2^{} at most here", most));
  else
    fp16.map("initial_scale_power", "--loss-scale",
             as_text(std::ldexp(1, static_cast<int>(power))));
  const std::int64_t window = fp16.whole("loss_scale_window", 1, 1'000'000'000).value_or(1000);
  fp16.map("loss_scale_window", "--loss-scale-window", fmt::to_string(window));
  const std::int64_t patience = fp16.whole("hysteresis", 1, 1'000'000).value_or(2);
  if (patience > 1)
    fp16.lack(
        "hysteresis",
        fmt::format("overflow number {} halves the scale there, the first one here", patience));
  if (fp16.flag("fp16_master_weights_and_grads").value_or(false))
    fp16.lack("fp16_master_weights_and_grads", "2 bytes a weight behind the parameters; here 4");
  fp16.ignore_rest(fp16_keys, "changes no byte and no call");
}

void low_states(ImportKeys& bf16) {
  for (const char* key : {"bf16_master_weights_and_grads", "bf16_optimizer_states"})
    if (bf16.flag(key).value_or(false)) bf16.lack(key, "2 bytes an element there, 4 here");
  bf16.ignore_rest(bf16_keys, "changes no byte and no call");
}

std::string wire_of(ImportKeys& root, const std::string& precision, const ImportFacts& facts) {
  const auto asked = root.word("communication_data_type", {"fp16", "bf16", "fp32"});
  Cell cell;
  cell.precision = precision;
  cell.reduce_dtype = asked ? *asked : facts.wire.value_or(precision);
  if (const std::string why = wire_misfit(cell); !why.empty()) {
    root.lack("communication_data_type", why);
    cell.reduce_dtype = precision;
    root.imported().given["--reduce-dtype"] = {precision};
  } else {
    root.map("communication_data_type", "--reduce-dtype", cell.reduce_dtype);
  }
  return cell.reduce_dtype;
}

}  // namespace

ImportTypes import_types(ImportKeys& root, const ImportFacts& facts) {
  if (root.has("bf16") && root.has("bfloat16"))
    root.refuse("bfloat16", "\"bf16\", another name for it, is there as well");
  const std::string old = root.has("bfloat16") ? "bfloat16" : "bf16";
  ImportKeys fp16 = root.below("fp16"), bf16 = root.below(old);
  const auto half = enabled(fp16, "fp16", facts), brain = enabled(bf16, "bf16", facts);
  if (half.value_or(false) && brain.value_or(false))
    bf16.refuse("enabled", "fp16 is on as well, and only one of them can be");
  if (old == "bfloat16")
    root.note("\"bfloat16\" is the old name of \"bf16\": DeepSpeed still reads it.");
  ImportTypes types;
  const bool open = !(half && brain);
  if (half.value_or(false) || brain.value_or(false)) {
    ImportKeys& on = half.value_or(false) ? fp16 : bf16;
    types.precision = half.value_or(false) ? "fp16" : "bf16";
    on.map("enabled", "--precision", *types.precision, on.is_auto("enabled") ? "as given" : "");
  } else if (!open) {
    types.precision = "fp32";
    fp16.map("enabled", "--precision", "fp32", "neither fp16 nor bf16 is on");
  }
  if (types.precision && facts.precision && *facts.precision != *types.precision &&
      *facts.precision != "fp32")
    (half.value_or(false) ? fp16 : bf16)
        .refuse("enabled", fmt::format("mixed_precision or --precision says {}", *facts.precision));
  if (half.value_or(false))
    scaling(fp16);
  else
    fp16.ignore_rest(fp16_keys, "fp16 is off");
  low_states(bf16);
  if (types.precision) {
    types.wire = wire_of(root, *types.precision, facts);
  } else if (root.word("communication_data_type", {"fp16", "bf16", "fp32"})) {
    root.leave_open("communication_data_type", "follows the --precision; give --reduce-dtype");
  }
  return types;
}

}  // namespace shardmark
