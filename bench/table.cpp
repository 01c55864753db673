// What does sharding buy, and what does it cost? See table.hpp; the blocks are in blocks.hpp.
#include "bench/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>

#include "bench/blocks.hpp"
#include "bench/legend.hpp"
#include "bench/link_text.hpp"
#include "bench/record.hpp"
#include "bench/text.hpp"
#include "bench/units.hpp"
#include "bench/watched.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

std::string times(double count, const char* one, const char* many) {
  return fmt::format("{} {}", grouped(count), count == 1 ? one : many);
}

// "4 MB", not "4.00 MB": somebody has chosen it.
std::string round_bytes(double bytes) {
  const DecimalUnit unit = unit_for(bytes, "B");
  return fmt::format("{:g} {}", bytes / unit.size, unit.name);
}

// Options that change bytes, in words; empty where there is nothing to say, none where the key is
// another one.
std::optional<std::string> option(const std::string& key, const json& value) {
  if (key == "precision") return value.get<std::string>();
  if (key == "reduce_dtype") return "gradients travel in " + value.get<std::string>();
  if (key == "loss_scale")
    return value == 0 ? "" : fmt::format("loss scale from {}", value.get<double>());
  if (key == "loss_scale_window")
    return value == 0 ? "" : "doubled behind " + times(value, "good step", "good steps");
  if (key == "recompute") return value == "none" ? "" : "activations computed again";
  if (key == "keep_last") return value == true ? "" : "gathered again at the turn";
  if (key == "persist_below")
    return value == 0 ? "" : fmt::format("whole below {} elements", grouped(value));
  if (key == "freeze") {
    std::vector<std::string> patterns = value;
    return patterns.empty() ? "" : fmt::format("frozen: {}", fmt::join(patterns, ", "));
  }
  return std::nullopt;
}

// A setting in words; empty where there is nothing to say.
std::string setting(const std::string& key, const json& value) {
  if (value.is_null() || key.ends_with("_reason")) return "";
  if (const auto text = option(key, value)) return *text;
  if (key == "accumulate") return times(value, "micro-step a step", "micro-steps a step");
  if (key == "threads_per_rank") return times(value, "thread a rank", "threads a rank");
  if (key == "steps") return times(value, "step", "steps");
  if (key == "warmup") return times(value, "of warm-up", "of warm-up");
  if (key == "clip")
    return value == 0 ? "no clipping" : fmt::format("norm clipped to {}", value.get<double>());
  if (key == "lr") return fmt::format("learning rate {}", value.get<double>());
  if (key == "seed") return fmt::format("seed {}", value.get<std::uint64_t>());
  if (key == "bucket_bytes")
    return value == 0 ? "a bucket a unit" : "buckets of " + round_bytes(value);
  if (key == "buckets") return times(value, "bucket alive", "buckets alive");
  if (key == "memory_limit_bytes") return "memory limit " + round_bytes(value);
  if (key == "all_reduce") return value.get<std::string>() + " all-reduce";
  if (key == "device") return "device " + value.get<std::string>();
  if (key == "comm") return value.get<std::string>() + " ranks";
  if (key == "collectives")
    return value == "memory" ? "through memory"
           : value == "ring" ? "a ring of messages"
                             : "the MPI library's collectives";
  if (key == "link")
    return value == "none" ? "" : "emulated link " + link_in_words(value.get<std::string>());
  if (key == "prefetch") return times(value, "unit gathered ahead", "units gathered ahead");
  if (key == "launcher")
    return value == "none"    ? ""
           : value == "given" ? "in a world that was given"
                              : "started by " + value.get<std::string>();
  if (key == "interface")
    return value == "" ? "" : "counters of interface " + value.get<std::string>();
  if (key == "network") return value == "" ? "" : "network: " + value.get<std::string>();
  if (key == "data") {
    std::string files;
    for (const json& file : value) files += " " + file.get<std::string>();
    return files.empty() ? "" : "data" + files;
  }
  if (key == "trace") return value == true ? traced_text : "";
  if (key == "profile") return value == "cupti" ? profiled_text : "";
  if (key == "inject") return value == "" ? "" : "fault on purpose: " + value.get<std::string>();
  if (key == "timeout_s") return fmt::format("timeout {} s", value.get<double>());
  if (key == "comm_timeout_s") return fmt::format("collectives' timeout {} s", value.get<double>());
  return key + " " + value.dump();
}

constexpr const char* in_title[] = {"model", "ranks", "batch", "sequence", "config", "vocab"};
constexpr const char* shown_first[] = {
    "precision",     "reduce_dtype", "loss_scale",   "device",    "comm",
    "collectives",   "link",         "network",      "interface", "threads_per_rank",
    "steps",         "warmup",       "accumulate",   "clip",      "lr",
    "seed",          "buckets",      "bucket_bytes", "prefetch",  "keep_last",
    "persist_below", "recompute",    "freeze"};
// Of no interest unless they differ: when a cell is given up, and who starts its ranks.
constexpr const char* unremarkable[] = {"timeout_s", "comm_timeout_s", "launcher",
                                        "loss_scale_window"};
// What a group without it is said to have, beside one that has it.
constexpr std::pair<const char*, const char*> instead[] = {{"link", "no emulated link"},
                                                           {"recompute", "activations kept"},
                                                           {"keep_last", "kept at the turn"},
                                                           {"persist_below", "nothing whole"},
                                                           {"freeze", "nothing frozen"}};

template <class List>
bool contains(const List& list, const std::string& key) {
  return std::find(std::begin(list), std::end(list), key) != std::end(list);
}

bool differs(const std::vector<Group>& groups, const std::string& key) {
  return std::any_of(groups.begin(), groups.end(), [&](const Group& g) {
    return g.settings.value(key, json()) != groups.front().settings.value(key, json());
  });
}

std::string joined(const std::vector<std::string>& parts, const char* between = ", ") {
  std::string all;
  for (const std::string& part : parts)
    if (!part.empty()) all += (all.empty() ? "" : between) + part;
  return all;
}

std::vector<std::string> ordered_keys(const json& settings) {
  std::vector<std::string> keys(std::begin(shown_first), std::end(shown_first));
  for (const auto& [key, value] : settings.items())
    if (!contains(keys, key)) keys.push_back(key);
  return keys;
}

// Gradients travel in the precision's own type unless something else was asked for.
bool follows(const json& settings, const std::string& key) {
  return key == "reduce_dtype" &&
         settings.value(key, json()) == settings.value("precision", json());
}

std::string common_settings(const std::vector<Group>& groups) {
  std::vector<std::string> parts;
  const json& settings = groups.front().settings;
  for (const std::string& key : ordered_keys(settings))
    if (!contains(in_title, key) && !contains(unremarkable, key) && !differs(groups, key) &&
        !(key == "all_reduce" && settings.value("collectives", "") == "library") &&
        !follows(settings, key))
      parts.push_back(setting(key, settings.value(key, json())));
  return joined(parts);
}

// Two files may have one name: then the hash that their ids have.
std::string model_in(const json& settings, const std::vector<Group>& groups) {
  const std::string name = model_at(settings);
  const bool alone = std::none_of(groups.begin(), groups.end(), [&](const Group& g) {
    return model_at(g.settings) == name && g.settings["model"] != settings["model"];
  });
  return alone ? name : name + "~" + short_hash(text_at(settings, "model"));
}

std::string title(const Group& group, const std::vector<Group>& groups) {
  const json& s = group.settings;
  std::vector<std::string> parts = {
      model_in(s, groups), times(s["ranks"], "rank", "ranks"),
      fmt::format("{} x {} tokens a rank", s["batch"].get<int>(), s["sequence"].get<int>())};
  for (const Row& row : group.rows)
    if (row.shown) {
      parts.push_back(grouped((*row.shown)["bytes"]["parameters"]) + " parameters");
      break;
    }
  for (const std::string& key : ordered_keys(s))
    if (!contains(in_title, key) && differs(groups, key) &&
        !(follows(s, key) && differs(groups, "precision"))) {
      const std::string text = setting(key, s.value(key, json()));
      const auto absent = std::find_if(std::begin(instead), std::end(instead),
                                       [&](const auto& pair) { return pair.first == key; });
      parts.push_back(text.empty() && absent != std::end(instead) ? absent->second : text);
    }
  return joined(parts, "  ·  ");
}

std::string machine_line(const json& m) {
  std::vector<std::string> parts = {m.value("cpu", json()).is_string() ? m["cpu"].get<std::string>()
                                                                       : "unknown processor"};
  if (m.value("cores_usable", json()).is_number())
    parts.push_back(times(m["cores_usable"], "core", "cores"));
  if (m.value("instruction_set", json()).is_string()) parts.push_back(m["instruction_set"]);
  if (m.contains("libraries")) parts.push_back(m["libraries"].value("matrix", ""));
  if (m.contains("build")) {
    parts.push_back(m["build"].value("compiler", ""));
    parts.push_back(m["build"].value("type", ""));
  }
  return joined(parts);
}

std::string heading(const std::vector<json>& records, const std::vector<Group>& groups,
                    std::size_t columns) {
  const json& first = records.front();
  std::string commit = "no commit known";
  if (first["commit"].is_string()) {
    commit = "commit " + first["commit"].get<std::string>().substr(0, 10);
    if (first["dirty"].is_boolean() && first["dirty"].get<bool>()) commit += " with changes";
  }
  const std::size_t rounds = rounds_of(groups);
  std::string text =
      joined({"shardmark", "suite " + first["suite"].get<std::string>(),
              times(static_cast<double>(rounds), "round", "rounds in random order"), commit},
             "  ·  ");
  text += "\n" + wrapped(machine_line(first["machine"]), columns);
  text += "\n" + wrapped(common_settings(groups), columns) + "\n";
  return text;
}

}  // namespace

std::string table(const std::vector<json>& records, int columns) {
  if (records.empty()) return "no records\n";
  const auto width = static_cast<std::size_t>(std::max(columns, 80));
  const std::vector<Group> groups = summarize(records);
  const std::vector<Finding> findings = cross_checks(records);
  Notes notes;
  std::string text = heading(records, groups, width);
  for (const Group& group : groups) {
    text += "\n" + wrapped(title(group, groups), width, "  ") + "\n";
    for (const std::string& block :
         {time_block(group, notes, width), communication_block(group, notes, width),
          overlap_block(group, notes, width), rates_block(group, findings, notes, width),
          bytes_block(group, notes, width), traffic_block(group, notes, width)})
      if (!block.empty()) text += "\n" + block;
  }
  text += "\n";
  const auto& sentences = notes.sentences();
  for (std::size_t i = 0; i < sentences.size(); ++i)
    text += wrapped(Notes::number(i + 1) + " " + sentences[i], width, "  ") + "\n";
  if (!sentences.empty()) text += "\n";
  return text + legend(groups, not_compared(records), width);
}

}  // namespace shardmark
