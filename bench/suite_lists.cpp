#include "bench/suite_lists.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "bench/registry.hpp"
#include "bench/text.hpp"

namespace shardmark {

void keep_what_differs(std::vector<Draft>& drafts) {
  const Cell first = drafts.front().cell;
  std::erase_if(drafts, [&](const Draft& d) {
    return !gathers_by_unit(d.cell.strategy) &&
           (d.cell.prefetch != first.prefetch || d.cell.keep_last != first.keep_last ||
            d.cell.persist_below != first.persist_below);
  });
}

void scale_what_is_scaled(std::vector<Draft>& drafts) {
  const auto scaled = [](const Draft& d) { return d.cell.precision == "fp16"; };
  if (std::none_of(drafts.begin(), drafts.end(), scaled)) return;
  for (Draft& d : drafts)
    if (!scaled(d)) d.loss_scale.reset(), d.loss_scale_window.reset();
}

void leave_out_misfits(std::vector<Cell>& cells, std::vector<std::string>* notes) {
  const auto misfits = [](const Cell& c) { return !wire_misfit(c).empty(); };
  if (std::all_of(cells.begin(), cells.end(), misfits)) return;
  std::set<std::string> pairs;
  for (const Cell& c : cells)
    if (misfits(c))
      pairs.insert(fmt::format("--precision {} --reduce-dtype {}", c.precision, c.reduce_dtype));
  std::erase_if(cells, misfits);
  if (notes && !pairs.empty())
    notes->push_back(fmt::format("{} cannot be and {} left out.",
                                 join({pairs.begin(), pairs.end()}, ", "),
                                 pairs.size() == 1 ? "is" : "are"));
}

}  // namespace shardmark
