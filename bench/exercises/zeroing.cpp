// Exercise 1: what does ZeRO-2 save where the rest of the gradient is zeroed, and what where it is
// freed?
#include <fmt/format.h>

#include <algorithm>

#include "bench/exercises/exercise.hpp"
#include "bench/units.hpp"

namespace shardmark {

namespace {

double peak(const Row& row) { return row.shown->at("bytes").at("peak_bytes").get<double>(); }
std::string bytes(double n) { return with_unit(n, "B", 3); }

}  // namespace

void answer_zeroing(const Trial& trial, Page& page) {
  const Row& ddp = trial.row({{"strategy", "ddp"}});
  const Row& zero1 = trial.row({{"strategy", "zero1"}});
  const Row& zeroed = trial.row({{"strategy", "zero2_naive"}});
  const Row& freed = trial.row({{"strategy", "zero2"}});
  const ByteScale in(peak(ddp));
  Block block{{"BYTES, " + in.unit.name, "parameters", "gradients", "optimizer", "states",
               "buckets", "other", "peak", "states/ddp", "peak/ddp"},
              1,
              {}};
  for (const Row* row : {&ddp, &zero1, &zeroed, &freed})
    block.rows.push_back(
        {row->strategy, in(held_bytes(*row, {"parameter"})), in(held_bytes(*row, {"gradient"})),
         in(held_bytes(*row, {"master", "first_moment", "second_moment"})),
         in(state_bytes_of(*row)), in(held_bytes(*row, {"bucket"})),
         in(held_bytes(*row, {"activation", "workspace", "staging"})), in(peak(*row)),
         ratio(state_bytes_of(*row), state_bytes_of(ddp)), ratio(peak(*row), peak(ddp))});
  page.table(block);

  const double n = zero1.shown->at("cell").at("ranks").get<double>();
  page.paragraph(
      "Formula",
      fmt::format("fp32 gradients are 4P bytes on every rank, zeros or not: {} for the {} "
                  "parameters here. Freed but for the own N-th they are 4P/N, {} on {:.0f} ranks, "
                  "and beside them stand the buckets that are being written and reduced.",
                  bytes(4 * parameters_of(zero1)), grouped(parameters_of(zero1)),
                  bytes(4 * parameters_of(zero1) / n), n));
  const double by_zeros = state_bytes_of(zero1) - state_bytes_of(zeroed),
               by_freeing = state_bytes_of(zero1) - state_bytes_of(freed);
  page.paragraph(
      "Verdict",
      fmt::format(
          "beyond ZeRO-1 zeroing saves {} of model states and {} of the peak: {}. Freeing "
          "saves {} of model states, 4P(1 - 1/N) = {}, and {} of the peak, since {} of "
          "buckets come and go. {}",
          bytes(by_zeros), bytes(peak(zero1) - peak(zeroed)),
          by_zeros == 0 ? "a zero takes as much room as any other number"
                        : "which no formula explains",
          bytes(by_freeing), bytes(4 * parameters_of(zero1) * (1 - 1 / n)),
          bytes(peak(zero1) - peak(freed)), bytes(held_bytes(freed, {"bucket"})),
          called(zeroed, "volume_bytes", every_verb) == called(freed, "volume_bytes", every_verb)
              ? "Both send and train the same."
              : "Both train the same."));
}

}  // namespace shardmark
