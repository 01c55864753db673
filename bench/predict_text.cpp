// How are predictions shown? See predict_text.hpp.
#include "bench/predict_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "bench/memory_fit.hpp"
#include "bench/record.hpp"
#include "bench/text.hpp"
#include "bench/units.hpp"

namespace shardmark {

namespace {

using nlohmann::json;
using Rows = std::vector<const Prediction*>;

constexpr std::size_t columns = 100;

std::string fixed(double value, int decimals) {
  return std::abs(value) < 9999.995 ? fmt::format("{:.{}f}", value, decimals) : grouped(value);
}

// What rows of one table have in common.
json shared_settings(const Prediction& p) {
  json all = to_json(p.cell);
  for (const char* own : {"id", "strategy", "ranks"}) all.erase(own);
  return all;
}

std::string title(const Prediction& p) {
  const Claims& c = p.claims;
  std::string text = model_at(to_json(p.cell));
  if (!p.model->family.empty()) text += fmt::format(" (a {})", p.model->family);
  const auto count = [](std::size_t n) { return grouped(n); };
  text += fmt::format(": {} parameters", count(c.parameters));
  std::vector<std::string> of_them;
  if (p.model->active != c.parameters)
    of_them.push_back(count(p.model->active) + " active for a token");
  if (c.trainable != c.parameters) of_them.push_back(count(c.trainable) + " trained");
  of_them.push_back(count(p.model->embedding) + " in embeddings and head");
  return fmt::format("{}, {}", text, fmt::join(of_them, ", "));
}

// The settings that most questions are about, then whatever else differs from what is usual.
std::string settings(const Cell& c) {
  std::string text =
      fmt::format("{}, gradients travel in {}; a rank's micro-batch {} x {} tokens, {} a step",
                  c.precision, c.reduce_dtype, c.batch, grouped(c.sequence),
                  c.accumulate == 1 ? "one" : fmt::format("{}", c.accumulate));
  Cell usual;
  usual.model = c.model, usual.config = c.config, usual.vocab = c.vocab;
  usual.strategy = c.strategy, usual.ranks = c.ranks;
  usual.precision = c.precision, usual.reduce_dtype = c.reduce_dtype;
  usual.loss_scale = usual_loss_scale(c), usual.loss_scale_window = usual_loss_scale_window(c);
  usual.batch = c.batch, usual.sequence = c.sequence, usual.accumulate = c.accumulate;
  usual.bucket_bytes = c.bucket_bytes;
  text += c.bucket_bytes == 0
              ? "; a bucket a unit"
              : "; buckets of " + with_unit(static_cast<double>(c.bucket_bytes), "B");
  const json here = to_json(c), there = to_json(usual);
  for (const auto& [key, value] : here.items())
    if (key != "id" && !key.ends_with("_reason") && value != there.value(key, json())) {
      const std::string written = value.is_string() ? value.get<std::string>() : value.dump();
      text += fmt::format("; {} {}", key, written);
    }
  return text;
}

double passing(const Prediction& p) {
  return p.held_bytes(Tag::bucket) + p.held_bytes(Tag::gathered) + p.held_bytes(Tag::staging);
}

double optimizer(const Prediction& p) {
  return p.held_bytes(Tag::master) + p.held_bytes(Tag::first_moment) +
         p.held_bytes(Tag::second_moment);
}

std::string call_counts(const Prediction& p) {
  std::uint64_t calls = 0;
  for (const auto& [what, t] : p.claims.exact_calls) calls += t.calls;
  return grouped(calls);
}

// What a rank lacks, in place of the calls.
std::string lack(const Prediction& p, double memory_bytes, const DecimalUnit& unit, int decimals) {
  const double over = over_bytes(p, memory_bytes);
  if (over == 0) return "fits";
  return (p.peak_exact ? "" : "≤") + fixed(over / unit.size, decimals);
}

// As many decimals as there is room for.
template <class Table>
std::string fitted(const Table& with_decimals) {
  Grid grid = with_decimals(2);
  for (int decimals = 1; decimals >= 0 && grid.width() > columns; --decimals)
    grid = with_decimals(decimals);
  return grid.text();
}

Grid table(const Rows& rows, std::optional<double> memory, int decimals) {
  double largest = 0, sent = 0;
  for (const Prediction* p : rows) {
    largest = std::max(largest, p->peak_bytes);
    sent = std::max(sent, p->volume_bytes());
  }
  // A unit in which the smaller ones still have digits.
  const DecimalUnit unit = unit_for(largest / 50, "B"), wire = unit_for(sent / 50, "B");
  const auto held = [&](double bytes) { return fixed(bytes / unit.size, decimals); };
  Grid grid(1);
  grid.row({"", "", "weights", "grads", "optimizer", "states", "passing", "activ.", "work", "peak",
            "sent", memory ? "lacking" : "calls"});
  grid.row({"strategy", "N", unit.name, unit.name, unit.name, unit.name, unit.name, unit.name,
            unit.name, unit.name, wire.name, memory ? unit.name : "a step"});
  for (const Prediction* p : rows)
    grid.row({p->cell.strategy, grouped(p->cell.ranks), held(p->held_bytes(Tag::parameter)),
              held(p->held_bytes(Tag::gradient)), held(optimizer(*p)), held(p->model_state_bytes()),
              held(passing(*p)), held(p->held_bytes(Tag::activation)),
              held(p->held_bytes(Tag::workspace)), (p->peak_exact ? "" : "≤") + held(p->peak_bytes),
              fixed(p->volume_bytes() / wire.size, decimals),
              memory ? lack(*p, *memory, unit, decimals) : call_counts(*p)});
  return grid;
}

Grid time_table(const Rows& rows, int decimals) {
  const auto step = [](const Prediction* p) { return p->time->step.step_ns; };
  const bool long_ones = step(*std::min_element(rows.begin(), rows.end(), [&](auto* a, auto* b) {
                           return step(a) < step(b);
                         })) >= 1'000'000'000;
  const char* unit = long_ones ? "s" : "ms";
  const auto in_unit = [&](std::int64_t ns) {
    return fixed(static_cast<double>(ns) * (long_ones ? 1e-9 : 1e-6), decimals);
  };
  Grid grid(1);
  grid.row({"", "", "step", "forward", "backward", "update", "exposed", "hidden", "tokens/s", "MFU",
            "what binds"});
  grid.row({"strategy", "N", unit, unit, unit, unit, unit, unit, "all", "%", "share of step"});
  for (const Prediction* p : rows) {
    const PredictedTime& t = *p->time;
    const auto [what, share] = t.binds();
    grid.row({p->cell.strategy, grouped(p->cell.ranks), in_unit(t.step.step_ns),
              in_unit(t.step.of(Phase::forward)),
              in_unit(t.step.of(Phase::recompute) + t.step.of(Phase::backward)),
              in_unit(t.step.of(Phase::clip) + t.step.of(Phase::update)),
              in_unit(t.step.exposed_ns), in_unit(t.step.hidden_ns),
              grouped(std::round(t.tokens_per_s)), t.mfu > 0 ? readable(t.mfu * 100, 1) : "–",
              fmt::format("{} {}", what, percent(share, 0))});
  }
  return grid;
}

std::set<std::string> caveats(const Rows& rows, const Cluster& c) {
  std::set<std::string> all;
  for (const Prediction* p : rows)
    if (std::string caveat = caveat_of(c, p->cell); !caveat.empty()) all.insert(std::move(caveat));
  return all;
}

std::string time_legend(const Cluster& c) {
  return wrapped(fmt::format(
                     "Times of one step on {}, from the strategy's own step and the cluster's "
                     "figures: backward with what is computed again, update with clipping, "
                     "exposed: communication during which nothing was computed. MFU: products of "
                     "forward and backward, without what attention masks, over the peak matrix "
                     "rate. A prediction is no measurement.",
                     c.name),
                 columns) +
         "\n";
}

std::string legend(const std::vector<Prediction>& all) {
  const bool bounded =
      std::any_of(all.begin(), all.end(), [](const Prediction& p) { return !p.peak_exact; });
  std::string text =
      "Bytes that one rank holds, each kind at its own worst moment: states = weights + grads + "
      "optimizer (master weights and both moments); passing: buckets, gathered weights and casts "
      "on the wire. peak: everything at the worst moment";
  if (bounded)
    text +=
        "; ≤: the sum of all columns, which no run exceeds, where a step has too many "
        "collectives to be run dry in a moment (larger buckets or fewer micro-steps have fewer)";
  return wrapped(text + ". sent: by one rank in one step. GB = 1e9 bytes.", columns) + "\n";
}

}  // namespace

std::string model_in_words(const Prediction& p) { return title(p); }
std::string settings_in_words(const Cell& c) { return settings(c); }

std::string predict_text(const std::vector<Prediction>& all, const std::optional<Cluster>& cluster,
                         std::optional<double> memory_bytes) {
  std::vector<std::pair<json, Rows>> groups;
  for (const Prediction& p : all) {
    const json key = shared_settings(p);
    const auto same =
        std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == key; });
    if (same == groups.end())
      groups.emplace_back(key, Rows{&p});
    else
      same->second.push_back(&p);
  }
  std::string text;
  for (const auto& [key, rows] : groups) {
    const Prediction& first = *rows.front();
    text += wrapped(title(first), columns, "  ") + "\n";
    text += wrapped(settings(first.cell), columns, "  ") + "\n\n" +
            fitted([&](int d) { return table(rows, memory_bytes, d); }) + "\n";
    if (cluster) {
      text += fitted([&](int d) { return time_table(rows, d); }) + "\n";
      for (const std::string& caveat : caveats(rows, *cluster))
        text += wrapped("note: " + caveat, columns, "  ") + "\n\n";
    }
    for (const std::string& note : first.model->notes)
      text += wrapped("note: " + note, columns, "  ") + "\n";
    if (!first.model->notes.empty()) text += "\n";
  }
  if (memory_bytes)
    text +=
        wrapped(memory_text(all, *memory_bytes) +
                    " lacking: what the peak has more than that; the calls are in --format json.",
                columns) +
        "\n\n";
  return text + legend(all) + (cluster ? time_legend(*cluster) : "");
}

}  // namespace shardmark
