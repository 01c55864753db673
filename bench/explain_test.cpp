// Does the block that explains a cell say what its record says, with the formula's numbers put in?
#include "bench/explain.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "bench/example_records.hpp"
#include "bench/units.hpp"

namespace shardmark {
namespace {

using nlohmann::json;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The words of the first line that starts with this label.
std::vector<std::string> words_after(const std::string& text, const std::string& label) {
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("  " + label + " ", 0) != 0) continue;
    std::istringstream rest(line.substr(label.size() + 2));
    std::vector<std::string> words;
    for (std::string w; rest >> w;) words.push_back(w);
    return words;
  }
  return {};
}
using Words = std::vector<std::string>;

TEST(Explain, golden) {
  example::expect_golden("explain.txt", explain(example::record_of("zero1", true, 1, 75)));
}

TEST(Explain, puts_the_numbers_into_the_formula) {
  const std::string text = explain(example::record_of("zero3", false, 1, 75, 4));
  // 4 x 694,272 / 4 = 694,272
  EXPECT_TRUE(has(text, "4P/N = 4 x 694,272 / 4")) << text;
  EXPECT_EQ(words_after(text, "parameter"), (Words{"f32", "4P/N", "=", "4", "x", "694,272", "/",
                                                   "4", "694,272", "694,272", "694,272", "0"}));
  // 16 P / 4
  EXPECT_EQ(words_after(text, "model states"),
            (Words{"the", "five", "tags", "2,777,088", "2,777,088", "2,777,088", "0"}));
  EXPECT_EQ(words_after(text, "of them in f32"),
            (Words{"f32", "2,777,088", "2,777,088", "2,777,088", "0"}));
}

TEST(Explain, sums_fp32_apart_from_other_types) {
  json r = example::record_of("ddp", false, 1, 75);
  // Two-byte parameters: the master copy in fp32 stands beside them.
  for (json& h : r["bytes"]["held"])
    if (h["tag"] == "parameter") {
      h["dtype"] = "bf16";
      h["formula"] = "2P";
      for (const char* key : {"textbook_bytes", "exact_bytes", "measured_bytes"}) h[key] = 1388544;
    }
  r["bytes"]["model_state"] = {{"textbook_bytes", 9719808},
                               {"exact_bytes", 9719808},
                               {"measured_bytes", 9719808},
                               {"fp32_measured_bytes", 8331264}};
  const std::string text = explain(r);
  EXPECT_EQ(words_after(text, "of them in f32").back(), "0");
  EXPECT_EQ(words_after(text, "of them in f32").at(1), "8,331,264")
      << text;  // 12P: gradient and two moments
  EXPECT_TRUE(has(text, "2P = 2 x 694,272")) << text;
}

TEST(Explain, shows_a_difference_and_padding) {
  json r = example::record_of("zero1", false, 1, 75);
  json& gradient = r["bytes"]["held"][1];
  gradient["exact_bytes"] = 2777120;
  gradient["measured_bytes"] = 2777112;
  r["bytes"]["model_state"]["exact_bytes"] = 8331296;
  r["bytes"]["padding_elements"] = 8;
  const std::string text = explain(r);
  EXPECT_EQ(words_after(text, "gradient").back(), "-8") << text;
  EXPECT_EQ(words_after(text, "padding").back(), "+32") << text;
}

TEST(Explain, parts_add_up_to_the_step) {
  const std::string text = explain(example::record_of("ddp", true, 1, 75));
  double sum = 0;
  for (const char* part : {"forward", "backward", "clip", "update", "exposed", "other"})
    sum += std::stod(words_after(text, part).at(0));
  EXPECT_NEAR(sum, 75.0, 0.0031);  // six figures of three decimals each
  EXPECT_EQ(words_after(text, "step"), (Words{"75.000", "100.0", "%"}));
}

TEST(Explain, zero3_says_why_it_sends_something_else_than_the_textbook) {
  EXPECT_TRUE(has(explain(example::record_of("zero3", false, 1, 75)),
                  "zero3: the textbook counts every parameter twice"));
  EXPECT_FALSE(has(explain(example::record_of("zero1", false, 1, 75)), "tied weights"));
}

TEST(Explain, a_diverging_loss_can_be_read) {
  json r = example::record_of("ddp", false, 1, 75);
  r["training"]["loss"] = {5.739, 132738170499675986316295667712.0, nullptr};
  EXPECT_TRUE(has(explain(r), "5.7390 1.33e+29 not-finite")) << explain(r);
}

TEST(Explain, failed_cells_say_why) {
  json r = example::record_of("ddp", true, 1, 75);
  example::set_failed(r, "failed", "it was ended by SIGSEGV");
  const std::string text = explain(r);
  EXPECT_TRUE(has(text, "gpt-nano/ddp/n2/overlap-on, round 1: failed")) << text;
  EXPECT_TRUE(has(text, "it was ended by SIGSEGV")) << text;
}

TEST(Explain, what_is_missing_is_named) {
  json r = example::record_of("ddp", true, 1, 75);
  r["resident"] = nullptr;
  r["resident_reason"] = "the system has no /proc";
  r["traffic"]["moved_bytes"] = nullptr;
  r["traffic"]["moved_bytes_reason"] = "nobody looked";
  r["training"]["norm_before"] = nullptr;
  r["training"]["norm_before_reason"] = "clipping is off";
  r["checks"]["norms_agree"] = nullptr;
  r["checks"]["norms_agree_reason"] = "there are no norms";
  r["checks"]["bytes_exact"] = false;
  r["checks"]["bytes_exact_reason"] = "rank 0 held too much";
  const std::string text = explain(r);
  for (const char* part :
       {"no resident: the system has no /proc", "not witnessed by the transport; nobody looked",
        "– (clipping is off)", "– (there are no norms)", "NO: rank 0 held too much"})
    EXPECT_TRUE(has(text, part)) << part << "\n" << text;
}

TEST(Explain, fits_into_100_columns) {
  for (const json& r : example::all_records()) {
    std::istringstream in(explain(r));
    for (std::string line; std::getline(in, line);) EXPECT_LE(display_width(line), 100u) << line;
  }
}

}  // namespace
}  // namespace shardmark
