// What is one configuration, and what is it called? See cell.hpp.
#include "bench/cell.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "bench/link_text.hpp"
#include "bench/suite.hpp"
#include "bench/text.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

// Every field once, under its key: what writes, reads and compares a cell goes through here.
// memory_limit_bytes is apart: no limit is null in JSON.
template <class C, class F>
void each_field(C& c, F&& field) {
  field("model", c.model);
  field("strategy", c.strategy);
  field("device", c.device);
  field("comm", c.comm);
  field("collectives", c.collectives);
  field("link", c.link);
  field("launcher", c.launcher);
  field("interface", c.interface);
  field("network", c.network);
  field("ranks", c.ranks);
  field("threads_per_rank", c.threads_per_rank);
  field("overlap", c.overlap);
  field("all_reduce", c.all_reduce);
  field("batch", c.batch);
  field("accumulate", c.accumulate);
  field("sequence", c.sequence);
  field("warmup", c.warmup);
  field("steps", c.steps);
  field("clip", c.clip);
  field("lr", c.lr);
  field("seed", c.seed);
  field("data", c.data);
  field("bucket_bytes", c.bucket_bytes);
  field("buckets", c.buckets);
  field("prefetch", c.prefetch);
  field("keep_last", c.keep_last);
  field("persist_below", c.persist_below);
  field("precision", c.precision);
  field("reduce_dtype", c.reduce_dtype);
  field("loss_scale", c.loss_scale);
  field("loss_scale_window", c.loss_scale_window);
  field("recompute", c.recompute);
  field("freeze", c.freeze);
  field("vocab", c.vocab);
  field("config", c.config);
  field("timeout_s", c.timeout_s);
  field("comm_timeout_s", c.comm_timeout_s);
  field("inject", c.inject);
  field("trace", c.trace);
  field("profile", c.profile);
}

// The files' names; where a path says more than its last name, so does a hash of all of them.
std::string data_text(const std::vector<std::string>& files) {
  std::vector<std::string> names;
  for (const std::string& f : files) names.push_back(std::filesystem::path(f).filename().string());
  const std::string all = join(names, "+");
  const std::string paths = join(files, "+");
  return all == paths ? all : all + "~" + short_hash(paths);
}

// Free text as a part of an id: itself where that is one word, else its first and a hash of all.
std::string short_text(const std::string& text) {
  std::string kept;
  for (const char c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_';
    if (plain) kept += c;
    if (!plain && !kept.empty() && kept.back() != '-') kept += '-';
  }
  if (kept == text) return text;
  return kept.substr(0, std::min<std::size_t>(24, kept.find('-'))) + "~" + short_hash(text);
}

// A config's name alone would hide what is in it, and which vocabulary it got.
std::string model_text(const Cell& c) {
  return c.config.empty() ? c.model : short_text(c.config) + "~" + short_hash(c.model);
}

// A file is not typed by flags, so their bounds have not been looked at: they are the same ones.
void check_bounds(const Cell& c) {
  std::vector<std::pair<const char*, std::string>> values = {
      {"ranks", fmt::to_string(c.ranks)},
      {"threads_per_rank", fmt::to_string(c.threads_per_rank)},
      {"batch", fmt::to_string(c.batch)},
      {"accumulate", fmt::to_string(c.accumulate)},
      {"sequence", fmt::to_string(c.sequence)},
      {"steps", fmt::to_string(c.steps)},
      {"warmup", fmt::to_string(c.warmup)},
      {"clip", fmt::to_string(c.clip)},
      {"lr", fmt::to_string(c.lr)},
      {"seed", fmt::to_string(c.seed)},
      {"buckets", fmt::to_string(c.buckets)},
      {"prefetch", fmt::to_string(c.prefetch)},
      {"persist_below", fmt::to_string(c.persist_below)},
      {"precision", c.precision},
      {"reduce_dtype", c.reduce_dtype},
      {"recompute", c.recompute},
      {"all_reduce", c.all_reduce},
      {"device", c.device},
      {"comm", c.comm},
      {"collectives", c.collectives},
      {"link", c.link},
      {"timeout_s", fmt::to_string(c.timeout_s)},
      {"comm_timeout_s", fmt::to_string(c.comm_timeout_s)}};
  if (c.vocab != "own") values.emplace_back("vocab", c.vocab);
  if (c.loss_scale != 0) values.emplace_back("loss_scale", fmt::to_string(c.loss_scale));
  if (c.loss_scale_window != 0)
    values.emplace_back("loss_scale_window", fmt::to_string(c.loss_scale_window));
  for (const auto& [key, value] : values) {
    std::string flag = std::string("--") + key;
    if (flag.ends_with("_s")) flag.resize(flag.size() - 2);
    std::replace(flag.begin(), flag.end(), '_', '-');
    Draft unused;
    for (const CellFlag& f : cell_flags())
      if (flag == f.name) f.set(unused, fmt::format("a cell's \"{}\"", key), value);
  }
  const std::uint64_t most = 1'000'000'000'000;
  if ((c.bucket_bytes > 0 && c.bucket_bytes < 4) || c.bucket_bytes > most)
    throw InputError(
        fmt::format("a cell's \"bucket_bytes\" is {}, but must be 0 (a layer's) or from 4 to {}.",
                    c.bucket_bytes, most));
}

// A cell written before there were these computed what their defaults say, so that a run can go on.
bool came_with_precision(std::string_view key) {
  for (const char* k : {"keep_last", "persist_below", "precision", "reduce_dtype", "loss_scale",
                        "loss_scale_window", "recompute", "freeze", "vocab", "config"})
    if (key == k) return true;
  return false;
}

// JSON's own conversions would make 1.5 ranks 1, true 1, and -1 bytes 2^64 - 1.
template <class T>
bool right_type(const json& value) {
  if (std::is_same_v<T, bool>) return value.is_boolean();
  if (std::is_unsigned_v<T> && value.is_number_integer() && !value.is_number_unsigned())
    return value.get<std::int64_t>() >= 0;
  if (std::is_integral_v<T>) return value.is_number_integer();
  return !std::is_floating_point_v<T> || value.is_number();
}

}  // namespace

bool of_processes(const Cell& c) {
  return c.comm == "mpi" || (c.comm == "nccl" && c.launcher != "none");
}

std::string usual_collectives(const Cell& c) {
  if (c.comm == "nccl") return "nccl";
  return c.comm == "thread" && c.link == "none" ? "memory" : "ring";
}

std::string usual_reduce_dtype(const Cell& c) { return type_word(dtype_named(c.precision)); }

double usual_loss_scale(const Cell& c) {
  return c.precision == "fp16" ? double{LossScaling().initial} : 0;
}

std::int64_t usual_loss_scale_window(const Cell& c) {
  return c.precision == "fp16" ? LossScaling().window : 0;
}

std::string usual_launcher(const Cell& c) { return c.comm == "mpi" ? "mpirun" : "none"; }

std::string id_of(const Cell& c) {
  const Cell standard;
  std::string id = fmt::format("{}/{}/n{}/overlap-{}", model_text(c), c.strategy, c.ranks,
                               c.overlap ? "on" : "off");
  const auto differing = [&](auto member, auto&& text) {
    if (c.*member != standard.*member) id += "/" + text(c.*member);
  };
  const auto with = [](const char* format) {
    return [format](const auto& value) { return fmt::format(fmt::runtime(format), value); };
  };
  differing(&Cell::device, with("{}"));
  differing(&Cell::comm, with("{}"));
  if (c.collectives != usual_collectives(c)) id += "/collectives-" + c.collectives;
  differing(&Cell::link, with("link-{}"));
  if (c.launcher != usual_launcher(c)) id += "/launcher-" + short_text(c.launcher);
  differing(&Cell::interface, with("interface-{}"));
  differing(&Cell::network,
            [](const std::string& words) { return "network-" + short_text(words); });
  differing(&Cell::threads_per_rank, with("threads-{}"));
  differing(&Cell::all_reduce, with("all-reduce-{}"));
  differing(&Cell::batch, with("batch-{}"));
  differing(&Cell::accumulate, with("accumulate-{}"));
  differing(&Cell::sequence, with("sequence-{}"));
  differing(&Cell::warmup, with("warmup-{}"));
  differing(&Cell::steps, with("steps-{}"));
  differing(&Cell::clip, with("clip-{}"));
  differing(&Cell::lr, with("lr-{}"));
  differing(&Cell::seed, with("seed-{}"));
  differing(&Cell::data, [](const auto& files) { return "data-" + data_text(files); });
  differing(&Cell::bucket_bytes, [](std::uint64_t b) { return "bucket-" + bytes_text(b); });
  differing(&Cell::buckets, with("buckets-{}"));
  differing(&Cell::prefetch, with("prefetch-{}"));
  differing(&Cell::keep_last, [](bool) { return std::string("keep-last-off"); });
  differing(&Cell::persist_below, with("persist-{}"));
  differing(&Cell::precision, with("{}"));
  if (c.reduce_dtype != usual_reduce_dtype(c)) id += "/reduce-" + c.reduce_dtype;
  if (c.loss_scale != usual_loss_scale(c)) id += fmt::format("/loss-scale-{}", c.loss_scale);
  if (c.loss_scale_window != usual_loss_scale_window(c))
    id += fmt::format("/scale-window-{}", c.loss_scale_window);
  differing(&Cell::recompute, with("recompute-{}"));
  if (!c.config.empty() && c.vocab != "config") id += "/vocab-" + c.vocab;
  differing(&Cell::freeze,
            [](const auto& patterns) { return "freeze-" + short_text(join(patterns, ",")); });
  differing(&Cell::memory_limit_bytes, [](std::uint64_t b) { return "memory-" + bytes_text(b); });
  differing(&Cell::timeout_s, with("timeout-{}"));
  differing(&Cell::comm_timeout_s, with("comm-timeout-{}"));
  differing(&Cell::inject, with("inject-{}"));
  differing(&Cell::trace, [](bool) { return std::string("trace"); });
  differing(&Cell::profile, with("profile-{}"));
  return id;
}

json to_json(const Cell& c) {
  json out = {{"id", id_of(c)}};
  each_field(c, [&](const char* key, const auto& value) { out[key] = value; });
  if (c.memory_limit_bytes > 0) {
    out["memory_limit_bytes"] = c.memory_limit_bytes;
  } else {
    out["memory_limit_bytes"] = nullptr;
    out["memory_limit_bytes_reason"] = "no limit was asked for";
  }
  return out;
}

Cell cell_from_json(const json& from) {
  if (!from.is_object()) throw InputError("a cell must be a JSON object.");
  Cell c;
  const bool older = !from.contains("precision");
  std::vector<std::string> keys = {"id", "memory_limit_bytes", "memory_limit_bytes_reason"};
  each_field(c, [&](const char* key, auto& value) {
    keys.emplace_back(key);
    const auto it = from.find(key);
    if (it == from.end() && older && came_with_precision(key)) return;
    const std::string_view k = key;
    if (it == from.end() && (k == "trace" || k == "profile")) return;  // none was, before
    if (it == from.end()) throw InputError(fmt::format("a cell lacks the key \"{}\".", key));
    try {
      if (!right_type<std::decay_t<decltype(value)>>(*it)) throw InputError("");
      it->get_to(value);
    } catch (const std::exception&) {
      throw InputError(
          fmt::format("a cell's \"{}\" is {}, which is of the wrong type.", key, it->dump()));
    }
  });
  check_bounds(c);
  if (const std::string link = canonical_link("a cell's \"link\"", c.link); link != c.link)
    throw InputError(fmt::format("a cell's \"link\" is \"{}\", but is written {}.", c.link, link));
  if (const auto it = from.find("memory_limit_bytes"); it != from.end() && !it->is_null()) {
    if (!right_type<std::uint64_t>(*it) || *it == 0)
      throw InputError(
          fmt::format("a cell's \"memory_limit_bytes\" is {}, but must be null (no limit) or a "
                      "whole number above 0.",
                      it->dump()));
    c.memory_limit_bytes = *it;
  }
  for (const auto& [key, value] : from.items())
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      throw InputError(fmt::format("a cell's key \"{}\" is unknown{}", key, suggestion(key, keys)));
  return c;
}

}  // namespace shardmark
