// Exercise 3: where does a step of DDP and of ZeRO-1 spend its time?
#include <fmt/format.h>

#include "bench/exercises/exercise.hpp"
#include "bench/units.hpp"

namespace shardmark {

namespace {

// Clipping takes microseconds: it is shown with the update.
double ms(const Row& row, const std::string& part) {
  return part_ms(row, part == "comm." ? "communication" : part) +
         (part == "update" ? part_ms(row, "clip") : 0);
}

std::string told_apart(const Row& ddp, const Row& zero1) {
  if (ddp.ok.size() < 2) return "one round tells nothing apart";
  if (indistinct(ddp, zero1))
    return fmt::format("{} rounds do not tell the two steps apart", ddp.ok.size());
  return fmt::format("ZeRO-1's step is {} by {}",
                     zero1.step_ns() < ddp.step_ns() ? "shorter" : "longer",
                     percent(std::abs(zero1.step_ns() / ddp.step_ns() - 1)));
}

}  // namespace

void answer_step_time(const Trial& trial, Page& page) {
  const Group& group = trial.groups().front();
  const int decimals = decimals_of_ms(group);
  const Cells parts = {"forward", "backward", "comm.", "update", "exposed", "hidden", "other"};
  Block block{{"TIME, ms", "overlap", "step (rounds)"}, 2, {}};
  block.header.insert(block.header.end(), parts.begin(), parts.end());
  for (const Row& row : group.rows) {
    Cells cells = {row.strategy + crowded_mark(row), row.overlap ? "on" : "off",
                   interval_ms(row, decimals)};
    for (const std::string& part : parts) cells.push_back(fixed(ms(row, part), decimals));
    block.rows.push_back(cells);
  }
  page.table(block);

  const auto row = [&](const char* strategy, bool overlap) -> const Row& {
    return trial.row({{"strategy", strategy}, {"overlap", overlap}});
  };
  const Row &ddp = row("ddp", false), &zero1 = row("zero1", false);
  const double sent = called(ddp, "volume_bytes", every_verb),
               sent1 = called(zero1, "volume_bytes", every_verb);
  page.paragraph(
      "Formula",
      fmt::format(
          "step = forward + backward + update (clipping included) + exposed + other. Communication "
          "is either exposed or hidden. DDP all-reduces gradients, 2(N-1)/N x 4P = "
          "{}; ZeRO-1 reduce-scatters them and gathers parameters, (N-1)/N x 4P each, {} in "
          "all. The emulated wire of {}/s carries either in {} ms.",
          with_unit(sent, "B"), with_unit(sent1, "B"), with_unit(link_rate(ddp), "B"),
          significant(sent / link_rate(ddp) * 1e3)));
  std::string verdict = fmt::format("both send {} a step ({} and {}). ",
                                    sent == sent1 ? "the same" : "nearly the same",
                                    with_unit(sent, "B", 4), with_unit(sent1, "B", 4));
  for (const bool overlap : {false, true})
    verdict += fmt::format("Overlap {}: {}. ", overlap ? "on" : "off",
                           told_apart(row("ddp", overlap), row("zero1", overlap)));
  verdict += fmt::format(
      "Without overlap communication is {} of DDP's step and {} of ZeRO-1's; with it {} and {} are "
      "exposed. ZeRO-1's update takes {} ms where DDP's takes {}: each rank updates its N-th.",
      percent(ms(ddp, "exposed") / ms(ddp, "step")),
      percent(ms(zero1, "exposed") / ms(zero1, "step")),
      percent(ms(row("ddp", true), "exposed") / ms(row("ddp", true), "step")),
      percent(ms(row("zero1", true), "exposed") / ms(row("zero1", true), "step")),
      fixed(ms(zero1, "update"), 2), fixed(ms(ddp, "update"), 2));
  page.paragraph("Verdict", verdict);
}

}  // namespace shardmark
