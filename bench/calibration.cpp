// What would this machine be as a cluster? See calibration.hpp.
#include "bench/calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/cell.hpp"
#include "bench/cost_fit.hpp"
#include "bench/machine.hpp"
#include "bench/prediction.hpp"
#include "impl/train.hpp"
#include "kernels/rates.hpp"

namespace shardmark {
namespace {

// No suite has these widths, and none these lengths.
struct Lesson {
  const char *model, *strategy, *precision;
  std::size_t batch, sequence;
};
constexpr Lesson lessons[] = {
    {"gpt:layers=2,width=96,heads=3", "zero3", "fp32", 1, 160},
    {"gpt:layers=2,width=144,heads=4", "zero3", "fp32", 3, 224},
    {"gpt:layers=2,width=160,heads=5", "ddp", "fp32", 4, 288},
    {"gpt:layers=2,width=320,heads=5", "ddp", "fp32", 1, 224},
    {"gpt:layers=2,width=448,heads=7", "zero3", "fp32", 1, 288},
    {"gpt:layers=3,width=512,heads=8", "ddp", "fp32", 1, 224},
    {"gpt:layers=3,width=512,heads=8", "zero3", "fp32", 1, 224},
    {"llama:layers=2,width=96,heads=4,kv_heads=2", "zero3", "fp32", 1, 160},
    {"llama:layers=2,width=160,heads=4,kv_heads=2", "ddp", "fp32", 3, 224},
    {"llama:layers=2,width=320,heads=5,kv_heads=1", "ddp", "fp32", 1, 288},
    {"mlp:layers=2,width=96", "zero3", "fp32", 2, 160},
    {"mlp:layers=2,width=320", "ddp", "fp32", 2, 288},
    {"gpt:layers=2,width=96,heads=3", "zero3", "bf16", 1, 160},
    {"gpt:layers=2,width=160,heads=5", "ddp", "bf16", 4, 288},
    {"gpt:layers=2,width=320,heads=5", "zero3", "bf16", 1, 224},
    {"gpt:layers=2,width=96,heads=3", "zero3", "fp16", 1, 160},
    {"gpt:layers=2,width=160,heads=5", "ddp", "fp16", 4, 288},
};

Training training_of(const Lesson& l, int ranks) {
  Training t;
  t.model = l.model, t.strategy = l.strategy;
  t.ranks = ranks;
  t.batch = l.batch, t.sequence = l.sequence;
  t.overlap = false;
  t.steps = 12;
  t.time_ops = true;
  t.options.precision = precision_in(dtype_named(l.precision), dtype_named(l.precision));
  t.options.clip = 1;
  t.options.bucket_elements = 150'000;
  t.corpus = load_text({}).bytes;
  return t;
}

double middle(std::vector<std::int64_t> v) {
  const auto half = v.begin() + static_cast<std::ptrdiff_t>((v.size() - 1) / 2);
  std::nth_element(v.begin(), half, v.end());
  return static_cast<double>(std::max<std::int64_t>(*half, 1));
}

class Notebook {
 public:
  explicit Notebook(double cache_bytes) : cache_bytes_(cache_bytes) {}

  void add(const TrainingReport& r) {
    const double cold =
        cold_share_of(held_bytes(r.claims) * static_cast<double>(r.ranks.size()), cache_bytes_);
    std::map<std::tuple<std::string, double, double>, std::vector<std::int64_t>> times;
    for (const RankReport& rank : r.ranks)
      for (const OpTime& o : rank.ops) {
        auto& all = times[{o.kind, o.flops, o.bytes}];
        all.insert(all.end(), o.ns.begin(), o.ns.end());
      }
    for (const auto& [what, ns] : times)
      ops_[std::get<0>(what)].push_back(
          {std::get<1>(what), std::get<2>(what), middle(ns), cold * std::get<2>(what)});
    for (const Interval& i : r.ranks.front().timeline.lane(0))
      take_collective(i, r.ranks.size(), cold);
  }

  void write(Cluster& c) const {
    for (const auto& [kind, samples] : ops_) c.ops[kind] = fit_cost(samples);
    for (const auto& [verb, samples] : verbs_)
      // A call whose bytes cost nothing was not measured.
      if (const OpCost cost = fit_cost(samples); cost.ns_per_byte + cost.ns_per_cold_byte > 0)
        c.verbs[verb] = cost;
  }

 private:
  // Bytes of volume; of f32 nothing is cast on the way.
  void take_collective(const Interval& i, std::size_t ranks, double cold) {
    if (!i.collective || i.collective->dtype != DType::f32 || i.transfer_ns <= 0) return;
    const double volume = volume_of(i.collective->verb, static_cast<double>(i.collective->bytes()),
                                    static_cast<double>(ranks));
    verbs_[i.collective->verb].push_back(
        {0, volume, static_cast<double>(i.transfer_ns), cold * volume});
  }

  double cache_bytes_;
  std::map<std::string, std::vector<CostSample>> ops_;
  std::map<Verb, std::vector<CostSample>> verbs_;
};

// Of the whole machine; 0 where it is not known.
double last_cache_bytes(const nlohmann::json& m) {
  if (m["caches"].is_null()) return 0;
  int level = 0;
  double bytes = 0;
  for (const auto& cache : m["caches"]) {
    if (cache["level"].get<int>() <= level) continue;
    level = cache["level"];
    const double shares = std::max(1, cache["shared_by_cores"].get<int>());
    bytes = cache["size_bytes"].get<double>() * std::ceil(m["cores_usable"].get<double>() / shares);
  }
  return bytes;
}

}  // namespace

Cluster calibrated(const std::function<void(const std::string&)>& say) {
  const nlohmann::json m = machine();
  const int cores = m["cores_usable"];
  Cluster c;
  c.cpu = cpu_in(m);
  c.name = fmt::format("{}, {} cores", c.cpu.substr(0, 60), cores);
  c.gpus_per_node = cores;
  c.memory_bytes = (m["memory_bytes"].is_null() ? 1e9 : m["memory_bytes"].get<double>()) / cores;
  say("ceilings");
  for (const char* precision : {"fp32", "bf16", "fp16"}) {
    const DType type = dtype_named(precision);
    c.peak_flops_per_ns[type] = c.achieved_flops_per_ns[type] =
        matrix_rate(cores, type) * 1e-9 / cores;
  }
  c.peak_memory_bytes_per_ns = c.memory_bytes_per_ns = streaming_rate(cores) * 1e-9 / cores;
  c.cache_bytes = last_cache_bytes(m);
  Notebook notes(c.cache_bytes);
  for (const Lesson& l : lessons) {
    say(fmt::format("{} {} by {}", l.model, l.precision, l.strategy));
    notes.add(train(training_of(l, cores)));
  }
  notes.write(c);
  c.inside = {c.memory_bytes_per_ns, 0};
  if (const auto gather = c.verbs.find(Verb::all_gather);
      gather != c.verbs.end() && gather->second.ns_per_byte > 0)
    c.inside = {1 / gather->second.ns_per_byte, gather->second.launch_ns};
  c.between = c.inside;
  for (const char* what : {"matrix_tflops", "memory_gb_per_s"})
    c.sources[what] = fmt::format("measured on all {} cores at once, a core's part", cores);
  c.sources["cache_bytes"] = "of the last cache, as the kernel says";
  c.sources["ops"] = "measured inside of training steps, one rank a core";
  c.sources["verbs"] = c.sources["inside_node"] = "measured between ranks of one process";
  c.sources["between_nodes"] = "not measured: as inside; give --link, or write a figure here";
  return c;
}

}  // namespace shardmark
