// Text B, an entry on ZeRO-3: which of its statements B1 to B8 hold?
#include <fmt/format.h>

#include <cmath>

#include "bench/blocks.hpp"
#include "bench/exercises/claims.hpp"
#include "bench/exercises/formulas.hpp"
#include "bench/units.hpp"
#include "impl/models/registry.hpp"

namespace shardmark {

namespace {

using Kind = Judgement::Kind;

double sent_over_ddp(const char* strategy, std::int64_t accumulate = 1) {
  return per_parameter({strategy, 8, "bf16", accumulate}).sent() /
         per_parameter({"ddp", 8, "bf16", accumulate}).sent();
}

Judgement b1(const Trial& trial) {
  const PerParameter ddp = per_parameter({"ddp"}), zero3 = per_parameter({"zero3"});
  const Row& cell = in_bf16(trial, "zero3");
  return held_against(
      same_figure(ddp.states(), 16) && same_figure(ddp.optimizer(), 12) &&
          same_figure(zero3.states(), 16.0 / 8),
      "more than rounding",
      fmt::format("2 + 2 + {} = {} bytes; at N = 8 {}P. Measured at N = 4: {:.3f} bytes a "
                  "parameter, padding included.",
                  ddp.optimizer(), ddp.states(), zero3.states(),
                  state_bytes_of(cell) / parameters_of(cell)));
}

Judgement b2(const Trial& trial) {
  const double ratio = sent_over_ddp("zero3");
  return held_against(
      same_figure(ratio, 1.5), fmt::format("a factor of {:.2f}", ratio / 1.5),
      fmt::format(
          "3P over 2P = {:.2f}; the cells sent {:.3f}. With k = 4 micro-steps it is {:.2f}, "
          "since DDP reduces once a step.",
          ratio,
          called(wired(trial, "zero3"), "volume_bytes", every_verb) /
              called(wired(trial, "ddp"), "volume_bytes", every_verb),
          sent_over_ddp("zero3", 4)));
}

Judgement b3(const Trial& trial) {
  const Row &ddp = in_bf16(trial, "ddp"), &zero3 = in_bf16(trial, "zero3");
  const double kept = held_bytes(ddp, {"activation"}), kept3 = held_bytes(zero3, {"activation"});
  return held_against(
      kept == kept3 && held_bytes(zero3, {"gathered"}) > 0,
      fmt::format("{} bytes of activations", grouped(kept - kept3)),
      fmt::format("activations are {} under DDP and {} under stage 3, which adds {} of gathered "
                  "weights and {} of buckets. Fragmentation is not measured.",
                  with_unit(kept, "B"), with_unit(kept3, "B"),
                  with_unit(held_bytes(zero3, {"gathered"}), "B"),
                  with_unit(held_bytes(zero3, {"bucket"}), "B")));
}

Judgement b4(const Trial&) {
  const double cluster = 512 * 49e12;
  const double per_gpu = per_parameter({"zero3", 512}).states() * 2e12;
  return {
      Kind::untestable, "there are neither 512 V100 nor an offload",
      fmt::format("the figures {}fit each other: 512 x 49 TFLOP/s = {} PFLOP/s, {} of a V100's "
                  "125. 2e12 parameters are {} a GPU of 32, 40e9 are {}: only with states outside "
                  "of the GPU.",
                  std::abs(cluster * 1e-15 - 25) < 1 ? "" : "do not ", significant(cluster * 1e-15),
                  percent(49.0 / 125, 0), with_unit(per_gpu, "B"),
                  with_unit(per_parameter({"ddp", 1}).states() * 40e9, "B"))};
}

Judgement b5(const Trial& trial) {
  const Row& zero3 = wired(trial, "zero3");
  const Cell cell = cell_from_json(zero3.shown->at("cell"));
  const auto units = static_cast<double>(
      make_architecture(cell.model, static_cast<std::size_t>(cell.sequence)).units.size());
  const double gathers = called(zero3, "calls", {"all_gather"}),
               reduces = called(zero3, "calls", {"reduce_scatter"});
  return held_against(
      reduces == units && gathers > units && gathers <= 2 * units, "more than the turn to backward",
      fmt::format("the cell, of {:.0f} layers, gathered {:.0f} times a step and reduce-scattered "
                  "{:.0f} times; what is needed again at the turn to backward stays.",
                  units, gathers, reduces));
}

Judgement b6(const Trial& trial) {
  return {
      Kind::untestable, "it is about DeepSpeed's files, and shardmark writes none",
      fmt::format("what it rests on is measured: a rank of the stage 3 cell holds {:.3f} of the "
                  "parameters, and no element is another one's.",
                  held_bytes(in_bf16(trial, "zero3"), {"parameter"}) /
                      held_bytes(in_bf16(trial, "ddp"), {"parameter"}))};
}

Judgement b7(const Trial&) {
  const double at1 = sent_over_ddp("zero1"), at2 = sent_over_ddp("zero2"),
               at3 = sent_over_ddp("zero3"), later2 = sent_over_ddp("zero2", 4);
  Judgement j = held_against(
      at3 > at1 + 1e-9 && later2 > at1 + 1e-9, "all of it",
      fmt::format(
          "over DDP's bytes stages 1, 2, 3 send {:.2f}, {:.2f}, {:.2f}: at k = 1 stage 2 is "
          "free. At k = 4 they send {:.2f}, {:.2f}, {:.2f}.",
          at1, at2, at3, sent_over_ddp("zero1", 4), later2, sent_over_ddp("zero3", 4)));
  if (j.kind == Kind::holds && same_figure(at2, at1))
    j.words = "for stage 3, and for 2 where k > 1";
  return j;
}

Judgement b8(const Trial&) {
  const auto saved = [](int n) { return 16 - per_parameter({"zero3", n}).states(); };
  const double linear = saved(2) * 32;
  return held_against(
      same_figure(linear, saved(64)),
      fmt::format("a factor of {:.0f} at N = 64", linear / saved(64)),
      fmt::format(
          "16P(1 - 1/N): {}P, {}P, {}P at N = 2, 8, 64. What is proportional, inversely, is "
          "what is left: 16P/N.",
          saved(2), saved(8), saved(64)));
}

constexpr Statement of_b[] = {
    {"B1", "About 16 bytes a parameter, under ZeRO-3 (2 + 2 + 12)P/N", b1},
    {"B2", "ZeRO-3 communicates about 1.5 times as much as the baseline", b2},
    {"B3", "Activations, gathered buffers, workspace, fragmentation are not what stage 3 saves",
     b3},
    {"B4",
     "With offload over 40e9 parameters on a GPU, 2e12 on 512 V100; at 1e12 there 25 PFLOP/s, "
     "49 TFLOP/s a GPU",
     b4},
    {"B5",
     "A module is gathered before its forward, released, gathered again for backward, its "
     "gradient reduce-scattered",
     b5},
    {"B6", "Weights are exported as disjoint fragments, which must be consolidated", b6},
    {"B7", "A higher stage than needed costs communication for nothing", b7},
    {"B8", "Stage 3's saving is proportional to the number of ranks", b8}};

}  // namespace

std::span<const Statement> statements_of_b() { return of_b; }

}  // namespace shardmark
