// How is a cluster written down? See cluster_file.hpp.
#include "bench/cluster_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/embedded.hpp"
#include "bench/text.hpp"
#include "impl/models/json_text.hpp"

namespace shardmark {
namespace {

using nlohmann::json;

constexpr const char* extension = ".cluster.json";

// An object of the file; what is not asked for is not known.
class Figures {
 public:
  Figures(json all, std::string file, std::string path)
      : all_(std::move(all)), file_(std::move(file)), path_(std::move(path)) {}

  bool has(const std::string& key) const { return all_.contains(key) && !all_[key].is_null(); }

  double number(const std::string& key, double least, double most) const {
    const json& value = at(key, "a number");
    if (!value.is_number() || !(value.get<double>() >= least && value.get<double>() <= most))
      refuse(key, fmt::format("is {}, but must be a number from {:g} to {:g}", value.dump(), least,
                              most));
    return value;
  }
  // In GB/s or TFLOP/s: beyond these a step has no number of nanoseconds.
  double rate(const std::string& key) const { return number(key, 1e-6, 1e9); }
  double us(const std::string& key) const { return number(key, 0, 1e9); }

  std::string word(const std::string& key) const {
    const json& value = at(key, "a text");
    if (!value.is_string()) refuse(key, fmt::format("is {}, but must be a text", value.dump()));
    return value;
  }

  Figures below(const std::string& key) const {
    const json& value = at(key, "an object");
    if (!value.is_object()) refuse(key, fmt::format("is {}, but must be an object", value.dump()));
    return {value, file_, path_ + key + "."};
  }

  std::vector<std::string> keys() const {
    std::vector<std::string> out;
    for (const auto& [key, value] : all_.items()) out.push_back(key);
    return out;
  }

  void only(const std::vector<std::string>& known) const {
    for (const std::string& key : keys())
      if (std::find(known.begin(), known.end(), key) == known.end())
        throw InputError(fmt::format("{}: {}{} is unknown; known are {}{}", file_, path_, key,
                                     join(known, ", "), suggestion(key, known)));
  }

  [[noreturn]] void refuse(const std::string& key, const std::string& what) const {
    throw InputError(fmt::format("{}: {}{} {}.", file_, path_, key, what));
  }

 private:
  const json& at(const std::string& key, const char* what) const {
    if (!has(key)) refuse(key, fmt::format("is missing; it is {}", what));
    return all_[key];
  }
  json all_;
  std::string file_, path_;
};

Lane lane_of(const Figures& f) {
  f.only({"gb_per_s", "latency_us"});
  return {f.rate("gb_per_s"), f.us("latency_us") * 1e3};
}

DType type_named(const Figures& f, const std::string& key) {
  for (const DType t : {DType::f32, DType::bf16, DType::f16})
    if (name(t) == key) return t;
  f.refuse(key, "is no type of products; known are f32, bf16, f16");
}

Verb verb_named(const Figures& f, const std::string& key) {
  for (const Verb v : {Verb::all_reduce, Verb::reduce_scatter, Verb::all_gather})
    if (name(v) == key) return v;
  f.refuse(key, "is no verb; known are all_reduce, reduce_scatter, all_gather");
}

void read_rates(Cluster& c, const Figures& all) {
  const Figures matrix = all.below("matrix_tflops");
  for (const std::string& key : matrix.keys()) {
    const Figures one = matrix.below(key);
    one.only({"peak", "achieved", "attention"});
    const DType type = type_named(matrix, key);
    if (one.has("attention")) c.attention_flops_per_ns[type] = one.rate("attention") * 1e3;
    c.peak_flops_per_ns[type] = one.rate("peak") * 1e3;
    c.achieved_flops_per_ns[type] = one.rate(one.has("achieved") ? "achieved" : "peak") * 1e3;
  }
  if (matrix.keys().empty()) all.refuse("matrix_tflops", "is empty, but must hold one type");
  const Figures memory = all.below("memory_gb_per_s");
  memory.only({"peak", "achieved"});
  c.peak_memory_bytes_per_ns = memory.rate("peak");
  c.memory_bytes_per_ns = memory.rate(memory.has("achieved") ? "achieved" : "peak");
}

OpCost cost_in(const Figures& f) {
  f.only({"launch_us", "us_per_gflop", "us_per_gb", "us_per_cold_gb"});
  const auto figure = [&f](const char* key) { return f.has(key) ? f.number(key, 0, 1e12) : 0; };
  return {figure("launch_us") * 1e3, figure("us_per_gflop") * 1e-6, figure("us_per_gb") * 1e-6,
          figure("us_per_cold_gb") * 1e-6};
}

void read_measured(Cluster& c, const Figures& all) {
  if (all.has("cache_bytes")) c.cache_bytes = all.number("cache_bytes", 0, 1e18);
  if (all.has("ops"))
    for (const Figures ops = all.below("ops"); const std::string& key : ops.keys())
      c.ops[key] = cost_in(ops.below(key));
  if (all.has("verbs"))
    for (const Figures verbs = all.below("verbs"); const std::string& key : verbs.keys())
      c.verbs[verb_named(verbs, key)] = cost_in(verbs.below(key));
}

bool is_eager(const Figures& all) {
  if (!all.has("kernels")) return false;
  const std::string kernels = all.word("kernels");
  if (kernels != "eager" && kernels != "fused")
    all.refuse("kernels", fmt::format("is \"{}\", but must be eager or fused", kernels));
  return kernels == "eager";
}

// It stands in sentences.
std::string name_in(const Figures& all) {
  std::string name = all.word("name");
  const bool prints =
      std::none_of(name.begin(), name.end(), [](unsigned char c) { return c < ' ' || c == 127; });
  if (name.empty() || name.size() > 80 || !prints)
    all.refuse("name", "must be a text of 1 to 80 bytes in one line");
  return name;
}

bool is_file(const std::string& name) { return name.find_first_of("/.") != std::string::npos; }

// To six digits: no figure here is known better, and people read them.
double short_of(double value) { return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr); }

nlohmann::ordered_json to_json(const Lane& lane) {
  return {{"gb_per_s", short_of(lane.bytes_per_ns)},
          {"latency_us", short_of(lane.latency_ns * 1e-3)}};
}

nlohmann::ordered_json to_json(const OpCost& cost) {
  nlohmann::ordered_json out = {{"launch_us", short_of(cost.launch_ns * 1e-3)}};
  const auto add = [&out](const char* key, double ns) {
    if (ns > 0) out[key] = short_of(ns * 1e6);
  };
  add("us_per_gflop", cost.ns_per_flop);
  add("us_per_gb", cost.ns_per_byte);
  add("us_per_cold_gb", cost.ns_per_cold_byte);
  return out;
}

}  // namespace

std::vector<std::string> cluster_presets() {
  std::vector<std::string> names = embedded_names(extension);
  for (std::string& n : names) n.resize(n.size() - std::string_view(extension).size());
  return names;
}

Cluster cluster_of(const std::string& flag, const std::string& name) {
  if (is_file(name)) return read_cluster(read_config(flag, name), name);
  const auto known = cluster_presets();
  if (std::find(known.begin(), known.end(), name) == known.end())
    throw InputError(fmt::format(
        "{} \"{}\" is no preset and no file: presets are {}; a file's name has a dot or a /{}",
        flag, name, join(known, ", "), suggestion(name, known)));
  return read_cluster(std::string(embedded(name + extension)), name);
}

Cluster read_cluster(const std::string& text, const std::string& file) {
  const Figures all(json_object(text, file, "a cluster"), file, "");
  all.only({"name", "gpus_per_node", "memory_bytes", "matrix_tflops", "memory_gb_per_s",
            "launch_us", "kernels", "inside_node", "between_nodes", "contention", "cache_bytes",
            "cpu", "ops", "verbs", "sources"});
  Cluster c;
  c.name = name_in(all);
  if (all.has("cpu")) c.cpu = all.word("cpu");
  const double gpus = all.number("gpus_per_node", 1, 1e6);
  if (gpus != std::floor(gpus))
    all.refuse("gpus_per_node", fmt::format("is {}, but must be a whole number", gpus));
  c.gpus_per_node = static_cast<int>(gpus);
  c.memory_bytes = all.number("memory_bytes", 1e6, 1e18);
  read_rates(c, all);
  c.launch_ns = all.has("launch_us") ? all.us("launch_us") * 1e3 : 0;
  c.eager = is_eager(all);
  c.inside = lane_of(all.below("inside_node"));
  c.between = all.has("between_nodes") ? lane_of(all.below("between_nodes")) : c.inside;
  if (all.has("contention")) c.contention = all.number("contention", 1, 100);
  read_measured(c, all);
  if (all.has("sources"))
    for (const Figures from = all.below("sources"); const std::string& key : from.keys())
      c.sources[key] = from.word(key);
  return c;
}

nlohmann::ordered_json to_json(const Cluster& c) {
  nlohmann::ordered_json out = {
      {"name", c.name}, {"gpus_per_node", c.gpus_per_node}, {"memory_bytes", c.memory_bytes}};
  for (const auto& [type, peak] : c.peak_flops_per_ns) {
    auto& rates = out["matrix_tflops"][std::string(name(type))];
    rates = {{"peak", short_of(peak * 1e-3)},
             {"achieved", short_of(c.achieved_flops_per_ns.at(type) * 1e-3)}};
    const auto attention = c.attention_flops_per_ns.find(type);
    if (attention != c.attention_flops_per_ns.end())
      rates["attention"] = short_of(attention->second * 1e-3);
  }
  out["memory_gb_per_s"] = {{"peak", short_of(c.peak_memory_bytes_per_ns)},
                            {"achieved", short_of(c.memory_bytes_per_ns)}};
  out["launch_us"] = short_of(c.launch_ns * 1e-3);
  out["kernels"] = c.eager ? "eager" : "fused";
  out["inside_node"] = to_json(c.inside);
  out["between_nodes"] = to_json(c.between);
  out["contention"] = c.contention;
  if (c.cache_bytes > 0) out["cache_bytes"] = c.cache_bytes;
  if (!c.cpu.empty()) out["cpu"] = c.cpu;
  for (const auto& [kind, cost] : c.ops) out["ops"][kind] = to_json(cost);
  for (const auto& [verb, cost] : c.verbs) out["verbs"][std::string(name(verb))] = to_json(cost);
  out["sources"] = c.sources;
  return out;
}

}  // namespace shardmark
