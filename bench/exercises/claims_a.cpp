// Text A, a lesson on ZeRO-1: which of its statements A1 to A13 hold?
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/exercises/claims.hpp"
#include "bench/exercises/formulas.hpp"
#include "bench/exercises/slice_norms.hpp"
#include "bench/units.hpp"
#include "impl/models/registry.hpp"

namespace shardmark {

namespace {

using Kind = Judgement::Kind;

constexpr double seven_billion = 7e9;

// GB of a 7B model, by its bytes a parameter.
std::string gb(double per_parameter) { return significant(per_parameter * seven_billion * 1e-9); }

// A figure printed with so many digits is ours, rounded or cut there.
bool printed(double ours, double stated, double last_digit) {
  return std::abs(ours - stated) < last_digit;
}

Judgement a1(const Trial&) {
  const PerParameter ddp = per_parameter({"ddp", 1});
  return held_against(
      same_figure(ddp.moments, 8), fmt::format("{} GB", gb(ddp.moments - 8)),
      fmt::format("2 moments x 4 bytes x 7e9 = {} GB. With mixed precision an fp32 copy of the "
                  "weights is optimizer state as well: {} GB.",
                  gb(ddp.moments), gb(ddp.optimizer())));
}

Judgement a2(const Trial&) {
  const PerParameter ddp = per_parameter({"ddp", 8});
  return set_against(
      same_figure(ddp.moments, 28 / 7.0), "A1",
      fmt::format("{} + {} GB are right; the optimizer state is {} GB by A1's own count, {} GB "
                  "with the fp32 copy. 28 GB would be two moments of 2 bytes, or one of 4.",
                  gb(ddp.parameter), gb(ddp.gradient), gb(ddp.moments), gb(ddp.optimizer())));
}

Judgement a3(const Trial& trial) {
  const double ratio = per_parameter({"zero1"}).sent() / per_parameter({"ddp"}).sent();
  const double sent = called(wired(trial, "ddp"), "volume_bytes", every_verb),
               sent1 = called(wired(trial, "zero1"), "volume_bytes", every_verb);
  return held_against(
      same_figure(ratio, 1), fmt::format("a factor of {:.2f}", ratio),
      fmt::format("(N-1)/N + (N-1)/N = 2(N-1)/N of P; the cells sent {} and {} bytes a step. It "
                  "holds where gradients and parameters are of one type.",
                  grouped(sent), grouped(sent1)));
}

Judgement a4(const Trial& trial) {
  bool holds = same_figure(per_parameter({"ddp"}).states(), 16);
  for (const int n : {2, 4, 8, 64})
    holds = holds && same_figure(per_parameter({"zero1", n}).states(), 4 + 12.0 / n);
  const Row& zero1 = in_bf16(trial, "zero1");
  const double measured = state_bytes_of(zero1) / parameters_of(zero1);
  return held_against(
      holds, "more than rounding",
      fmt::format("formula at N = 2, 4, 8, 64: {}P, {}P, {}P, {}P; measured at N = "
                  "4: {:.3f}P.",
                  per_parameter({"zero1", 2}).states(), per_parameter({"zero1", 4}).states(),
                  per_parameter({"zero1", 8}).states(), per_parameter({"zero1", 64}).states(),
                  measured));
}

Judgement a5(const Trial&) {
  const double at8 = per_parameter({"zero1", 8}).states(),
               at64 = per_parameter({"zero1", 64}).states();
  const double down8 = 100 * (1 - at8 / 16), down64 = 100 * (1 - at64 / 16);
  return held_against(printed(at8, 5.5, 0.1) && printed(at64, 4.19, 0.01) &&
                          printed(down8, 65, 1) && printed(down64, 74, 1),
                      "more than the last digit",
                      fmt::format("{}P, down {:.1f} %; {}P, down {:.1f} %: one share is cut, the "
                                  "other rounded.",
                                  at8, down8, at64, down64));
}

Judgement a6(const Trial&) {
  const PerParameter ddp = per_parameter({"ddp"}), zero1 = per_parameter({"zero1"}),
                     zero2 = per_parameter({"zero2"}), zero3 = per_parameter({"zero3"});
  const double n = 8, gathers = zero3.sent_parameters / zero3.sent_gradients;
  const bool bytes = same_figure(zero2.states(), 2 + 2 / n + 12 / n) &&
                     same_figure(zero3.states(), 16 / n) && same_figure(zero2.sent(), zero1.sent());
  std::string shown = fmt::format(
      "the bytes are right ({}P, {}P, {}P, {}P at N = 8), and stage 2 sends {:.2f} "
      "of stage 1 (k = 4: {:.2f}). Stage 3 gathers parameters {:.0f} times, for "
      "forward and again for backward, not once.",
      ddp.states(), zero1.states(), zero2.states(), zero3.states(), zero2.sent() / zero1.sent(),
      per_parameter({"zero2", 8, "bf16", 4}).sent() / per_parameter({"zero1", 8, "bf16", 4}).sent(),
      gathers);
  if (!bytes) return held_against(false, "other bytes or traffic", std::move(shown));
  return set_against(same_figure(gathers, 1), "B5", std::move(shown));
}

Judgement a7(const Trial& trial) {
  const double ratio =
      per_parameter({"zero1_naive"}).sent_gradients / per_parameter({"zero1"}).sent_gradients;
  return held_against(
      same_figure(ratio, 1), fmt::format("a factor of {:.0f}", ratio),
      fmt::format("a ring reduce-scatter sends (N-1)/N of P, an all-reduce that and an all-gather: "
                  "2(N-1)/N. The cells sent {} and {} bytes of gradients a step.",
                  grouped(called(wired(trial, "zero1"), "volume_bytes", gradient_verbs)),
                  grouped(called(wired(trial, "zero1_naive"), "volume_bytes", gradient_verbs))));
}

Judgement a8(const Trial&) {
  const double n = 8, used = per_parameter({"zero1_naive", 8}).moments / 8;
  return held_against(same_figure(1 - used, (n - 1) / n), "more than rounding",
                      fmt::format("at N = 8 a rank updates 1/{:.0f} of what it was sent: {} are "
                                  "never read.",
                                  1 / used, percent(1 - used)));
}

Judgement a9(const Trial&) {
  const auto saved = [](int n) { return 16 - per_parameter({"zero1", n}).states(); };
  const double linear = saved(2) * 32;
  return held_against(
      same_figure(linear, saved(64)),
      fmt::format("a factor of {:.0f} at N = 64", linear / saved(64)),
      fmt::format("12P(1 - 1/N): {}P, {}P, {}P, {}P at N = 2, 4, 8, 64. Linear from "
                  "N = 2 it would be {:.0f}P at 64, more than there is.",
                  saved(2), saved(4), saved(8), saved(64), linear));
}

Judgement a10(const Trial&) {
  const PerParameter ddp = per_parameter({"ddp", 8, "fp32"}),
                     zero1 = per_parameter({"zero1", 8, "fp32"});
  return held_against(
      same_figure(zero1.master, 4.0 / 8), "4 bytes a parameter, since no copy is kept",
      fmt::format("pure fp32 is {}P, under stage 1 at N = 8 {}P, of which {}P for a copy: the "
                  "weights are fp32 themselves. That forward gains nothing is right: its {}P of "
                  "parameters stay whole.",
                  ddp.states(), zero1.states(), zero1.master, zero1.parameter));
}

Judgement a11(const Trial&) {
  const PerParameter zero2 = per_parameter({"zero2"}), zero3 = per_parameter({"zero3"});
  const double at_rest = zero2.parameter - zero3.parameter;
  return held_against(
      same_figure(at_rest, 0),
      fmt::format("{}P at N = 8 for SHARD_GRAD_OP, whose parameters are sharded between steps",
                  at_rest),
      fmt::format(
          "by arithmetic alone, FSDP is no part of shardmark: SHARD_GRAD_OP frees "
          "parameters after backward, so at rest it is {}P and not ZeRO-2's {}P, and gathers "
          "them in every micro-step. FULL_SHARD is ZeRO-3.",
          zero3.states(), zero2.states()));
}

Judgement a12(const Trial& trial) {
  const Row &ddp = wired(trial, "ddp"), &zero1 = wired(trial, "zero1");
  const SliceNorms own = slice_norms(cell_from_json(zero1.shown->at("cell")));
  const double whole = ddp.shown->at("training").at("norm_before").at(0).get<double>();
  double squares = 0;
  for (const double norm : own.local) squares += norm * norm;
  const double largest = *std::max_element(own.local.begin(), own.local.end());
  return held_against(
      std::abs(std::sqrt(squares) / whole - 1) < 1e-5 && largest < whole * (1 - 1e-5),
      "more than rounding",
      fmt::format("unsharded {:.5f}, root of the sum of squares {:.5f}, the largest norm that a "
                  "rank sees alone {:.5f}. See exercise 4.",
                  whole, std::sqrt(squares), largest));
}

Judgement a13(const Trial&) {
  const auto owned = [](int ranks) {
    const Cell cell = cell_of({"zero1", ranks, "fp32"});
    const Training t = training_of(cell, {});
    const Range r =
        Layout(make_architecture(t.model, t.sequence), t.options, ranks, 1, false).owned(0);
    return fmt::format("{}..{}", grouped(r.begin), grouped(r.begin + r.size - 1));
  };
  return {Kind::untestable, "shardmark writes no checkpoints",
          fmt::format("the arithmetic is on its side: of gpt-nano's first bucket rank 1 owns "
                      "elements {} at N = 2 and {} at N = 4.",
                      owned(2), owned(4))};
}

constexpr Statement of_a[] = {
    {"A1", "Adam's two fp32 moments of a 7B model are 56 GB", a1},
    {"A2", "Plain DDP in fp16 holds 14 GB of parameters, 14 of gradients, 28 of optimizer state",
     a2},
    {"A3", "ZeRO-1 moves as many bytes a step as DDP", a3},
    {"A4", "Natively 16P bytes a rank, under ZeRO-1 4P + 12P/N", a4},
    {"A5", "16P become 5.5P at N = 8 (down 65 %), 4.19P at N = 64 (down 74 %)", a5},
    {"A6",
     "ZeRO-2 cuts gradients too, at the same traffic; ZeRO-3 cuts all, with one all-gather "
     "and one reduce-scatter a layer",
     a6},
    {"A7", "A rank sends as many bytes in a reduce-scatter as in an all-reduce", a7},
    {"A8", "Of an all-reduced gradient (N-1)/N is wasted on a rank that needs its shard", a8},
    {"A9", "What stage 1 saves grows linearly with N", a9},
    {"A10", "Without mixed precision ZeRO pays for an fp32 master copy and forward gains nothing",
     a10},
    {"A11", "FSDP's SHARD_GRAD_OP is ZeRO-2, its FULL_SHARD ZeRO-3", a11},
    {"A12", "ZeRO-1 must all-reduce the shards' squared norms to clip", a12},
    {"A13", "A sharded checkpoint must say which rank owns what", a13}};

}  // namespace

std::span<const Statement> statements_of_a() { return of_a; }

}  // namespace shardmark
