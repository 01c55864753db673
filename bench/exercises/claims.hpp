#pragma once
// What do the course's three texts state, and is it so? Each statement is recomputed from the
// strategies' own claims, for any N and without memory, or measured on the cells of the suite
// "claims"; a verdict says which figures hold.
#include <span>

#include "bench/exercises/page.hpp"
#include "bench/exercises/trial.hpp"

namespace shardmark {

struct Judgement {
  enum class Kind { holds, off, inconsistent, untestable } kind = Kind::holds;
  std::string words;  // behind "holds", "off by", "inconsistent with", "not testable here, because"
  std::string shown;  // the arithmetic, or the cell
  std::string verdict() const;
};
// holds, or else off by `otherwise`.
Judgement held_against(bool holds, const std::string& otherwise, std::string shown);

// holds, or else inconsistent with the statement of that id.
Judgement set_against(bool agrees, const std::string& id, std::string shown);

bool same_figure(double, double);  // but for the rounding of doubles

// Cells of the suite "claims": fp32 on two ranks behind a link, and bf16 on four.
const Row& wired(const Trial&, const char* strategy, bool overlap = false, int batch = 1);
const Row& in_bf16(const Trial&, const char* strategy);

struct Statement {
  const char *id, *text;
  Judgement (*judge)(const Trial&);  // of the suite "claims"
};
std::span<const Statement> statements_of_a();
std::span<const Statement> statements_of_b();
std::span<const Statement> statements_of_c();

Page claims_page(const Trial&);

}  // namespace shardmark
