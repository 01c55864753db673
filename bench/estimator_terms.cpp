#include "bench/estimator_terms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "bench/estimator.hpp"
#include "bench/text.hpp"

namespace shardmark {

namespace {

// "4P/N" and "8P/N" are "12P/N"; terms of different kinds stand one after another.
std::string added(const std::vector<std::string>& formulas) {
  std::vector<std::pair<std::string, long>> parts;
  for (const std::string& formula : formulas)
    for (std::string rest = formula; !rest.empty();) {
      const std::size_t end = std::min(rest.find(" + "), rest.size());
      const std::string part = rest.substr(0, end);
      rest = end < rest.size() ? rest.substr(end + 3) : "";
      long factor = 1;
      const auto number = std::from_chars(part.data(), part.data() + part.size(), factor);
      const std::string kind(number.ptr, part.data() + part.size());
      const auto same =
          std::find_if(parts.begin(), parts.end(), [&](const auto& p) { return p.first == kind; });
      if (same == parts.end())
        parts.emplace_back(kind, factor);
      else
        same->second += factor;
    }
  std::vector<std::string> all;
  for (const auto& [kind, factor] : parts) all.push_back(fmt::format("{}{}", factor, kind));
  return join(all, " + ");
}

// The module that owns most parameters: those whose names are alike but for the last part.
void find_largest_layer(const Architecture& a, Estimate& e) {
  std::map<std::string, double> modules;
  for (const Parameter& p : a.parameters)
    modules[p.name.substr(0, p.name.rfind('.'))] += static_cast<double>(p.size);
  const auto largest = std::max_element(modules.begin(), modules.end(),
                                        [](auto& x, auto& y) { return x.second < y.second; });
  e.largest_layer = largest->first, e.largest_elements = largest->second;
}

constexpr const char* passing = "gathered, buckets, casts";

class Terms {
 public:
  Terms(const Prediction& p, Estimate& to)
      : p_(p),
        to_(to),
        stage_(p.cell.strategy == "zero2"   ? 2
               : p.cell.strategy == "zero3" ? 3
                                            : 0),
        elements_(static_cast<double>(p.claims.parameters)),
        n_(static_cast<double>(p.cell.ranks)) {}

  void add_all() {
    const bool third = stage_ == 3;
    state("weights", {Tag::parameter}, third ? "2P/N" : "2P", third ? 2 / n_ : 2);
    state("gradients", {Tag::gradient}, third ? "" : "2P/N", third ? 0 : 2 / n_);
    state("gradients, copy in fp32", {}, "4P/N", 4 / n_);
    state("master weights", {Tag::master}, "4P/N", 4 / n_);
    state("moments", {Tag::first_moment, Tag::second_moment}, "8P/N", 8 / n_);
    EstimatorTerm comes = term(passing, {Tag::gathered, Tag::bucket, Tag::staging});
    if (third) comes.deepspeed = {"4L", 4 * to_.largest_elements};
    finish(std::move(comes), Reason::passing);
    finish(term("activations", {Tag::activation}), Reason::activations);
    finish(term("workspace", {Tag::workspace}), Reason::activations);
    sum();
  }

 private:
  EstimatorTerm term(const char* what, const std::vector<Tag>& tags) const {
    EstimatorTerm t;
    t.what = what;
    for (const Tag tag : tags) t.exact += p_.held_bytes(tag);
    return t;
  }

  // factor: DeepSpeed's bytes are so many times P.
  void state(const char* what, const std::vector<Tag>& tags, const char* formula, double factor) {
    EstimatorTerm t = term(what, tags);
    if (stage_ > 0 && factor > 0) t.deepspeed = {formula, factor * elements_};
    std::vector<std::string> formulas;
    double bytes = 0;
    for (const auto& [held, b] : p_.claims.textbook)
      if (std::find(tags.begin(), tags.end(), held.first) != tags.end()) bytes += b;
    for (const Tag tag : tags)
      if (const auto it = p_.claims.formula.find(tag); it != p_.claims.formula.end())
        formulas.push_back(it->second);
    if (!formulas.empty()) t.textbook = {added(formulas), bytes};
    const bool copy = tags.empty();
    const bool layer = stage_ == 3 && tags == std::vector{Tag::gradient};
    finish(std::move(t), copy ? Reason::copy : layer ? Reason::layer : Reason::none);
  }

  // own: why DeepSpeed's differs, whatever the cell is.
  void finish(EstimatorTerm t, Reason own) const {
    const bool is_state = own != Reason::passing && own != Reason::activations;
    const auto differs = [&](const std::optional<Estimated>& e) {
      return (e ? e->bytes : 0) != t.exact;
    };
    if (stage_ > 0 && differs(t.deepspeed))
      t.deepspeed_reasons = own == Reason::none ? state_reasons(t) : std::vector{own};
    if (differs(t.textbook)) t.textbook_reasons = {is_state ? Reason::padding : own};
    to_.terms.push_back(std::move(t));
  }

  std::vector<Reason> state_reasons(const EstimatorTerm& t) const {
    std::vector<Reason> all;
    const bool weights = t.what == "weights";
    if (p_.cell.precision == "fp32" && t.what != "moments") all.push_back(Reason::types);
    if (p_.claims.trainable != p_.claims.parameters && !weights) all.push_back(Reason::frozen);
    if (p_.claims.kept_whole > 0 && weights) all.push_back(Reason::whole);
    if (t.textbook && t.textbook->bytes != t.exact) all.push_back(Reason::padding);
    return all;
  }

  void sum() const {
    EstimatorTerm& s = to_.sum;
    s.what = "sum";
    std::vector<std::string> ds, textbook;
    double bytes = 0;
    for (const EstimatorTerm& t : to_.terms) {
      s.exact += t.exact;
      // Its layer first, as DeepSpeed has it.
      if (t.deepspeed)
        ds.insert(stage_ == 3 && t.what == passing ? ds.begin() : ds.end(), t.deepspeed->formula);
      if (!t.textbook) continue;
      textbook.push_back(t.textbook->formula);
      bytes += t.textbook->bytes;
    }
    s.textbook = {added(textbook), bytes};
    if (stage_ == 0) {
      s.deepspeed_reasons = {Reason::stages};
      return;
    }
    const EstimatedNodes nodes{p_.cell.ranks, 1};
    s.deepspeed = {added(ds),
                   stage_ == 2 ? deepspeed_zero2(elements_, nodes).gpu_bytes
                               : deepspeed_zero3(elements_, to_.largest_elements, nodes).gpu_bytes};
  }

  const Prediction& p_;
  Estimate& to_;
  int stage_;  // of DeepSpeed's estimators; 0: it has none
  double elements_, n_;
};

}  // namespace

EstimatorsShown estimators_named(const std::string& typed) {
  const std::vector<std::string> known = {"deepspeed", "textbook", "exact"};
  EstimatorsShown shown;
  if (typed.empty()) return shown;
  for (const std::string& name : split(typed, ',')) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw InputError(fmt::format("--estimator \"{}\" is unknown; it may be {}{}", name,
                                   join(known, ", "), suggestion(name, known)));
    shown.any = true;
    shown.deepspeed |= name == "deepspeed", shown.textbook |= name == "textbook";
  }
  return shown;
}

Estimate estimate(const Prediction& p) {
  Estimate e;
  find_largest_layer(p.model->architecture, e);
  Terms(p, e).add_all();
  return e;
}

std::string reason_text(Reason r) {
  switch (r) {
    case Reason::none:
      break;
    case Reason::types:
      return "DeepSpeed counts 2-byte weights and gradients and fp32 master weights behind them; "
             "in fp32 an element has 4 bytes and no master.";
    case Reason::copy:
      return "18 bytes against 16: DeepSpeed turns a rank's part of the gradient into fp32 for the "
             "update, 4P/N; the textbook and this cell do not.";
    case Reason::layer:
      return "in stage 3 DeepSpeed counts gradients of the largest layer alone (2 of the 4 in 4L), "
             "not a rank's part of all of them.";
    case Reason::frozen:
      return "frozen parameters have no gradient, master weights and moments; DeepSpeed counts "
             "them like the others.";
    case Reason::whole:
      return "parameters below --persist-below stay whole on every rank.";
    case Reason::padding:
      return "padding: parameters begin on multiples of 8 elements, and what is cut ends on "
             "multiples of 8N.";
    case Reason::passing:
      return "what comes and goes: DeepSpeed counts one layer's weights and gradients in stage 3 "
             "and nothing in stage 2, the textbook nothing; the cell holds what --prefetch "
             "gathers, "
             "gradients of --buckets on their way, and casts.";
    case Reason::activations:
      return "no formula has them: they follow from batch, sequence and kernels.";
    case Reason::stages:
      return "DeepSpeed has estimators for stages 2 and 3 alone.";
  }
  return "";
}

}  // namespace shardmark
