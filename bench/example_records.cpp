// Which records can the tests of the table show? See example_records.hpp.
#include "bench/example_records.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>

#ifndef SHARDMARK_TESTDATA
#error "the build says where the test data is"
#endif

namespace shardmark::example {

using nlohmann::json;

namespace {

// Bytes of one parameter that are whole on each rank, and that are cut in N: design, table of
// bytes, pure fp32.
struct Textbook {
  double parameter, gradient, moment;  // bytes of P, before /N
  bool cut_parameter, cut_gradient, cut_moment;
};
Textbook textbook(const std::string& strategy) {
  if (strategy == "ddp") return {4, 4, 4, false, false, false};
  if (strategy == "zero2") return {4, 4, 4, false, true, true};
  if (strategy == "zero3") return {4, 4, 4, true, true, true};
  return {4, 4, 4, false, false, true};  // zero1 and both naive ones
}

json call(const char* verb, const char* dtype, int calls, double payload, double volume) {
  return {{"verb", verb},
          {"dtype", dtype},
          {"textbook_payload_bytes", payload},
          {"textbook_volume_bytes", volume},
          {"exact_calls", calls},
          {"exact_payload_bytes", static_cast<std::uint64_t>(payload)},
          {"exact_volume_bytes", static_cast<std::uint64_t>(volume)},
          {"calls", calls},
          {"payload_bytes", static_cast<std::uint64_t>(payload)},
          {"volume_bytes", static_cast<std::uint64_t>(volume)}};
}

void set_bytes(json& r, const std::string& strategy, int ranks) {
  const Textbook t = textbook(strategy);
  double states = 0;
  for (json& h : r["bytes"]["held"]) {
    const std::string tag = h["tag"];
    const bool moment = tag == "first_moment" || tag == "second_moment";
    if (!moment && tag != "parameter" && tag != "gradient") continue;
    const bool cut = moment ? t.cut_moment : tag == "parameter" ? t.cut_parameter : t.cut_gradient;
    const double bytes = (moment               ? t.moment
                          : tag == "parameter" ? t.parameter
                                               : t.gradient) *
                         parameters / (cut ? ranks : 1);
    states += bytes;
    h["formula"] = std::string("4P") + (cut ? "/N" : "");
    h["textbook_bytes"] = bytes;
    h["exact_bytes"] = bytes;
    h["measured_bytes"] = static_cast<std::uint64_t>(bytes);
  }
  const auto whole = static_cast<std::uint64_t>(states);
  r["bytes"]["model_state"] = {{"textbook_bytes", states},
                               {"exact_bytes", states},
                               {"measured_bytes", whole},
                               {"fp32_measured_bytes", whole}};
  const std::uint64_t peak = whole + 21'538'680;  // activation and workspace of the example
  r["bytes"]["peak_bytes"] = peak;
  r["bytes"]["peak_by_rank_bytes"] =
      std::vector<std::uint64_t>(static_cast<std::size_t>(ranks), peak);
}

void set_traffic(json& r, const std::string& strategy, int ranks) {
  const double n = ranks, payload = 4.0 * parameters, volume = payload * (n - 1) / n;
  json called = json::array();
  if (strategy == "ddp" || strategy == "zero1_naive") {
    called.push_back(call("all_reduce", "f32", 1, payload, 2 * volume));
  } else {
    called.push_back(call("all_reduce", "f64", 1, 8, 16 * (n - 1) / n));
    called.push_back(call("reduce_scatter", "f32", 5, payload, volume));
  }
  const int gathers = strategy == "zero3" ? 2 : strategy == "ddp" ? 0 : 1;
  if (gathers > 0)
    called.push_back(call("all_gather", "f32", 5 * gathers, gathers * payload, gathers * volume));
  std::uint64_t total = 0;
  for (const json& c : called) total += 6 * c["volume_bytes"].get<std::uint64_t>();
  r["traffic"]["called"] = called;
  r["traffic"]["total_volume_bytes"] =
      std::vector<std::uint64_t>(static_cast<std::size_t>(ranks), total);
  r["traffic"]["moved_bytes"] = r["traffic"]["total_volume_bytes"];
  if (ranks > 1) return;
  for (const char* key : {"moved_over_volume", "moved_over_volume_witness"}) {
    r["traffic"][key] = nullptr;
    r["traffic"][std::string(key) + "_reason"] = "nothing was to be sent";
  }
}

}  // namespace

json record() { return all_records().front(); }

std::vector<json> all_records() {
  std::istringstream lines(read("records.jsonl"));
  std::vector<json> records;
  for (std::string line; std::getline(lines, line);) records.push_back(json::parse(line));
  return records;
}

void set_step(json& r, double step_ms, double communication_ms, double hidden_ms) {
  const auto us = [](double ms) { return static_cast<std::int64_t>(ms * 1000 + 0.5) * 1000; };
  json& m = r["time"]["median"];
  m["step_ns"] = us(step_ms);
  m["communication_ns"] = us(communication_ms);
  m["hidden_ns"] = us(hidden_ms);
  m["exposed_ns"] = us(communication_ms) - us(hidden_ms);
  m["clip_ns"] = us(0.5);
  m["update_ns"] = us(3);
  m["other_ns"] = us(0.5);
  m["recompute_ns"] = 0;
  m["reduce_ns"] = us(communication_ms);
  m["gather_ns"] = 0;
  m["skew_ns"] = us(communication_ms / 4);
  m["transfer_ns"] = us(communication_ms) - us(communication_ms / 4);
  m["hidden_transfer_ns"] = us(hidden_ms * 3 / 4);
  for (json& s : r["time"]["samples"]) s["transfer_ns"] = json::array_t(4, m["transfer_ns"]);
  for (const char* key : {"ideal_hidden_ns", "ideal_exposed_ns"}) {
    m.erase(key + std::string("_reason"));
    m[key] = key == std::string("ideal_hidden_ns") ? us(hidden_ms + 1) : us(communication_ms / 4);
    if (hidden_ms > 0) continue;
    m[key] = nullptr;
    m[key + std::string("_reason")] = "without overlap nothing can be hidden";
  }
  r["time"]["step_ns"] = {us(step_ms - 1), us(step_ms), us(step_ms + 1), us(step_ms + 2)};
  const std::int64_t rest = us(step_ms) - us(communication_ms) + us(hidden_ms) - us(4);
  m["forward_ns"] = rest / 3;
  m["backward_ns"] = rest - rest / 3;
  r["rates"]["tokens_per_second"] = 2048 / (step_ms * 1e-3);
  r["rates"]["communication_share"] = communication_ms / step_ms;
  r["rates"]["exposed_share"] = (communication_ms - hidden_ms) / step_ms;
}

json record_of(const std::string& strategy, bool overlap, int round, double step_ms, int ranks) {
  json r = record();
  r["round"] = round;
  r["oversubscribed"] = overlap;
  json& c = r["cell"];
  c["strategy"] = strategy;
  c["overlap"] = overlap;
  c["ranks"] = ranks;
  c["id"] = "gpt-nano/" + strategy + "/n" + std::to_string(ranks) +
            (overlap ? "/overlap-on" : "/overlap-off");
  r["machine"] = {{"cpu", "Example CPU @ 2.80GHz"},
                  {"cores_usable", 2},
                  {"instruction_set", "avx2"},
                  {"libraries", {{"matrix", "oneDNN 3.1.0"}}},
                  {"build", {{"compiler", "g++ 12.2.0"}, {"type", "Release"}}}};
  set_bytes(r, strategy, ranks);
  set_traffic(r, strategy, ranks);
  set_step(r, step_ms, 6, overlap ? 4 : 0);
  return r;
}

// Volumes of the model are too small for an interface to be judged by, but not to be shown.
void set_counted(json& r, const std::string& interface) {
  const auto n = r["cell"]["ranks"].get<std::size_t>();
  json hosts = json::array(), by_rank = json::array();
  double a_step = 0;
  for (const json& c : r["traffic"]["called"]) a_step += c["volume_bytes"].get<double>();
  const auto volume = static_cast<std::uint64_t>(3 * a_step);
  const std::uint64_t payload = volume + volume / 200, packets = payload / 1448 + 1;
  for (std::size_t i = 0; i < n; ++i) {
    hosts.push_back("node" + std::to_string(i));
    by_rank.push_back({{"bytes", payload + 66 * packets},
                       {"packets", packets},
                       {"payload_bytes", payload},
                       {"volume_bytes", volume}});
  }
  r["hosts"] = hosts;
  json& t = r["traffic"];
  t.erase("interface_reason");
  t["interface"] = {{"name", interface},
                    {"mtu", 1500},
                    {"header_bytes_per_packet", 66},
                    {"steps", 3},
                    {"by_rank", by_rank}};
  t["moved_over_volume"] = static_cast<double>(payload) / static_cast<double>(volume);
  t["moved_over_volume_witness"] = "interface";
}

json mpi_record(const std::string& strategy, bool overlap, int round, double step_ms) {
  json r = record_of(strategy, overlap, round, step_ms, 4);
  json& c = r["cell"];
  c["comm"] = "mpi";
  c["collectives"] = "ring";
  c["launcher"] = "mpirun";
  c["interface"] = "eth0";
  c["network"] = "four hosts at 1 Gbit/s";
  c["id"] = c["id"].get<std::string>() + "/mpi/interface-eth0/network-four~1234";
  set_counted(r, "eth0");
  // On several hosts nobody knows who waited for whom.
  for (json* part : {&r["time"]["median"], &r["time"]["samples"][0], &r["time"]["samples"][1]}) {
    for (const char* key : {"skew_ns", "transfer_ns", "hidden_transfer_ns"}) {
      (*part)[key] = nullptr;
      (*part)[std::string(key) + "_reason"] = "ranks on several hosts have no clock in common";
    }
  }
  return r;
}

json linked_record(const std::string& strategy, bool overlap, int round, double step_ms) {
  json r = record_of(strategy, overlap, round, step_ms);
  json& c = r["cell"];
  c["collectives"] = "ring";
  c["link"] = "1gbit,50us";
  c["id"] = c["id"].get<std::string>() + "/link-1gbit,50us";
  r["emulated_link"] = {{"rate_bytes_per_second", 125e6}, {"latency_ns", 50000}};
  r.erase("emulated_link_reason");
  return r;
}

void set_failed(json& r, const std::string& status, const std::string& reason) {
  r["status"] = status;
  r["reason"] = reason;
  for (const char* key : {"hosts", "time", "timeline", "steady", "rates", "bytes", "traffic",
                          "training", "resident", "checks"}) {
    r[key] = nullptr;
    r[std::string(key) + "_reason"] = reason;
  }
}

std::vector<json> ladder() {
  constexpr std::array<const char*, 6> strategies = {"zero2_naive", "ddp",         "zero3",
                                                     "zero1",       "zero1_naive", "zero2"};
  constexpr std::array<double, 6> steps = {76, 75, 81, 74, 79, 75.5};
  constexpr std::array<double, 3> rounds = {0.4, -0.4, 0};
  std::vector<json> records;
  for (int round = 1; round <= 3; ++round)
    for (std::size_t i = 0; i < strategies.size(); ++i)
      for (const bool overlap : {true, false})
        records.push_back(
            record_of(strategies[i], overlap, round,
                      steps[i] + rounds[static_cast<std::size_t>(round) - 1] - (overlap ? 2 : 0)));
  return records;
}

Words lines_of(const std::string& text) {
  std::istringstream in(text);
  Words lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Words row(const std::string& text, const std::string& block, const std::string& label) {
  bool inside = false;
  for (const std::string& line : lines_of(text)) {
    if (line.rfind(block, 0) == 0) inside = true;
    if (line.empty()) inside = false;
    if (!inside || line.rfind(label + " ", 0) != 0) continue;
    std::istringstream in(line);
    Words words;
    for (std::string w; in >> w;)
      if (w != "≈") words.push_back(w);
    return words;
  }
  return {};
}

std::string read(const std::string& name) {
  std::ifstream in(std::string(SHARDMARK_TESTDATA) + "/" + name);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void expect_golden(const std::string& name, const std::string& text) {
  if (std::getenv("SHARDMARK_UPDATE_GOLDEN")) {
    std::ofstream(std::string(SHARDMARK_TESTDATA) + "/" + name) << text;
    return;
  }
  EXPECT_EQ(text, read(name))
      << "if the change is meant, read it and run again with SHARDMARK_UPDATE_GOLDEN=1";
}

}  // namespace shardmark::example
