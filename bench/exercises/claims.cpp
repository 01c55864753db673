#include "bench/exercises/claims.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace shardmark {

namespace {

constexpr const char* crowded =
    " Some cells have more compute and communication threads than cores: their times are longer "
    "than on cores of their own.";

}  // namespace

std::string Judgement::verdict() const {
  switch (kind) {
    case Kind::holds:
      return words.empty() ? "holds" : "holds " + words;
    case Kind::off:
      return "off by " + words;
    case Kind::inconsistent:
      return "inconsistent with " + words;
    case Kind::untestable:
      return "not testable here, because " + words;
  }
  return "";
}

Judgement held_against(bool holds, const std::string& otherwise, std::string shown) {
  return {holds ? Judgement::Kind::holds : Judgement::Kind::off, holds ? "" : otherwise,
          std::move(shown)};
}

Judgement set_against(bool agrees, const std::string& id, std::string shown) {
  return {agrees ? Judgement::Kind::holds : Judgement::Kind::inconsistent, agrees ? "" : id,
          std::move(shown)};
}

bool same_figure(double a, double b) { return std::abs(a - b) < 1e-9; }

const Row& wired(const Trial& trial, const char* strategy, bool overlap, int batch) {
  return trial.row(
      {{"strategy", strategy}, {"link", "1gbit"}, {"overlap", overlap}, {"batch", batch}});
}

const Row& in_bf16(const Trial& trial, const char* strategy) {
  return trial.row({{"strategy", strategy}, {"precision", "bf16"}});
}

Page claims_page(const Trial& trial) {
  Page page;
  page.title("What the course states, checked", 1);
  page.paragraph(
      "",
      "P parameters, N ranks, k micro-steps a step; GB are 1e9 bytes. What is computed comes from "
      "the formulas that every run's bytes and calls are held against; what is measured, from "
      "cells "
      "of gpt-nano: bytes on 4 ranks in bf16, time and traffic on 2 in fp32 behind an emulated 1 "
      "Gbit/s. A printed figure holds if it is ours, rounded or cut at its last digit.");
  std::array<std::size_t, 4> count{};
  std::size_t all = 0;
  for (const auto& [name, statements] :
       {std::pair("Text A, a lesson on ZeRO", statements_of_a()),
        std::pair("Text B, an entry on ZeRO-3", statements_of_b()),
        std::pair("Text C, a chapter on sharding", statements_of_c())}) {
    page.title(name);
    std::vector<Verdicted> judged;
    for (const Statement& s : statements) {
      const Judgement j = s.judge(trial);
      ++count[static_cast<std::size_t>(j.kind)];
      ++all;
      judged.push_back({s.id, j.verdict(), s.text, j.shown});
    }
    page.statements(std::move(judged));
  }
  page.paragraph("Verdict",
                 fmt::format("of {} statements {} hold, {} are off, {} contradict another one, {} "
                             "cannot be tested here.",
                             all, count[0], count[1], count[2], count[3]));
  page.paragraph("Measured", trial.about() + (trial.crowded() ? crowded : ""));
  page.paragraph("Further", "the same cells with a larger model:");
  page.command("shardmark run --suite claims --model gpt-micro");
  return page;
}

}  // namespace shardmark
