// Do the estimators' terms say the whole difference between them and what a rank holds?
#include "bench/estimator_terms.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "bench/estimator.hpp"
#include "bench/suite.hpp"
#include "bench/test_support.hpp"
#include "bench/text.hpp"
#include "bench/units.hpp"

namespace shardmark {
namespace {

using nlohmann::json;

// Widths of which 8 N divides everything: nothing is padded.
Prediction predicted(Given given) {
  given["--model"] = {"gpt:layers=2,width=64,heads=2"};
  given["--sequence"] = {"32"};
  given["--batch"] = {"1"};
  return predict(predicted_cells_of(given)).at(0);
}
Prediction in_bf16(const std::string& strategy, const Given& more = {}) {
  Given given = {{"--strategy", {strategy}}, {"--precision", {"bf16"}}, {"--ranks", {"8"}}};
  given.insert(more.begin(), more.end());
  return predicted(given);
}

const EstimatorTerm& named(const Estimate& e, const std::string& what) {
  return *std::find_if(e.terms.begin(), e.terms.end(),
                       [&](const EstimatorTerm& t) { return t.what == what; });
}
double bytes(const std::optional<Estimated>& e) { return e ? e->bytes : 0; }

// ZeRO paper, figure 1, for N = 8: 4 + 12/8, 2 + 14/8 and 16/8 bytes a parameter; DeepSpeed's
// 2P + 18P/N.
TEST(EstimatorTerms, SumsAreThePapersAndDeepSpeeds) {
  for (const auto& [strategy, factor, formula] :
       {std::tuple("ddp", 16.0, "16P"), std::tuple("zero1", 5.5, "4P + 12P/N"),
        std::tuple("zero2", 3.75, "2P + 14P/N"), std::tuple("zero3", 2.0, "16P/N")}) {
    const Prediction p = in_bf16(strategy);
    const Estimate e = estimate(p);
    const auto parameters = static_cast<double>(p.claims.parameters);
    ASSERT_TRUE(e.sum.textbook);
    EXPECT_EQ(e.sum.textbook->bytes, factor * parameters) << strategy;
    EXPECT_EQ(e.sum.textbook->formula, formula);
  }
  const Prediction two = in_bf16("zero2");
  const auto parameters = static_cast<double>(two.claims.parameters);
  EXPECT_EQ(estimate(two).sum.deepspeed->formula, "2P + 18P/N");
  EXPECT_EQ(estimate(two).sum.deepspeed->bytes, (2 + 18.0 / 8) * parameters);
  const Estimate three = estimate(in_bf16("zero3"));
  // fc and out have 4 x 64 x 64 weights each, fc more biases; the table of 256 tokens has as many.
  EXPECT_EQ(three.largest_elements, 4 * 64 * 64 + 4 * 64);
  EXPECT_EQ(three.sum.deepspeed->formula, "4L + 18P/N");
  EXPECT_EQ(three.sum.deepspeed->bytes, 18.0 / 8 * parameters + 4.0 * (4 * 64 * 64 + 4 * 64));
  EXPECT_FALSE(estimate(in_bf16("zero1")).sum.deepspeed);
}

TEST(EstimatorTerms, TermsAddUpAndEachDifferenceHasAReason) {
  for (const char* strategy : {"ddp", "zero1", "zero2", "zero3"})
    for (const Given& more : {Given{}, Given{{"--precision", {"fp32"}}}, Given{{"--ranks", {"7"}}},
                              Given{{"--freeze", {"wte"}}}, Given{{"--persist-below", {"100"}}}}) {
      Given given = more;
      given["--strategy"] = {strategy};
      given.insert({"--precision", {"bf16"}}), given.insert({"--ranks", {"8"}});
      const Prediction p = predicted(given);
      const Estimate e = estimate(p);
      double deepspeed = 0, textbook = 0, exact = 0, held = 0;
      for (const EstimatorTerm& t : e.terms) {
        deepspeed += bytes(t.deepspeed), textbook += bytes(t.textbook), exact += t.exact;
        if (e.sum.deepspeed) {
          EXPECT_EQ(t.deepspeed_reasons.empty(), bytes(t.deepspeed) == t.exact) << t.what;
        }
        EXPECT_EQ(t.textbook_reasons.empty(), bytes(t.textbook) == t.exact) << t.what;
      }
      for (int tag = 0; tag < tags; ++tag) held += p.held_bytes(static_cast<Tag>(tag));
      EXPECT_EQ(exact, held);
      EXPECT_EQ(e.sum.exact, held);
      EXPECT_EQ(e.sum.textbook->bytes, textbook);
      // DeepSpeed cuts 18P/N to a whole number.
      if (e.sum.deepspeed) {
        EXPECT_NEAR(e.sum.deepspeed->bytes, deepspeed, 1);
      }
    }
}

TEST(EstimatorTerms, SaysWhyTheyDiffer) {
  const Estimate two = estimate(in_bf16("zero2"));
  EXPECT_EQ(named(two, "gradients, copy in fp32").deepspeed_reasons,
            std::vector{Reason::copy});  // 18 against 16
  EXPECT_TRUE(named(two, "weights").deepspeed_reasons.empty());
  EXPECT_EQ(named(two, "activations").textbook_reasons, std::vector{Reason::activations});
  EXPECT_EQ(named(estimate(in_bf16("zero3")), "gradients").deepspeed_reasons,
            std::vector{Reason::layer});
  const Estimate fp32 = estimate(predicted({{"--strategy", {"zero2"}}, {"--ranks", {"8"}}}));
  EXPECT_EQ(named(fp32, "weights").deepspeed_reasons, std::vector{Reason::types});
  const Estimate odd = estimate(in_bf16("zero2", {{"--freeze", {"h0.*"}}}));
  EXPECT_EQ(named(odd, "moments").deepspeed_reasons, std::vector{Reason::frozen});
}

TEST(EstimatorTerms, TheCommandPrintsATableACellAndReasonsOnce) {
  const testing::Folder f;
  const std::string line = "predict --model gpt-nano --precision bf16 --ranks 8 --estimator ";
  const auto ran = testing::shardmark(f, line + "deepspeed,textbook --strategy zero2,zero3,zero1");
  EXPECT_EQ(ran.code, 0) << ran.err;
  for (const char* part : {"zero2, N = 8", "zero3, N = 8", "2P + 18P/N", "4L + 18P/N", "2P + 14P/N",
                           "18 bytes against 16", "has estimators for stages 2 and 3 alone."})
    EXPECT_NE(ran.out.find(part), std::string::npos) << part << ran.out;
  const std::size_t once = ran.out.find("18 bytes against 16");
  EXPECT_EQ(ran.out.find("18 bytes against 16", once + 1), std::string::npos);
  for (const std::string& row : split(ran.out, '\n')) EXPECT_LE(display_width(row), 100u) << row;
  const json all =
      json::parse(testing::shardmark(f, line + "deepspeed --strategy zero2 --format json").out);
  const json& e = all[0]["estimators"];
  EXPECT_EQ(e["sum"]["deepspeed"]["formula"], "2P + 18P/N");
  EXPECT_FALSE(e["sum"].contains("textbook"));
  EXPECT_EQ(e["terms"][0]["exact_bytes"], all[0]["held"][0]["exact_bytes"]);
}

}  // namespace
}  // namespace shardmark
