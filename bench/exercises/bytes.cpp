// Exercise 2: how many bytes of fp32 model states does rank 0 really hold, beside the formula?
#include <fmt/format.h>

#include <map>

#include "bench/exercises/exercise.hpp"
#include "bench/record.hpp"
#include "bench/units.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

struct Fp32 {
  double textbook = 0, exact = 0, measured = 0;
  std::string formula;  // "8P + 8P/N"
};

Fp32 fp32_of(const Row& row) {
  Fp32 out;
  std::map<std::string, int> factors;  // by what they multiply: P, P/N
  for (const json& held : row.shown->at("bytes").at("held")) {
    if (!held.at("model_state").get<bool>() || text_at(held, "dtype") != "f32") continue;
    for (const auto& [key, sum] :
         {std::pair("textbook_bytes", &out.textbook), std::pair("exact_bytes", &out.exact),
          std::pair("measured_bytes", &out.measured)})
      *sum += held.at(key).get<double>();
    const std::string& formula = text_at(held, "formula");
    const std::size_t digits = formula.find_first_not_of("0123456789");
    factors[formula.substr(digits)] += std::stoi(formula.substr(0, digits));
  }
  for (const auto& [what, factor] : factors)
    out.formula += fmt::format("{}{}{}", out.formula.empty() ? "" : " + ", factor, what);
  return out;
}

}  // namespace

void answer_bytes(const Trial& trial, Page& page) {
  Block block{{"FP32 BYTES, rank 0", "N", "formula", "textbook", "padding", "exact", "measured",
               "difference"},
              1,
              {}};
  double worst = 0, padding = 0;
  std::size_t cells = 0;
  for (const char* precision : {"fp32", "bf16"})
    for (const char* strategy : {"ddp", "zero1", "zero2", "zero3"})
      for (const int ranks : {2, 4}) {
        const Row& row =
            trial.row({{"precision", precision}, {"strategy", strategy}, {"ranks", ranks}});
        const Fp32 b = fp32_of(row);
        const std::string name =
            std::string(strategy) + (std::string(precision) == "fp32" ? "" : ", bf16 weights");
        block.rows.push_back({name, std::to_string(ranks), b.formula, grouped(b.textbook),
                              grouped(b.exact - b.textbook), grouped(b.exact), grouped(b.measured),
                              grouped(b.measured - b.exact)});
        worst = std::max(worst, std::abs(b.measured - b.exact));
        padding = std::max(padding, b.exact / b.textbook - 1);
        ++cells;
      }
  page.table(block);
  page.paragraph(
      "Formula",
      fmt::format(
          "P = {} parameters; 4 bytes each for parameter, gradient and two moments of Adam, "
          "and what a stage cuts by N. Behind bf16 weights and gradients stand an fp32 copy "
          "and the moments, 12 bytes. Padding: every parameter begins on a multiple of 8 "
          "elements, and an array that is cut ends on a multiple of 8N, so that each "
          "rank's N-th is as long as the others'.",
          grouped(parameters_of(trial.groups().front().rows.front()))));
  page.paragraph(
      "Verdict",
      fmt::format("{} in {} cells: measured is the exact formula {}. The textbook's P and N alone "
                  "are short by at most {}. Gradients and weights on their way (buckets, gathered "
                  "layers) are no model state and come on top.",
                  worst == 0 ? "no difference" : "a difference", cells,
                  worst == 0 ? "to the last byte" : fmt::format("but for {:.0f} bytes", worst),
                  percent(padding, 2)));
}

}  // namespace shardmark
