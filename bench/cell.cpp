// What is one configuration, and what is it called? See cell.hpp.
#include "bench/cell.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "bench/embedded.hpp"
#include "bench/registry.hpp"
#include "bench/suite.hpp"
#include "bench/text.hpp"
#include "impl/inject.hpp"
#include "impl/models/registry.hpp"

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
  field("timeout_s", c.timeout_s);
  field("comm_timeout_s", c.comm_timeout_s);
  field("inject", c.inject);
}

// The files' names; where a path says more than its last name, so does a hash of all of them.
std::string data_text(const std::vector<std::string>& files) {
  std::vector<std::string> names;
  for (const std::string& f : files) names.push_back(std::filesystem::path(f).filename().string());
  const std::string all = join(names, "+");
  const std::string paths = join(files, "+");
  return all == paths ? all : all + "~" + hex16(fnv1a64(paths)).substr(0, 4);
}

// A file is not typed by flags, so their bounds have not been looked at: they are the same ones.
void check_bounds(const Cell& c) {
  const std::pair<const char*, std::string> values[] = {
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
      {"all_reduce", c.all_reduce},
      {"device", c.device},
      {"comm", c.comm},
      {"timeout_s", fmt::to_string(c.timeout_s)},
      {"comm_timeout_s", fmt::to_string(c.comm_timeout_s)}};
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

// JSON's own conversions would make 1.5 ranks 1, true 1, and -1 bytes 2^64 - 1.
template <class T>
bool right_type(const json& value) {
  if (std::is_same_v<T, bool>) return value.is_boolean();
  if (std::is_unsigned_v<T> && value.is_number_integer() && !value.is_number_unsigned())
    return value.get<std::int64_t>() >= 0;
  if (std::is_integral_v<T>) return value.is_number_integer();
  return !std::is_floating_point_v<T> || value.is_number();
}

// A bucket is at least 8 elements a rank (impl/layout.hpp); each is described in memory.
void check_segments(const Cell& c, std::size_t parameters) {
  if (c.bucket_bytes == 0) return;
  constexpr std::size_t most = 1'000'000;
  const std::size_t least = 8 * static_cast<std::size_t>(c.ranks);
  const std::size_t segments = parameters / std::max(least, std::size_t{c.bucket_bytes / 4});
  if (segments > most)
    throw InputError(fmt::format(
        "--bucket-mb is {}, which cuts the {} parameters of --model {} into {} buckets, but there "
        "may be at most {}; give a larger one.",
        static_cast<double>(c.bucket_bytes) * 1e-6, parameters, c.model, segments, most));
}

}  // namespace

std::string id_of(const Cell& c) {
  const Cell standard;
  std::string id =
      fmt::format("{}/{}/n{}/overlap-{}", c.model, c.strategy, c.ranks, c.overlap ? "on" : "off");
  const auto differing = [&](auto member, auto&& text) {
    if (c.*member != standard.*member) id += "/" + text(c.*member);
  };
  const auto with = [](const char* format) {
    return [format](const auto& value) { return fmt::format(fmt::runtime(format), value); };
  };
  differing(&Cell::device, with("{}"));
  differing(&Cell::comm, with("{}"));
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
  differing(&Cell::memory_limit_bytes, [](std::uint64_t b) { return "memory-" + bytes_text(b); });
  differing(&Cell::timeout_s, with("timeout-{}"));
  differing(&Cell::comm_timeout_s, with("comm-timeout-{}"));
  differing(&Cell::inject, with("inject-{}"));
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
  std::vector<std::string> keys = {"id", "memory_limit_bytes", "memory_limit_bytes_reason"};
  each_field(c, [&](const char* key, auto& value) {
    keys.emplace_back(key);
    const auto it = from.find(key);
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

Text load_text(const std::vector<std::string>& files) {
  Text corpus{"built-in", {}, 0};
  std::string all;
  if (files.empty()) {
    all = embedded("corpus.txt");
  } else {
    std::vector<std::string> names;
    for (const std::string& f : files) {
      const std::string text = read_whole_file("--data", f);
      if (text.empty())
        throw InputError(fmt::format("--data: {} is empty; give a file with some text in it.", f));
      names.push_back(std::filesystem::path(f).filename().string());
      all += text;
    }
    corpus.name = join(names, "+");
  }
  corpus.hash = fnv1a64(all);
  corpus.bytes.assign(all.begin(), all.end());
  return corpus;
}

Training training_of(const Cell& c, std::vector<std::uint8_t> corpus) {
  Training t;
  t.model = c.model;
  t.strategy = c.strategy;
  t.ranks = static_cast<int>(c.ranks);
  t.batch = static_cast<std::size_t>(c.batch);
  t.sequence = static_cast<std::size_t>(c.sequence);
  t.warmup = static_cast<int>(c.warmup);
  t.steps = static_cast<int>(c.steps);
  t.seed = c.seed;
  t.overlap = c.overlap;
  t.threads_per_rank = static_cast<int>(c.threads_per_rank);
  t.comm_timeout_s = c.comm_timeout_s;
  t.options.accumulate = static_cast<int>(c.accumulate);
  t.options.buckets = static_cast<int>(c.buckets);
  t.options.bucket_elements = c.bucket_bytes / size_of(t.options.precision.wire);
  t.options.clip = c.clip;
  t.options.adam.lr = static_cast<float>(c.lr);
  t.options.all_reduce =
      c.all_reduce == "direct" ? Options::AllReduce::direct : Options::AllReduce::composed;
  t.corpus = std::move(corpus);
  t.inject = c.inject;
  return t;
}

void validate(const Cell& c, std::size_t corpus_bytes) {
  const auto strategies_known = strategy_names();
  if (std::find(strategies_known.begin(), strategies_known.end(), c.strategy) ==
      strategies_known.end())
    throw InputError(fmt::format("--strategy \"{}\" is unknown; known are all, {}{}", c.strategy,
                                 join(strategies_known, ", "),
                                 suggestion(c.strategy, strategies_known)));
  const auto models = model_names();
  if (c.model.find(':') == c.model.npos &&
      std::find(models.begin(), models.end(), c.model) == models.end())
    throw InputError(
        fmt::format("--model \"{}\" is unknown; known are {} and free forms such as "
                    "gpt:layers=4,width=256,heads=8{}",
                    c.model, join(models, ", "), suggestion(c.model, models)));
  const auto needed = static_cast<std::size_t>(c.sequence) + 1;
  if (corpus_bytes < needed)
    throw InputError(
        fmt::format("{} has {} bytes, but a sequence of {} needs at least {}: give more text or a "
                    "shorter --sequence.",
                    c.data.empty() ? "the built-in corpus" : "--data " + join(c.data, " "),
                    corpus_bytes, c.sequence, needed));
  injection(c.inject, -1);
  try {
    check_segments(c, make_architecture(c.model, static_cast<std::size_t>(c.sequence),
                                        static_cast<std::size_t>(c.batch))
                          .parameter_count());
  } catch (const InputError& e) {
    const std::string sentence = e.what();
    throw InputError(sentence.starts_with("model '") ? "--" + sentence : sentence);
  }
  claims_of(training_of(c, std::vector<std::uint8_t>(needed)));
}

bool oversubscribed(const Cell& c, unsigned cores) {
  const std::int64_t threads = c.ranks * (c.threads_per_rank + (c.overlap && c.ranks > 1 ? 1 : 0));
  return threads > static_cast<std::int64_t>(cores);
}

}  // namespace shardmark
