// Does a table tell cells apart by their options, and does --explain say them?
#include <gtest/gtest.h>

#include "bench/example_records.hpp"
#include "bench/explain.hpp"
#include "bench/table.hpp"
#include "bench/text.hpp"

namespace shardmark {
namespace {

using example::has;
using example::record_of;
using nlohmann::json;

// Cells that differ in these keys alone.
std::vector<json> with(const std::vector<json>& changes) {
  std::vector<json> records;
  for (const json& change : changes) {
    json r = record_of("ddp", false, 1, 30);
    r["cell"].update(change);
    r["cell"]["id"] = change.dump();
    records.push_back(r);
  }
  return records;
}

// The title of the group whose options these are: the only line that counts parameters.
std::vector<std::string> titles(const std::vector<json>& changes) {
  std::vector<std::string> lines;
  for (const std::string& line : example::lines_of(table(with(changes), 400)))
    if (has(line, "694,272 parameters")) lines.push_back(line.substr(line.find("parameters") + 10));
  return lines;
}

using Lines = std::vector<std::string>;

TEST(OptionsTable, what_differs_stands_in_the_title) {
  EXPECT_EQ(titles({{{"precision", "fp32"}}, {{"precision", "bf16"}, {"reduce_dtype", "bf16"}}}),
            (Lines{"  ·  bf16", "  ·  fp32"}));
  EXPECT_EQ(titles({{{"precision", "bf16"}, {"reduce_dtype", "bf16"}},
                    {{"precision", "bf16"}, {"reduce_dtype", "fp32"}}}),
            (Lines{"  ·  gradients travel in bf16", "  ·  gradients travel in fp32"}));
  EXPECT_EQ(titles({{{"recompute", "none"}}, {{"recompute", "unit"}}}),
            (Lines{"  ·  activations kept", "  ·  activations computed again"}));
  EXPECT_EQ(titles({{{"keep_last", false}}, {{"keep_last", true}}}),
            (Lines{"  ·  gathered again at the turn", "  ·  kept at the turn"}));
  EXPECT_EQ(titles({{{"persist_below", 0}}, {{"persist_below", 2000}}}),
            (Lines{"  ·  nothing whole", "  ·  whole below 2,000 elements"}));
  EXPECT_EQ(titles({{{"freeze", json::array()}}, {{"freeze", {"wte", "h0.*"}}}}),
            (Lines{"  ·  frozen: wte, h0.*", "  ·  nothing frozen"}));
}

TEST(OptionsTable, what_all_cells_share_stands_in_the_heading) {
  const std::string text = table(with({{{"precision", "fp16"},
                                        {"reduce_dtype", "fp32"},
                                        {"loss_scale", 1024.0},
                                        {"loss_scale_window", 7},
                                        {"recompute", "unit"}}}),
                                 400);
  EXPECT_TRUE(has(text, "fp16, gradients travel in fp32, loss scale from 1024, ")) << text;
  EXPECT_TRUE(has(text, "activations computed again")) << text;
  const std::string usual = table({record_of("ddp", false, 1, 30)}, 400);
  for (const char* unsaid : {"travel in", "loss scale", "computed again", "frozen", "whole below"})
    EXPECT_FALSE(has(usual, unsaid)) << unsaid;
}

// Schema version 1 got these keys later.
TEST(OptionsTable, records_without_options_can_be_read) {
  json r = record_of("ddp", false, 1, 30);
  for (const char* key : {"keep_last", "persist_below", "precision", "reduce_dtype", "loss_scale",
                          "loss_scale_window", "recompute", "freeze", "vocab", "config"})
    r["cell"].erase(key);
  for (const char* key : {"loss_scale", "loss_scale_reason", "skipped_at"})
    r["training"].erase(key);
  r["traffic"].erase("reduction");
  r["rates"].erase("products");
  EXPECT_TRUE(has(table({r}), "gpt-nano  ·  2 ranks"));
  EXPECT_TRUE(has(explain(r), "gpt-nano trained by ddp on 2 ranks"));
}

TEST(OptionsTable, a_config_has_its_name) {
  const json long_form = {{"model", "llama:layers=30,width=576,heads=9"},
                          {"config", "smollm-135m"},
                          {"vocab", "config"}};
  json bytes = long_form;
  bytes["vocab"] = "bytes";
  const std::string text = table(with({long_form, bytes}), 400);
  EXPECT_TRUE(has(text, "\nsmollm-135m  ·  2 ranks")) << text;
  EXPECT_TRUE(has(text, "\nsmollm-135m on bytes  ·  2 ranks")) << text;
  EXPECT_FALSE(has(text, "llama:layers")) << text;
  EXPECT_TRUE(has(explain(with({long_form})[0]), "smollm-135m is llama:layers=30")) << text;
}

TEST(OptionsTable, two_configs_of_one_name_are_told_apart) {
  const json one = {{"model", "llama:layers=1"}, {"config", "tiny"}, {"vocab", "config"}};
  json other = one;
  other["model"] = "llama:layers=2";
  const std::string text = table(with({one, other}), 400);
  EXPECT_TRUE(has(text, "\ntiny~" + short_hash("llama:layers=1") + "  ·  2 ranks")) << text;
  EXPECT_TRUE(has(text, "\ntiny~" + short_hash("llama:layers=2") + "  ·  2 ranks")) << text;
}

TEST(OptionsTable, recomputing_has_a_column_where_it_took_time) {
  json r = record_of("ddp", false, 1, 30);
  EXPECT_FALSE(has(table({r}, 200), "recompute"));
  EXPECT_TRUE(has(table({r}, 200), "textbook: the formula of P, T (trained) and N alone"));
  EXPECT_FALSE(has(explain(r), "recompute"));
  // 2 of the 20 ms of forward and backward.
  json& m = r["time"]["median"];
  m["recompute_ns"] = 2'000'000;
  m["backward_ns"] = m["backward_ns"].get<std::int64_t>() - 2'000'000;
  const std::string text = table({r}, 200);
  const auto words = example::row(text, "TIME", "ddp");
  // step, then its parts: forward, recompute, backward, clip, update, exposed, other.
  ASSERT_GT(words.size(), 8u) << text;
  EXPECT_EQ(words[3], "2.0");
  double sum = 0;
  for (std::size_t i = 2; i < 9; ++i) sum += std::stod(words[i]);
  EXPECT_NEAR(sum, 30, 0.4) << text;
  EXPECT_TRUE(has(text, "step = forward + recompute + backward")) << text;
  EXPECT_TRUE(has(text, "same process; recompute's time is not in it. comm. %")) << text;
  EXPECT_TRUE(has(explain(r), "recompute")) << explain(r);
}

// Of the example's four measured steps; two of warm-up are before them, and one is behind them.
TEST(OptionsTable, skipped_steps_have_a_footnote) {
  std::vector<json> records = {record_of("ddp", false, 1, 30), record_of("zero1", false, 1, 30)};
  EXPECT_FALSE(has(table(records), "skipped"));
  records[0]["training"]["skipped_at"] = {0, 2, 5, 6};
  const std::string text = table(records, 200);
  EXPECT_TRUE(has(text,
                  "¹ 2 of 4 measured steps were skipped: gradients were not finite; times "
                  "are of the others"))
      << text;
  EXPECT_FALSE(example::row(text, "TIME", "ddp¹").empty()) << text;
  EXPECT_FALSE(example::row(text, "TIME", "zero1").empty()) << text;
  records[0]["training"]["skipped_at"] = {2, 3, 4, 5, 6};
  records[0]["checks"]["trained"] = false;
  records[0]["checks"]["trained_reason"] = "all were skipped";
  const std::string all = table(records, 200);
  EXPECT_TRUE(has(all, "4 of 4 measured steps were skipped: gradients were not finite; nothing"))
      << all;
  EXPECT_EQ(example::row(all, "RATES", "ddp²").back(), "FAILED") << all;
}

TEST(OptionsExplain, says_options_scales_and_sums) {
  json r = with({{{"precision", "fp16"},
                  {"reduce_dtype", "fp32"},
                  {"loss_scale", 65536.0},
                  {"loss_scale_window", 2000},
                  {"recompute", "unit"},
                  {"persist_below", 100},
                  {"keep_last", false},
                  {"freeze", {"wte", "wpe"}}}})[0];
  r["training"]["loss_scale"] = {65536.0, 32768.0};
  r["training"]["skipped_steps"] = 2;
  r["training"]["skipped_at"] = {0, 3};
  r["traffic"]["reduction"] = {{"dtype", "fp32"},
                               {"accumulates_in", "fp32 in order"},
                               {"mean_applied", "last"},
                               {"kept_in", "fp16"},
                               {"micro_steps", "added here"}};
  std::string text = explain(r);
  for (std::size_t at = 0; (at = text.find("\n  ", at)) != std::string::npos;) text[at] = ' ';
  for (const char* part :
       {"in fp16, gradients travel in fp32, loss scale from 65536, doubled behind 2000 good steps",
        "activations computed again", "weights gathered again at the turn to backward",
        "parameters of fewer than 100 elements whole", "frozen: wte, wpe",
        "loss scale  65536 32768", "skipped steps 2 (at 0, 3)",
        "gradients travel in fp32 and are added in fp32 in order; 1/N is applied last;",
        "in fp16; micro-steps: added here."})
    EXPECT_TRUE(has(text, part)) << part << "\n" << text;
  EXPECT_TRUE(has(explain(record_of("ddp", false, 1, 30)), "\nin fp32\n"));
  r["bytes"]["trainable"] = 600'000;
  EXPECT_TRUE(has(explain(r), "P = 694,272   T = 600,000   N = 2")) << explain(r);
  r["bytes"]["kept_whole"] = 1'000;
  r["bytes"]["held"][0]["formula"] = "2P/N + 2W(N-1)/N";
  text = explain(r);
  EXPECT_TRUE(has(text, "W = 1,000: the elements")) << text;
  for (const std::string& line : example::lines_of(text.substr(text.find('\n') + 1)))
    EXPECT_LE(line.size(), 100u) << line;
}

}  // namespace
}  // namespace shardmark
