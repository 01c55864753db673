// Which element types, loss scales and frozen parameters can a cell have? See cell.hpp.
#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>

#include "bench/cell.hpp"
#include "bench/text.hpp"

namespace shardmark {

DType dtype_named(const std::string& type) {
  return type == "bf16" ? DType::bf16 : type == "fp16" ? DType::f16 : DType::f32;
}

std::string type_word(DType t) {
  return t == DType::bf16 ? "bf16" : t == DType::f16 ? "fp16" : "fp32";
}

std::string wire_misfit(const Cell& c) {
  if (c.reduce_dtype == c.precision || c.reduce_dtype == "fp32") return "";
  if (dtype_named(c.precision) != DType::f32)
    return fmt::format(
        "--reduce-dtype {} does not fit --precision {}: a 2-byte gradient travels as itself or in "
        "fp32.",
        c.reduce_dtype, c.precision);
  if (c.reduce_dtype == "bf16") return "";
  return "--reduce-dtype fp16 needs the loss scale of --precision fp16, since small gradients "
         "vanish in it; with fp32 it may be fp32 or bf16.";
}

void check_precision(const Cell& c) {
  if (c.vocab != "own" && c.config.empty())
    throw InputError(fmt::format(
        "a cell's \"vocab\" is {}, but its \"config\" names no file that its model came from.",
        c.vocab));
  if (c.vocab == "own" && !c.config.empty())
    throw InputError(fmt::format(
        "a cell's \"vocab\" is own, but with a \"config\", {}, it must be config or bytes.",
        c.config));
  const bool scaled = c.precision == "fp16";
  if (const std::string why = wire_misfit(c); !why.empty()) throw InputError(why);
  const auto only_scaled = [&](const char* flag, auto value) {
    if (!scaled && value != 0)
      throw InputError(fmt::format("{} {} is for --precision fp16; the loss of {} is not scaled.",
                                   flag, value, c.precision));
  };
  only_scaled("--loss-scale", c.loss_scale);
  only_scaled("--loss-scale-window", c.loss_scale_window);
  if (scaled && (c.loss_scale == 0 || c.loss_scale_window == 0))
    throw InputError(
        "a cell's \"loss_scale\" or \"loss_scale_window\" is 0, but --precision fp16 needs both.");
}

std::vector<bool> frozen_by(const std::vector<std::string>& patterns, const Architecture& a) {
  if (patterns.empty()) return {};
  std::vector<bool> frozen(a.parameters.size());
  std::vector<std::string> names;
  for (const Parameter& p : a.parameters) names.push_back(p.name);
  for (const std::string& pattern : patterns) {
    bool any = false;
    for (std::size_t i = 0; i < names.size(); ++i)
      if (::fnmatch(pattern.c_str(), names[i].c_str(), 0) == 0) any = frozen[i] = true;
    if (!any)
      throw InputError(fmt::format(
          "--freeze \"{}\" matches no parameter of {}; its names are such as {} and {}{}", pattern,
          a.name, names.front(), names.back(), suggestion(pattern, names)));
  }
  if (std::find(frozen.begin(), frozen.end(), false) == frozen.end())
    throw InputError(
        fmt::format("--freeze \"{}\" freezes all parameters of {}, and nothing is left to train; "
                    "leave one, such as {}.",
                    join(patterns, ","), a.name, names.back()));
  return frozen;
}

}  // namespace shardmark
