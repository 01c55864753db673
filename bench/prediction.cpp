// What would a run of this cell hold and send? See prediction.hpp.
#include "bench/prediction.hpp"

#include <fmt/format.h>

#include <map>
#include <tuple>

#include "bench/registry.hpp"
#include "bench/text.hpp"
#include "impl/dry_run.hpp"
#include "impl/models/config.hpp"
#include "impl/models/registry.hpp"
#include "impl/passes.hpp"
#include "kernels/cpu/math.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

// Beyond so many segments a step on the dry device is no matter of milliseconds.
constexpr double most_dry_segments = 1000;

class Models {
 public:
  std::shared_ptr<const ModelConfig> of(const Cell& c) {
    auto& known = known_[{c.model, c.sequence, c.batch}];
    if (!known) known = std::make_shared<ModelConfig>(read(c));
    return known;
  }

 private:
  static ModelConfig read(const Cell& c) {
    const auto sequence = static_cast<std::size_t>(c.sequence);
    const auto batch = static_cast<std::size_t>(c.batch);
    if (is_config(c.model))
      return read_model_config(read_config("--model", c.model), c.model, sequence, batch);
    check_model(c);
    ModelConfig m;
    m.form = c.model;
    m.architecture = make_architecture(c.model, sequence, batch);
    m.active = m.architecture.parameter_count();
    m.embedding = embedding_parameters(m.architecture);
    return m;
  }

  std::map<std::tuple<std::string, std::int64_t, std::int64_t>, std::shared_ptr<ModelConfig>>
      known_;
};

double segments_of(const Claims& c) {
  double calls = 0;
  for (const auto& [what, traffic] : c.exact_calls) calls += static_cast<double>(traffic.calls);
  return calls;
}

// The first step holds nothing of one before it.
DryAsked asked_of(const Prediction& p) {
  return {.steps = 2,
          .check_order = false,
          .outline = p.model->form.empty() ? &p.model->architecture : nullptr};
}

void take_peak(Prediction& p, const DryReport& dry) {
  p.peak_bytes = static_cast<double>(dry.steps.back().peak_bytes);
  p.peak_exact = true;
}

// Some seconds, and a GB of timeline.
void check_dry(const Prediction& p) {
  constexpr double most = 100'000;
  const double units = static_cast<double>(p.model->architecture.units.size()) *
                       static_cast<double>(p.cell.accumulate);
  if (segments_of(p.claims) + units <= most) return;
  throw InputError(fmt::format(
      "a step of {} has {:.0f} collectives and {:.0f} passes through a unit, but its time can be "
      "predicted up to {:.0f} of both together: give a larger --bucket-mb or a smaller "
      "--accumulate, or no --cluster.",
      p.cell.strategy, segments_of(p.claims), units, most));
}

std::pair<PredictedTime, DryReport> timed(const Prediction& p, const Training& t,
                                          const Cluster& given) {
  check_dry(p);
  const Cluster cluster = cluster_for(given, p.cell);
  ClusterClock clock(cluster, placement_of(cluster, p.cell, held_bytes(p.claims)));
  DryAsked asked = asked_of(p);
  asked.steps = ClusterClock::steps, asked.clock = clock.clock();
  DryReport dry = dry_run(t, asked);
  return {clock.read(dry, p.flops_per_step, p.tokens_per_step, t.options.precision.parameter),
          std::move(dry)};
}

void run_dry(Prediction& p, Training t, const std::optional<Cluster>& cluster) {
  p.peak_bytes = held_bytes(p.claims);
  t.model = p.model->form;
  if (cluster) {
    auto [time, dry] = timed(p, t, *cluster);
    p.time = std::move(time);
    take_peak(p, dry);
  } else if (segments_of(p.claims) <= most_dry_segments) {
    take_peak(p, dry_run(t, asked_of(p)));
  }
}

Prediction predicted(const Cell& cell, Models& models, const std::optional<Cluster>& cluster) {
  const auto known = strategy_names();
  if (std::find(known.begin(), known.end(), cell.strategy) == known.end())
    throw InputError(fmt::format("--strategy \"{}\" is unknown; known are all, {}{}", cell.strategy,
                                 join(known, ", "), suggestion(cell.strategy, known)));
  check_precision(cell);
  Prediction p;
  p.cell = cell;
  p.model = models.of(cell);
  const Architecture& a = p.model->architecture;
  check_segments(cell, a.parameter_count(), 1'000'000'000);
  const Training t = training_of(cell, {}, a);
  p.claims = claims_of(t, a);
  // Beyond that bytes have no number here; no machine has them either.
  if (held_bytes(p.claims) > 4e18)
    throw InputError(
        fmt::format("--model {} with --batch {} and --sequence {} would hold {:.1e} bytes on a "
                    "rank, but {:.0e} "
                    "are the most that can be counted; give a smaller batch or sequence.",
                    cell.config.empty() ? cell.model : cell.config, cell.batch, cell.sequence,
                    held_bytes(p.claims), 4e18));
  p.flops_per_step = flops_of(a, t.options) * static_cast<double>(cell.accumulate);
  p.tokens_per_step =
      static_cast<double>(a.rows) * static_cast<double>(cell.ranks * cell.accumulate);
  run_dry(p, t, cluster);
  return p;
}

json time_of(const PredictedTime& t) {
  json out = {{"step_ns", t.step.step_ns},
              {"exposed_ns", t.step.exposed_ns},
              {"hidden_ns", t.step.hidden_ns},
              {"other_ns", t.step.other_ns},
              {"tokens_per_s", t.tokens_per_s},
              {"binds", t.binds().first},
              {"shares", t.shares},
              {"mfu", t.mfu > 0 ? json(t.mfu) : json()}};
  for (int i = 0; i < phases; ++i) {
    const auto phase = static_cast<Phase>(i);
    out[std::string(name(phase)) + "_ns"] = t.step.of(phase);
  }
  return out;
}

json held_of(Held what, const Claims& c) {
  const auto textbook = c.textbook.find(what);
  const auto exact = c.exact.find(what);
  const bool has_textbook = textbook != c.textbook.end() && is_model_state(what.first);
  json out = {{"tag", name(what.first)}, {"dtype", name(what.second)}};
  out["exact_bytes"] = exact == c.exact.end() ? 0 : exact->second;
  out["textbook_bytes"] = has_textbook ? json(textbook->second) : json();
  const auto formula = c.formula.find(what.first);
  out["formula"] = has_textbook && formula != c.formula.end() ? json(formula->second) : json();
  return out;
}

// The textbook cuts nothing into collectives: it has bytes and no number of calls.
json called_of(Called what, const Traffic& t, const Claims& c) {
  const auto textbook = c.textbook_calls.find(what);
  const bool has = textbook != c.textbook_calls.end();
  return {{"verb", name(what.first)},
          {"dtype", name(what.second)},
          {"calls", t.calls},
          {"payload_bytes", t.payload},
          {"volume_bytes", t.volume},
          {"textbook_payload_bytes", has ? json(textbook->second.payload) : json()},
          {"textbook_volume_bytes", has ? json(textbook->second.volume) : json()}};
}

}  // namespace

double held_bytes(const Claims& c) {
  double total = 0;
  for (const auto& [what, bytes] : c.exact) total += bytes;
  return total;
}

double Prediction::held_bytes(Tag tag) const {
  double total = 0;
  for (const auto& [what, bytes] : claims.exact)
    if (what.first == tag) total += bytes;
  return total;
}

double Prediction::model_state_bytes() const {
  double total = 0;
  for (const auto& [what, bytes] : claims.exact)
    if (is_model_state(what.first)) total += bytes;
  return total;
}

double Prediction::volume_bytes() const {
  double total = 0;
  for (const auto& [what, t] : claims.exact_calls) total += static_cast<double>(t.volume);
  return total;
}

std::vector<Prediction> predict(const std::vector<Cell>& cells,
                                const std::optional<Cluster>& cluster) {
  Models models;
  std::vector<Prediction> out;
  for (const Cell& cell : cells) out.push_back(predicted(cell, models, cluster));
  return out;
}

PredictedTime time_on(const Cluster& cluster, const Prediction& p) {
  Training t = training_of(p.cell, {}, p.model->architecture);
  t.model = p.model->form;
  return timed(p, t, cluster).first;
}

json to_json(const Prediction& p) {
  const Claims& c = p.claims;
  json held = json::array(), called = json::array();
  double textbook = 0;
  for (const auto& [what, t] : c.textbook_calls) textbook += t.volume;
  for (const auto& [what, bytes] : c.exact) held.push_back(held_of(what, c));
  for (const auto& [what, t] : c.exact_calls) called.push_back(called_of(what, t, c));
  return {{"time", p.time ? time_of(*p.time) : json()},
          {"cell", to_json(p.cell)},
          {"model",
           {{"family", p.model->family},
            {"parameters", c.parameters},
            {"trainable", c.trainable},
            {"active", p.model->active},
            {"embedding", p.model->embedding},
            {"notes", p.model->notes}}},
          {"held", held},
          {"model_state_bytes", p.model_state_bytes()},
          {"padding_elements", c.padding_elements},
          {"peak_bytes", p.peak_bytes},
          {"peak_is", p.peak_exact ? "exact" : "an upper bound: the sum of all peaks"},
          {"called", called},
          {"volume_bytes", p.volume_bytes()},
          {"textbook_volume_bytes", textbook},
          {"flops_per_step", p.flops_per_step},
          {"tokens_per_step", p.tokens_per_step}};
}

}  // namespace shardmark
