// What does DeepSpeed do that the textbook, and so the cell, does not?
#include <fmt/format.h>

#include "bench/import_parts.hpp"
#include "bench/units.hpp"

namespace shardmark {

std::string as_text(double number) { return fmt::format("{}", number); }

std::string mebibytes(double bytes) {
  const double number = bytes / (1 << 20);
  return (number < 10 ? significant(number) : grouped(number)) + " MiB";
}

std::string elements(std::int64_t number) { return grouped(number); }

namespace {

// Gradients so many times, and the parameters once: "3P(N-1)/N", and where the model and the ranks
// are known what that is in bytes.
std::string volume(std::int64_t gradients, const ImportFacts& facts, const ImportTypes& types) {
  std::string text = fmt::format("{}P(N-1)/N", gradients + 1);
  if (!facts.parameters || !facts.ranks) return text;
  const double n = static_cast<double>(*facts.ranks);
  const double each =
      static_cast<double>(gradients) * types.gradient_bytes() + (types.two_bytes() ? 2 : 4);
  return text +
         fmt::format(" ({})",
                     with_unit(each * static_cast<double>(*facts.parameters) * (n - 1) / n, "B"));
}

void reductions(const ZeroPlan& plan, const ImportFacts& facts, const ImportTypes& types,
                std::int64_t micro, Imported& to) {
  const std::int64_t times = plan.stage == 2 ? micro : 1;
  const std::string ours =
      fmt::format("zero{} here sends {}", plan.stage, volume(times, facts, types));
  if (plan.reduce_scatter && !plan.multi_rank)
    return to.notes.push_back(fmt::format(
        "use_multi_rank_bucket_allreduce is false: DeepSpeed reduces each part of a bucket to its "
        "owner by a call of its own, where {} by one reduce-scatter a bucket.",
        ours));
  const std::string why =
      plan.reduce_scatter ? "though reduce_scatter is true (use_multi_rank_bucket_allreduce is, "
                            "too)"
                          : "as reduce_scatter is false";
  to.notes.push_back(fmt::format(
      "DeepSpeed all-reduces each bucket in stage {} {}, and a rank keeps its part: {} elements a "
      "step with the gathering of parameters, where {}. --strategy zero1_naive makes the "
      "all-reduce{}.",
      plan.stage, why, volume(2 * times, facts, types), ours,
      plan.stage == 2 ? ", and holds the whole gradient" : ""));
}

void buckets(const ZeroPlan& plan, const ImportFacts& facts, const ImportTypes& types,
             Imported& to) {
  const double bytes = static_cast<double>(*plan.bucket) * (types.two_bytes() ? 2 : 4);
  std::string text = fmt::format("A bucket of {} elements is {} in {}", elements(*plan.bucket),
                                 mebibytes(bytes), types.precision.value_or("fp32"));
  if (plan.contiguous && plan.overlap && plan.stage < 3)
    text += fmt::format("; overlap_comm keeps two of them, {}, allocated whatever the model's size",
                        mebibytes(2 * bytes));
  else if (plan.contiguous)
    text += ", allocated whatever the model's size";
  to.notes.push_back(text + ".");
  if (facts.parameters && plan.stage > 1 &&
      static_cast<double>(*facts.parameters) <= static_cast<double>(*plan.bucket))
    to.notes.push_back(fmt::format(
        "The model's {} parameters fit into one bucket: its reduction begins behind the last "
        "gradient, and {}.",
        elements(static_cast<std::int64_t>(*facts.parameters)),
        plan.overlap ? "overlap_comm hides none of it" : "none of it could be hidden"));
}

// Parameters that are never cut, which --persist-below does here.
void small_ones(std::int64_t most, const ImportFacts& facts, Imported& to) {
  std::string text = fmt::format("DeepSpeed keeps parameters of at most {} elements on every rank",
                                 elements(most));
  const auto width = static_cast<double>(facts.hidden_size.value_or(0));
  if (width > 0 && width * width <= static_cast<double>(most))
    text += fmt::format(", here even a matrix of {0} x {0}", *facts.hidden_size);
  to.notes.push_back(text + "; --persist-below does.");
}

void gathering(const ZeroPlan& plan, const ImportFacts& facts, Imported& to) {
  if (plan.persistence) small_ones(*plan.persistence, facts, to);
  std::string kept = fmt::format(
      "DeepSpeed releases a layer only where more than {} elements are gathered, or where it is "
      "not needed again within the next {}",
      elements(plan.live), elements(plan.reuse));
  if (facts.parameters && static_cast<double>(*facts.parameters) <=
                              static_cast<double>(std::min(plan.live, plan.reuse)) / 2)
    kept += fmt::format(
        ": a model of {} stays gathered from forward to backward, which takes 2P bytes in 2-byte "
        "types and gathers P, not 2P, elements a micro-step",
        elements(static_cast<std::int64_t>(*facts.parameters)));
  to.notes.push_back(kept + "; zero3 here releases it once it was used.");
}

}  // namespace

void note_deepspeed(const ZeroPlan& plan, const ImportFacts& facts, const ImportTypes& types,
                    std::optional<std::int64_t> micro_steps, Imported& to) {
  to.notes.push_back(fmt::format(
      "Where the file is silent, the defaults are those of DeepSpeed {}.", assumed_deepspeed));
  if (plan.stage == 0)
    to.notes.push_back(
        "Stage 0 all-reduces behind the last backward, in portions of 500,000,000 elements: "
        "nothing "
        "is hidden.");
  if (plan.stage == 1)
    to.notes.push_back(
        "Stage 1 reduces behind the last backward: DeepSpeed passes overlap_comm and "
        "contiguous_gradients over.");
  if (plan.stage == 1 || plan.stage == 2)
    reductions(plan, facts, types, micro_steps.value_or(1), to);
  if (plan.stage > 0 && plan.bucket) buckets(plan, facts, types, to);
  if (plan.stage == 3) gathering(plan, facts, to);
  if (plan.stage > 0 && types.two_bytes())
    to.notes.push_back(
        "In the update DeepSpeed turns a rank's part of the gradient into fp32, 4P/N bytes for a "
        "moment: its estimators count them, the textbook does not.");
}

}  // namespace shardmark
