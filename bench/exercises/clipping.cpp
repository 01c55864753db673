// Exercise 4: by which norm must a rank clip that holds only its own N-th of the gradient?
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/exercises/exercise.hpp"
#include "bench/exercises/slice_norms.hpp"
#include "bench/units.hpp"

namespace shardmark {

namespace {

double first_norm(const Row& row) {
  return row.shown->at("training").at("norm_before").at(0).get<double>();
}

std::string digits(double value) { return significant(value, 6); }

}  // namespace

void answer_clipping(const Trial& trial, Page& page) {
  const Row& ddp = trial.row({{"strategy", "ddp"}});
  const Row& zero1 = trial.row({{"strategy", "zero1"}});
  const Cell cell = cell_from_json(zero1.shown->at("cell"));
  const SliceNorms norms = slice_norms(cell);
  const double whole = first_norm(ddp), sharded = first_norm(zero1);
  require(std::abs(norms.over_ranks / sharded - 1) < 1e-12,
          "the gradient that was looked at rank by rank is not the one of the cell");
  const double right = std::min(1.0, cell.clip / whole);

  Block block{{"CLIPPING, first step", "elements", "own norm", "coefficient by it",
               "by the whole norm", "too large by"},
              1,
              {}};
  double squares = 0, clipped = 0, least = 1e300, most = 0;
  for (std::size_t r = 0; r < norms.local.size(); ++r) {
    const double wrong = std::min(1.0, cell.clip / norms.local[r]);
    squares += norms.local[r] * norms.local[r];
    clipped += wrong * norms.local[r] * wrong * norms.local[r];
    least = std::min(least, wrong / right);
    most = std::max(most, wrong / right);
    block.rows.push_back({fmt::format("rank {}", r), grouped(norms.elements[r]),
                          digits(norms.local[r]), digits(wrong), digits(right),
                          fmt::format("{:.2f}", wrong / right)});
  }
  page.table(block);
  Block sums{{"NORM OF THE WHOLE GRADIENT", "value", "over ddp's"}, 1, {}};
  const auto sum = [&](const char* name, double value) {
    sums.rows.push_back({name, digits(value), fmt::format("{:.12f}", value / whole)});
  };
  sum("ddp, which holds all of it", whole);
  sum("zero1, squares all-reduced", sharded);
  sum("root of the sum of the own norms' squares", std::sqrt(squares));
  page.table(sums);

  page.paragraph(
      "Formula",
      fmt::format("|g|^2 is the sum over ranks of |g_r|^2, so one all-reduce of one number "
                  "of 8 bytes is enough. Clipping multiplies by min(1, c/|g|), here with "
                  "c = {}.",
                  cell.clip));
  page.paragraph(
      "Verdict",
      fmt::format(
          "with the all-reduce ZeRO-1's norm is the unsharded one, {}. Without it the ranks scale "
          "by coefficients that are {:.2f} to {:.2f} "
          "times too large, each by another; the gradient that is applied has norm {} where "
          "at most {} was asked for, and no longer its direction. All ranks still end with "
          "the same parameters, each N-th coming from its owner, so that nothing but the "
          "comparison with an unsharded run shows it.",
          sharded == whole ? "to the last bit"
                           : fmt::format("but for {:.0e} of it", std::abs(sharded / whole - 1)),
          least, most, digits(std::sqrt(clipped)), cell.clip));
}

}  // namespace shardmark
