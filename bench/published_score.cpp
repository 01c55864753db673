// How well are published measurements predicted? See published_score.hpp.
#include "bench/published_score.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "bench/cluster_file.hpp"
#include "bench/collectives_math.hpp"
#include "bench/prediction.hpp"
#include "bench/units.hpp"

namespace shardmark {
namespace {

using Rows = std::vector<PublishedRow>;

constexpr std::int64_t most_fitted_gpus = 8;
constexpr DType type = DType::bf16;

Cluster preset(const PublishedRow& r) { return cluster_of("a published row's GPU", preset_of(r)); }

double predicted_on(const PublishedRow& r, const Cluster& c) {
  return predict({cell_of(r)}, c).at(0).time->tokens_per_s;
}

template <class Is>
Rows rows_where(const Rows& all, const Is& is) {
  Rows out;
  std::copy_if(all.begin(), all.end(), std::back_inserter(out), is);
  return out;
}
bool is_fitted(const PublishedRow& r) { return r.gpus <= most_fitted_gpus; }

// Logarithms of predicted over measured.
std::vector<double> misses(const Rows& rows, const Efficiencies& e) {
  std::vector<double> out = predicted(rows, e);
  for (std::size_t i = 0; i < rows.size(); ++i) out[i] = std::log(out[i] / rows[i].tokens_per_s);
  return out;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

std::vector<double> slope(const std::vector<double>& from, const std::vector<double>& to,
                          double by) {
  std::vector<double> out(from.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = (to[i] - from[i]) / by;
  return out;
}

double thousandth(double x) { return std::round(x * 1000) / 1000; }

std::vector<double> constant_over_measured(const Rows& rows, const PublishedScore& s) {
  std::vector<double> out;
  for (const PublishedRow& r : rows)
    out.push_back(s.constant_mfu.at(machine_type_of(r)) / mfu_of(r));
  return out;
}

}  // namespace

Cluster with(Cluster c, const Efficiencies& e) {
  for (const DType t : {DType::bf16, DType::f16}) {
    const auto peak = c.peak_flops_per_ns.find(t);
    if (peak == c.peak_flops_per_ns.end()) continue;
    c.achieved_flops_per_ns[t] = e.products * peak->second;
    c.attention_flops_per_ns[t] = e.attention * peak->second;
  }
  return c;
}

Efficiencies efficiencies_of(const Cluster& c) {
  if (!c.attention_flops_per_ns.contains(type))
    throw InputError(fmt::format("cluster {} has no matrix rate of attention in bf16.", c.name));
  const double peak = c.peak_flops_per_ns.at(type);
  return {c.achieved_flops_per_ns.at(type) / peak, c.attention_flops_per_ns.at(type) / peak};
}

std::vector<double> predicted(const Rows& rows) {
  std::vector<double> out;
  for (const PublishedRow& r : rows) out.push_back(predicted_on(r, preset(r)));
  return out;
}

std::vector<double> predicted(const Rows& rows, const Efficiencies& e) {
  std::vector<double> out;
  for (const PublishedRow& r : rows) out.push_back(predicted_on(r, with(preset(r), e)));
  return out;
}

Efficiencies fitted(const Rows& rows) {
  constexpr int rounds = 5;
  constexpr double nudge = 0.02;
  Efficiencies e{0.6, 0.25};
  for (int round = 0; round < rounds; ++round) {
    const std::vector<double> here = misses(rows, e);
    const double up = std::exp(nudge);
    const std::vector<double> a = slope(here, misses(rows, {e.products * up, e.attention}), nudge);
    const std::vector<double> b = slope(here, misses(rows, {e.products, e.attention * up}), nudge);
    const double aa = dot(a, a), ab = dot(a, b), bb = dot(b, b), ah = dot(a, here),
                 bh = dot(b, here);
    const double determinant = aa * bb - ab * ab;
    e.products *= std::exp(-(bb * ah - ab * bh) / determinant);
    e.attention *= std::exp(-(aa * bh - ab * ah) / determinant);
  }
  return {thousandth(e.products), thousandth(e.attention)};
}

double mfu_of(const PublishedRow& r) {
  const double peak = preset(r).peak_flops_per_ns.at(type) * 1e9;
  return model_flops_of(r) * r.tokens_per_s / (static_cast<double>(r.gpus) * peak);
}

double best_constant_mfu(const Rows& rows) {
  std::vector<double> measured;
  for (const PublishedRow& r : rows) measured.push_back(mfu_of(r));
  double best = 0, least = INFINITY;
  for (int i = 1; i <= 10000; ++i) {
    std::vector<double> over = measured;
    for (double& m : over) m = i * 1e-4 / m;
    const double median = errors_of(over).median;
    if (median < least) best = i * 1e-4, least = median;
  }
  return best;
}

Errors errors_of(std::vector<double> over) {
  if (over.empty()) return {};
  for (double& x : over) x = std::abs(x - 1);
  std::sort(over.begin(), over.end());
  const auto nine_of_ten =
      static_cast<std::size_t>(std::ceil(0.9 * static_cast<double>(over.size())));
  return {over.size(), median_of(over), over[nine_of_ten - 1]};
}

PublishedScore score_published(const Rows& rows) {
  PublishedScore s;
  s.rows = rows;
  std::vector<std::string> types;
  for (const PublishedRow& r : rows) types.push_back(machine_type_of(r));
  std::sort(types.begin(), types.end());
  types.erase(std::unique(types.begin(), types.end()), types.end());
  for (const std::string& t : types) {
    const Rows those =
        rows_where(rows, [&](const auto& r) { return machine_type_of(r) == t && is_fitted(r); });
    s.fitted[t] = fitted(those);
    s.constant_mfu[t] = best_constant_mfu(those);
  }
  for (const PublishedRow& r : rows)
    s.tokens_per_s.push_back(predicted({r}, s.fitted.at(machine_type_of(r))).at(0));
  types.emplace_back("all");
  for (const std::string& t : types)
    for (const bool fit : {true, false}) {
      std::vector<double> over;
      Rows those;
      for (std::size_t i = 0; i < rows.size(); ++i)
        if ((t == "all" || machine_type_of(rows[i]) == t) && is_fitted(rows[i]) == fit) {
          those.push_back(rows[i]);
          over.push_back(s.tokens_per_s[i] / rows[i].tokens_per_s);
        }
      s.groups.push_back(
          {fmt::format("{}, {}", t, fit ? "at most 8 GPUs (fitted)" : "more (scored)"),
           errors_of(over), errors_of(constant_over_measured(those, s))});
    }
  return s;
}

std::string score_text(const PublishedScore& s) {
  Grid table(1);
  table.row({"model", "sequence", "GPUs", "GPU", "micro-batch", "measured tokens/s", "predicted",
             "error"});
  for (std::size_t i = 0; i < s.rows.size(); ++i) {
    const PublishedRow& r = s.rows[i];
    table.row({r.model, grouped(r.sequence), fmt::format("{}", r.gpus), r.gpu,
               fmt::format("{} x {}{}", r.accumulate, r.batch, r.checkpointed ? " r" : "  "),
               grouped(r.tokens_per_s), grouped(s.tokens_per_s[i]),
               fmt::format("{:+.1f} %", 100 * (s.tokens_per_s[i] / r.tokens_per_s - 1))});
  }
  std::string text =
      table.text() + "r: activations are computed again for backward, a block each\n\n";
  for (const auto& [t, e] : s.fitted)
    text += fmt::format(
        "{}: fitted {:.1f} % of the peak rate in products, {:.1f} % in attention; best "
        "constant MFU {:.2f} %\n",
        t, 100 * e.products, 100 * e.attention, 100 * s.constant_mfu.at(t));
  Grid groups(1);
  groups.row({"|error|", "rows", "median", "p90", "constant MFU: median", "p90"});
  for (const GroupScore& g : s.groups)
    groups.row({g.group, fmt::format("{}", g.predicted.rows), percent(g.predicted.median),
                percent(g.predicted.p90), percent(g.constant.median), percent(g.constant.p90)});
  return text + "\n" + groups.text();
}

}  // namespace shardmark
