// What does a large report show? Writes example records for the page's test into a folder: a run of
// 200 cells, a file of three runs, collectives.
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "bench/cluster_file.hpp"
#include "bench/example_records.hpp"

namespace {

using nlohmann::json;
namespace example = shardmark::example;

constexpr int cores = 8;

// As many spans as a model of 12 layers has.
json lane(const char* first, const char* second, bool communicates, std::int64_t step_ns) {
  constexpr int spans = 28;
  json out = {{"phase", json::array()},        {"label", json::array()},
              {"begin_ns", json::array()},     {"end_ns", json::array()},
              {"skew_ns", json::array()},      {"verb", json::array()},
              {"payload_bytes", json::array()}};
  for (int i = 0; i < spans; ++i) {
    const std::int64_t begin = step_ns * i / spans, length = step_ns / spans;
    out["phase"].push_back(i < spans / 2 ? first : second);
    out["label"].push_back(i % (spans / 2));
    out["begin_ns"].push_back(begin);
    out["end_ns"].push_back(begin + (communicates ? length / 2 : length * 9 / 10));
    out["skew_ns"].push_back(communicates ? length / 8 : 0);
    out["verb"].push_back(communicates ? json("all_gather") : json());
    out["payload_bytes"].push_back(communicates ? json(500000 + i) : json());
  }
  return out;
}

json record(const std::string& strategy, bool overlap, int round, double step_ms, int ranks) {
  json r = example::record_of(strategy, overlap, round, step_ms, ranks);
  const auto step_ns = static_cast<std::int64_t>(step_ms * 1e6);
  json by_rank = json::array();
  for (int rank = 0; rank < ranks; ++rank)
    by_rank.push_back({{"rank", rank},
                       {"compute", lane("forward", "backward", false, step_ns)},
                       {"communication", lane("gather", "reduce", true, step_ns)}});
  r["timeline"] = {
      {"step", 3}, {"step_ns", step_ns}, {"clocks_comparable", true}, {"ranks", by_rank}};
  return r;
}

constexpr const char* strategies[] = {"ddp",   "zero1",       "zero2",
                                      "zero3", "zero1_naive", "zero2_naive"};

void write_cells(const std::string& file) {
  std::ofstream out(file);
  int cells = 0;
  for (const char* precision : {"fp32", "bf16", "fp16"})
    for (const int ranks : {1, 2, 4, 8})
      for (const int sequence : {256, 512})
        for (const bool overlap : {false, true})
          for (const char* strategy : strategies) {
            if (cells == 200) return;
            ++cells;
            for (int round = 1; round <= 3; ++round) {
              json r =
                  record(strategy, overlap, round,
                         40 + cells % 23 + ranks + 0.3 * round + (sequence > 256 ? 35 : 0), ranks);
              r["cell"]["precision"] = precision;
              r["cell"]["reduce_dtype"] = precision;
              r["cell"]["sequence"] = sequence;
              r["machine"]["cores_usable"] = cores;
              r["cell"]["id"] = r["cell"]["id"].get<std::string>() + "/sequence-" +
                                std::to_string(sequence) + "/" + precision;
              if (cells % 67 == 0)
                example::set_failed(r, "failed", "rank 1: </script> ended by SIGKILL");
              out << r.dump() << '\n';
            }
          }
}

// The machine of the cells, with the figures of a preset: their errors mean nothing.
void write_machine(const std::string& file) {
  shardmark::Cluster c = shardmark::cluster_of("--cluster", "a100");
  c.cpu = example::record()["machine"]["cpu"].get<std::string>();
  c.gpus_per_node = cores;
  std::ofstream(file) << shardmark::to_json(c).dump() << '\n';
}

void write_history(const std::string& file) {
  std::ofstream out(file);
  for (int run = 0; run < 3; ++run)
    for (const char* strategy : strategies)
      for (int round = 1; round <= 3; ++round) {
        json r = record(strategy, true, round, 50 + 2 * run + 0.5 * round, 2);
        r["run"] = "2026010" + std::to_string(run + 1) + "T000000Z-gate-" + std::to_string(run);
        r["commit"] = std::string(40, static_cast<char>('a' + run));
        r["dirty"] = run == 1;
        if (run == 2) r["machine"]["cpu"] = "Another Example CPU @ 3.20GHz";
        out << r.dump() << '\n';
      }
}

json collectives(int ranks) {
  json r = example::record();
  for (const char* key : {"time", "timeline", "steady", "rates", "bytes", "traffic", "training",
                          "resident", "checks", "corpus"})
    r.erase(key);
  r["kind"] = "collectives";
  r["suite"] = "collectives";
  r["oversubscribed"] = ranks > 2;
  r["cell"] = {{"kind", "collectives"},
               {"id", "collectives/thread/n" + std::to_string(ranks)},
               {"comm", "thread"},
               {"ranks", ranks},
               {"link", "none"}};
  json rows = json::array(), lines = json::array();
  for (const char* verb : {"reduce_scatter", "all_gather", "all_reduce"})
    for (const char* by : {"memory", "ring"}) {
      const double share = (ranks - 1.0) / ranks,
                   factor = verb == std::string("all_reduce") ? 2 * share : share;
      const double alpha = 1000.0 * ranks, beta = factor * (by == std::string("ring") ? 0.15 : 0.1);
      for (double bytes = 4096; bytes < 1e8; bytes *= 4) {
        const double ns = alpha + beta * bytes;
        rows.push_back({{"verb", verb},
                        {"collectives", by},
                        {"payload_bytes", bytes},
                        {"median_ns", ns},
                        {"min_ns", ns},
                        {"p95_ns", ns},
                        {"factor", factor},
                        {"busbw_bytes_per_s", factor * bytes / ns * 1e9},
                        {"wrong_elements", 0}});
      }
      lines.push_back({{"verb", verb},
                       {"collectives", by},
                       {"alpha_ns", alpha},
                       {"beta_ns_per_byte", beta},
                       {"error", 0.0},
                       {"poor", false}});
    }
  r["collectives"] = {{"rows", rows}, {"lines", lines}};
  return r;
}

void write_collectives(const std::string& file) {
  std::ofstream out(file);
  for (const int ranks : {2, 4}) out << collectives(ranks).dump() << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("usage: report_sample FOLDER\n", stderr), 2;
  const std::string folder = argv[1];
  write_cells(folder + "/cells.jsonl");
  write_machine(folder + "/machine.json");
  write_history(folder + "/history.jsonl");
  write_collectives(folder + "/collectives.jsonl");
  return 0;
}
