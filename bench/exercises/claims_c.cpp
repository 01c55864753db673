// Text C, a chapter on sharding: which of its statements C1 to C9 hold?
#include <fmt/format.h>

#include <cmath>

#include "bench/blocks.hpp"
#include "bench/exercises/claims.hpp"
#include "bench/exercises/formulas.hpp"
#include "bench/units.hpp"

namespace shardmark {

namespace {

using Kind = Judgement::Kind;

// Elements that a step sends, over P (N-1)/N: the way in which texts count.
double sent_in_p(double bytes_a_parameter) { return bytes_a_parameter / 2 / (7.0 / 8); }

std::string ms(double value) { return significant(value); }

Judgement c1(const Trial&) {
  double off = 0;
  std::string all;
  for (const auto& [strategy, stated] :
       {std::pair("zero1", 4.0), std::pair("zero2", 6.0), std::pair("zero3", 8.0)}) {
    const double saved = (16 - per_parameter({strategy}).states()) / (1 - 1.0 / 8);
    off = std::max(off, std::abs(saved - stated));
    all += fmt::format("{}{:.0f}P", all.empty() ? "" : ", ", saved);
  }
  return held_against(
      off < 1e-9, fmt::format("{:.0f} bytes a parameter in each stage", off),
      fmt::format("times (1 - 1/N) the stages save {}: fp32 copy and two moments are "
                  "12 bytes, not 4.",
                  all));
}

Judgement c2(const Trial& trial) {
  const PerParameter zero1 = per_parameter({"zero1"}), zero2 = per_parameter({"zero2"}),
                     zero3 = per_parameter({"zero3"}), ddp = per_parameter({"ddp"});
  const double calls1 = called(wired(trial, "zero1"), "calls", gradient_verbs),
               calls2 = called(wired(trial, "zero2"), "calls", gradient_verbs);
  const bool volumes = same_figure(sent_in_p(zero1.sent()), 2) &&
                       same_figure(sent_in_p(zero2.sent()), 2) &&
                       same_figure(sent_in_p(zero3.sent()), 3);
  std::string shown = fmt::format(
      "volumes are right: {:.0f}P, {:.0f}P, {:.0f}P; {:.0f}P is stage 3 with "
      "all-reduced gradients. But one reduction a step could not hide behind the "
      "backward that makes its gradients, as C9 has it: the cells reduced {:.0f} and "
      "{:.0f} times a step, by bucket.",
      sent_in_p(zero1.sent()), sent_in_p(zero2.sent()), sent_in_p(zero3.sent()),
      sent_in_p(ddp.sent_gradients + zero3.sent_parameters), calls1, calls2);
  if (!volumes) return held_against(false, "another volume", std::move(shown));
  return set_against(calls1 == 1 && calls2 == 1, "C9", std::move(shown));
}

Judgement c3(const Trial&) {
  const auto gb = [](const PerParameter& p, bool copy) {
    return (p.states() - (copy ? 0 : p.master)) * 7;
  };
  const PerParameter ddp = per_parameter({"ddp"}), zero1 = per_parameter({"zero1"}),
                     zero2 = per_parameter({"zero2"}), zero3 = per_parameter({"zero3"});
  return held_against(
      std::abs(gb(zero2, false) - 30) < 1 && std::abs(gb(zero3, false) - 12) < 1,
      fmt::format("{} GB at stage 2 and {} at stage 3", significant(30 - gb(zero2, false)),
                  significant(12 - gb(zero3, false))),
      fmt::format(
          "the parts add up to {} GB, and sharded as the text says to {}, {}, {}; with the "
          "fp32 copy {}, then {}, {}, {}. A card of 32 GiB has {} GB: stage 1's 35 does not "
          "fit, stage 2 does.",
          gb(ddp, false), gb(zero1, false), gb(zero2, false), gb(zero3, false), gb(ddp, true),
          gb(zero1, true), gb(zero2, true), gb(zero3, true), significant(32 * 1.073741824)));
}

Judgement c4(const Trial& trial) {
  bool same = true;
  for (const char* strategy : {"ddp", "zero1", "zero2", "zero3"})
    same = same && called(wired(trial, strategy, true), "volume_bytes", every_verb) ==
                       called(wired(trial, strategy), "volume_bytes", every_verb);
  const Row& on = wired(trial, "zero2", true);
  return held_against(
      same, "a volume that changes with overlap",
      fmt::format("overlap off and on send the same in all cells, such as stage 2 {} bytes a step; "
                  "on, {} of its {} ms of communication were hidden.",
                  grouped(called(on, "volume_bytes", every_verb)), ms(part_ms(on, "hidden")),
                  ms(part_ms(on, "reduce") + part_ms(on, "gather"))));
}

Judgement c5(const Trial&) {
  const Bucketing small = bucketing(100'000), middle = bucketing(500'000),
                  large = bucketing(2'000'000'000);
  Judgement j = held_against(
      small.calls > middle.calls && middle.calls > large.calls && small.bytes <= middle.bytes &&
          middle.bytes < large.bytes,
      "more than rounding",
      fmt::format(
          "gpt-nano's gradients under stage 2, with buckets of 0.1 MB, 0.5 MB and 5e8 "
          "elements: {:.0f}, {:.0f} and {:.0f} reductions a step, {}, {} and {} of buckets. "
          "The last is all of them at once, with nothing to overlap.",
          small.calls, middle.calls, large.calls, with_unit(small.bytes, "B"),
          with_unit(middle.bytes, "B"), with_unit(large.bytes, "B")));
  if (j.kind == Kind::holds && large.calls == 1)
    j.words = "but for where to start: 5e8 elements are one bucket for a model up to that size";
  return j;
}

Judgement c6(const Trial&) {
  const double ddp = per_parameter({"ddp"}).sent();
  return {Kind::untestable, "30 % is a rule of thumb",
          fmt::format("what it leans on is so: raising the stage lessens no volume, {:.2f}, {:.2f} "
                      "and {:.2f} of DDP's in stages 1, 2, 3.",
                      per_parameter({"zero1"}).sent() / ddp, per_parameter({"zero2"}).sent() / ddp,
                      per_parameter({"zero3"}).sent() / ddp)};
}

Judgement c7(const Trial& trial) {
  const Row &small = wired(trial, "ddp"), &large = wired(trial, "ddp", false, 8);
  const auto rate = [](const Row& row, const char* key) {
    return row.shown->at("rates").at(key).get<double>();
  };
  const bool same =
      called(small, "volume_bytes", every_verb) == called(large, "volume_bytes", every_verb);
  const double work = rate(large, "flops_per_step") / rate(small, "flops_per_step");
  return held_against(
      same && work > 1, "a volume that grows with the batch",
      fmt::format("batch 1 and 8 send the same, and 8 computes {:.0f} times as much: communication "
                  "was {} of the step and {}.",
                  work, percent(rate(small, "communication_share")),
                  percent(rate(large, "communication_share"))));
}

Judgement c8(const Trial& trial) {
  const double ratio = per_parameter({"zero3"}).sent() / per_parameter({"zero2"}).sent();
  const Row &zero2 = wired(trial, "zero2"), &zero3 = wired(trial, "zero3");
  return held_against(
      ratio > 1, "all of it",
      fmt::format(
          "it sends {:.2f} times as much; behind 1 Gbit/s, without overlap, a step of stage "
          "2 took {} ms and one of stage 3 {} ms.",
          ratio, ms(zero2.step_ns() * 1e-6), ms(zero3.step_ns() * 1e-6)));
}

Judgement c9(const Trial& trial) {
  const Row& on = wired(trial, "zero2", true);
  return {
      Kind::untestable, "DeepSpeed is no part of shardmark",
      fmt::format("a bucket of 5e8 elements is a model of that size in {:.0f} reduction, ready "
                  "when backward is over, and {:.0f} of a 7B model. If its reductions are "
                  "all-reduces, a step sends 3P, not 2P. Own stage 2 with overlap hid {} ms of a "
                  "step of {}.",
                  bucketing(2'000'000'000).calls, std::ceil(7e9 / 5e8), ms(part_ms(on, "hidden")),
                  ms(part_ms(on, "step")))};
}

constexpr Statement of_c[] = {
    {"C1", "Stage 1 saves about 4P bytes, stage 2 adds 2P, stage 3 adds 2P", c1},
    {"C2",
     "Stages 1 and 2 send 2P, in one communication a step each; stage 3 sends 3P to 4P, in as "
     "many as layers",
     c2},
    {"C3",
     "7B, fp16, N = 8, cards of 32 GB: plain 14 + 14 + 56 GB, stage 1 about 35, stage 2 about "
     "30 and fits, stage 3 about 12",
     c3},
    {"C4", "Overlap hides communication and does not lessen its volume", c4},
    {"C5", "Small buckets mean more communications, large ones a higher peak; start from 5e8", c5},
    {"C6", "Above 30 % communication look at buckets, overlap, bandwidth before raising the stage",
     c6},
    {"C7", "With a small batch communication dominates", c7},
    {"C8", "Stage 3 is not always faster than stage 2: little bandwidth makes it slower", c8},
    {"C9",
     "DeepSpeed's overlap_comm hides reductions behind backward and gathers behind forward; "
     "stage 2, buckets of 5e8",
     c9}};

}  // namespace

std::span<const Statement> statements_of_c() { return of_c; }

}  // namespace shardmark
