// What of a record must repeat exactly, and under which circumstances? See compare_facts.hpp.
#include "bench/compare_facts.hpp"

#include <fmt/format.h>

#include "bench/record.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

void add_bytes(const json& bytes, Exact& out) {
  for (const char* key : {"parameters", "trainable", "padding_elements"})
    out.formula[key] = bytes.at(key);
  for (const json& h : bytes.at("held")) {
    // A library's scratch space is its own affair on another machine.
    Facts& into = text_at(h, "tag") == "workspace" ? out.memory : out.formula;
    const std::string what = fmt::format("bytes of {} {}", text_at(h, "tag"), text_at(h, "dtype"));
    into[what + ", measured"] = h.at("measured_bytes");
    into[what + ", claimed"] = h.at("exact_bytes");
    into[what + ", textbook"] = h.at("textbook_bytes");
  }
  const json& peaks = bytes.at("peak_by_rank_bytes");
  for (std::size_t i = 0; i < peaks.size(); ++i)
    out.memory[fmt::format("peak bytes of rank {}", i)] = peaks[i];
  out.memory["peak bytes"] = bytes.at("peak_bytes");
}

void add_traffic(const json& traffic, Exact& out) {
  constexpr std::pair<const char*, const char*> figures[] = {
      {"calls", "calls a step, counted"},
      {"exact_calls", "calls a step, claimed"},
      {"payload_bytes", "payload bytes a step, counted"},
      {"exact_payload_bytes", "payload bytes a step, claimed"},
      {"textbook_payload_bytes", "payload bytes a step, textbook"},
      {"volume_bytes", "volume bytes a step, counted"},
      {"exact_volume_bytes", "volume bytes a step, claimed"},
      {"textbook_volume_bytes", "volume bytes a step, textbook"}};
  for (const json& c : traffic.at("called"))
    for (const auto& [key, words] : figures)
      out.formula[fmt::format("{} {}, {}", text_at(c, "verb"), text_at(c, "dtype"), words)] =
          c.at(key);
  const json& volumes = traffic.at("total_volume_bytes");
  for (std::size_t i = 0; i < volumes.size(); ++i)
    out.formula[fmt::format("volume bytes of rank {}, all steps", i)] = volumes[i];
}

void add_training(const json& training, Exact& out) {
  out.training["loss"] = training.at("loss");
  out.training["norm before clipping"] = training.at("norm_before");
  out.training["loss scale"] = training.at("loss_scale");
  out.training["skipped steps"] = training.at("skipped_steps");
  out.training["hash of the final parameters"] = training.at("parameter_hash");
}

// Recorded since these sections are: a record of an older build has none.
void add_steady(const json& steady, Exact& out) {
  out.formula["allocations a step"] = steady.at("allocations");
  if (!steady.at("spans").is_array()) return;
  for (const json& s : steady["spans"]) {
    const std::string carried = s.contains("verb")
                                    ? fmt::format(", {} {} of {} bytes", text_at(s, "verb"),
                                                  text_at(s, "dtype"), s.at("payload_bytes").dump())
                                    : "";
    out.formula[fmt::format("spans of {} {} on the {} queue{}", text_at(s, "phase"),
                            s.at("label").dump(), text_at(s, "queue"), carried)] = s.at("count");
  }
}

// What may change the last digits of a sum though nothing is wrong.
Facts circumstances_of(const json& record) {
  const json& m = record.at("machine");
  const json libraries = m.value("libraries", json::object()),
             build = m.value("build", json::object());
  Facts out = {{"the instruction set", m.value("instruction_set", json())},
               {"what the processor can do", m.value("cpu_flags", json())},
               {"the library of matrix products", libraries.value("matrix", json())},
               {"the compiler", build.value("compiler", json())},
               {"the compiler's flags", build.value("flags", json())}};
  if (record.at("rates").is_object())
    out["what multiplies matrices"] = record.at("rates").at("products");
  if (record.at("corpus").is_object())
    out["the text that was trained on"] = record.at("corpus").at("fnv1a64");
  if (text_at(record.at("cell"), "comm") == "mpi")
    out["the MPI library"] = libraries.value("mpi", json());
  return out;
}

}  // namespace

Exact exact_of(const json& record) {
  Exact out;
  if (record.at("bytes").is_object()) add_bytes(record["bytes"], out);
  if (record.at("traffic").is_object()) add_traffic(record["traffic"], out);
  if (const auto it = record.find("steady"); it != record.end() && it->is_object())
    add_steady(*it, out);
  const json& cell = record.at("cell");
  // A library adds in whatever order it likes.
  if (record.at("training").is_object() && cell.value("collectives", "memory") != "library")
    add_training(record["training"], out);
  out.circumstances = circumstances_of(record);
  for (const auto& [key, value] : cell.items())
    if (key != "id" && key != "timeout_s" && key != "comm_timeout_s" && !key.ends_with("_reason"))
      out.settings[key] = value;
  if (record.at("checks").is_object())
    for (const auto& [check, value] : record["checks"].items())
      if (value.is_boolean()) out.checks["check " + check] = value;
  return out;
}

}  // namespace shardmark
