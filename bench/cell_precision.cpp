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

void check_precision(const Cell& c) {
  if (c.vocab == "config" && c.config.empty())
    throw InputError(
        "a cell's \"vocab\" is config, but its \"config\" names no file that its model came from.");
  const bool scaled = c.precision == "fp16";
  if (c.reduce_dtype == "fp16" && !scaled)
    throw InputError(
        fmt::format("--reduce-dtype fp16 needs the loss scale of --precision fp16, since small "
                    "gradients vanish in it; with {} it may be fp32 or bf16.",
                    c.precision));
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
