// Exercise 5: what does an all-reduce cost on the wire where a reduce-scatter would do?
#include <fmt/format.h>

#include "bench/exercises/exercise.hpp"
#include "bench/units.hpp"

namespace shardmark {

namespace {

double moved(const Row& row) {
  const auto bytes = moved_a_step(*row.shown);
  require(bytes.has_value(), "nobody counted what an exercise's cell moved");
  return *bytes;
}

double transfer(const Row& row) { return transfer_ms(row).value_or(0); }

// Of what is measured over all cells: naive over zero1.
struct Factor {
  double least = 1e9, most = 0;
  void see(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  std::string text() const {
    return fixed(least, 2) == fixed(most, 2) ? fixed(least, 2)
                                             : fixed(least, 2) + " to " + fixed(most, 2);
  }
};

}  // namespace

void answer_reduce_scatter(const Trial& trial, Page& page) {
  Block block{{"ON THE WIRE", "N", "overlap", "gradients, MB", "of 4P", "moved, MB", "wire, ms",
               "measured", "step, ms (rounds)"},
              3,
              {}};
  Factor gradients, all_moved, time, step;
  for (const Group& group : trial.groups())
    for (const Row& row : group.rows) {
      const double whole = 4 * parameters_of(row);
      const double sent = called(row, "volume_bytes", gradient_verbs);
      block.rows.push_back({row.strategy + crowded_mark(row), group.settings.at("ranks").dump(),
                            row.overlap ? "on" : "off", fixed(sent * 1e-6, 3),
                            fixed(sent / whole, 3), fixed(moved(row) * 1e-6, 3),
                            fixed(moved(row) / link_rate(row) * 1e3, 1), fixed(transfer(row), 1),
                            interval_ms(row, 1)});
      if (row.strategy != "zero1_naive") continue;
      const Row* zero1 = group.find("zero1", row.overlap);
      require(zero1 && zero1->shown, "an exercise lacks the cell to compare with");
      gradients.see(sent / called(*zero1, "volume_bytes", gradient_verbs));
      all_moved.see(moved(row) / moved(*zero1));
      if (row.overlap) continue;  // compute beside it makes a transfer longer
      time.see(transfer(row) / transfer(*zero1));
      step.see(row.step_ns() / zero1->step_ns());
    }
  page.table(block);
  page.paragraph(
      "Formula",
      "a rank sends (N-1)/N of the gradient in a reduce-scatter, 2(N-1)/N in an all-reduce, which "
      "is a reduce-scatter and an all-gather; behind either ZeRO-1 gathers parameters, (N-1)/N. So "
      "gradients cost twice as much and the step 3(N-1)/N in place of 2(N-1)/N: 1.5 times. Column "
      "wire: moved over the link's rate; measured: the transfers of a step, waiting left out.");
  page.paragraph(
      "Verdict",
      fmt::format("with an all-reduce gradients send {} times as much and the step moves {} times "
                  "as much, by the transport's own count. Without overlap its transfers take {} "
                  "times as long, and the step {} times. (N-1)/N of what the all-reduce gathers is "
                  "never read.",
                  gradients.text(), all_moved.text(), time.text(), step.text()));
}

}  // namespace shardmark
