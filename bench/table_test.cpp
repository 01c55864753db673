// Does the table show what the records say? Steps and bytes are chosen so that the right figures
// can be worked out by hand.
#include "bench/table.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "bench/example_records.hpp"
#include "bench/units.hpp"

namespace shardmark {
namespace {

using example::has;
using example::lines_of;
using example::record_of;
using example::row;
using example::Words;
using nlohmann::json;

TEST(Table, golden) {
  std::vector<json> records = example::ladder();
  // Everything that can be wrong at once: a failed cell, a failed round, a wrong byte, a missing
  // rate, another result.
  for (json& r : records) {
    const std::string id = r["cell"]["id"];
    if (id == "gpt-nano/zero3/n2/overlap-on")
      example::set_failed(
          r, r["round"] == 1 ? "failed" : "skipped",
          r["round"] == 1 ? "it exceeded its --memory-limit of 20MB" : "it failed in round 1");
    if (id == "gpt-nano/zero2_naive/n2/overlap-on" && r["round"] == 2)
      example::set_failed(r, "failed", "it took longer than its --timeout of 600 s and was ended");
    if (id == "gpt-nano/zero2/n2/overlap-off" && r["round"] == 3) {
      r["checks"]["bytes_exact"] = false;
      r["checks"]["bytes_exact_reason"] =
          "rank 0 held 2777088 bytes of gradient f32 where 1388544 were claimed";
    }
    if (id == "gpt-nano/zero1/n2/overlap-on") {
      r["rates"]["matrix_share"] = nullptr;
      r["rates"]["matrix_share_reason"] = "the matrix rate was not measured";
    }
    if (id == "gpt-nano/zero1_naive/n2/overlap-off")
      r["training"]["parameter_hash"] = "00000000deadbeef";
  }
  example::expect_golden("table.txt", table(records, 100));
}

TEST(Table, stays_within_its_columns) {
  std::vector<json> records = example::ladder();
  for (json& r : records) {
    example::set_step(r, 1234.5, 17.25, r["cell"]["overlap"].get<bool>() ? 9.5 : 0);
    r["checks"]["ranks_agree"] = false;
    r["checks"]["ranks_agree_reason"] =
        "rank 1 ends with other parameters than rank 0, and this sentence is long enough "
        "to reach over the edge of any table that does not break its lines";
  }
  for (const int columns : {80, 100, 132})
    for (const std::string& line : lines_of(table(records, columns)))
      EXPECT_LE(display_width(line), static_cast<std::size_t>(columns)) << line;
}

TEST(Table, rows_follow_the_ladder_whatever_the_order_of_the_records) {
  const std::vector<json> records = example::ladder();
  std::vector<json> reversed(records.rbegin(), records.rend());
  EXPECT_EQ(table(records), table(reversed));
  const std::string all = table(records);
  const std::string text = all.substr(0, all.find("\nOVERLAP"));  // every block names them again
  std::size_t at = 0;
  for (const char* strategy :
       {"\nddp ", "\nzero1 ", "\nzero2 ", "\nzero3 ", "\nzero1_naive ", "\nzero2_naive "}) {
    const std::size_t next = text.find(strategy, at);
    ASSERT_NE(next, std::string::npos) << strategy;
    at = next;
  }
}

TEST(Table, shows_the_median_round_and_its_parts_add_up) {
  std::vector<json> records;
  int round = 0;
  for (const double step : {50.0, 10.0, 30.0, 20.0, 40.0})
    records.push_back(record_of("ddp", false, ++round, step));
  // 30 ms = 3 update + 0.5 clip + 0.5 other + 6 exposed + 20 in forward and backward, of which
  // forward is a third.
  const Words words = row(table(records), "TIME", "ddp");
  EXPECT_EQ(words,
            (Words{"ddp", "30.0", "10.0..50.0", "6.7", "13.3", "0.5", "3.0", "6.0", "0.5", "0.0"}));
  records.pop_back();  // of an even number, the lower one of the middle
  EXPECT_EQ(row(table(records), "TIME", "ddp").at(1), "20.0");
}

TEST(Table, says_with_what_chance_the_interval_holds_the_median) {
  std::vector<json> records;
  for (int round = 1; round <= 5; ++round) records.push_back(record_of("ddp", false, round, 30));
  EXPECT_TRUE(has(table(records), "93.75 %"));  // 1 - 2 (1/2)^5
  records.resize(3);
  EXPECT_TRUE(has(table(records), "75 %"));
  records.resize(1);
  EXPECT_FALSE(has(table(records), "low..high"));
  EXPECT_TRUE(has(table(records), "one round has no interval"));
}

TEST(Table, does_not_tell_apart_what_overlaps) {
  std::vector<json> records;
  for (int round = 1; round <= 3; ++round) {
    records.push_back(record_of("ddp", false, round, 30 + round));      // 31..33
    records.push_back(record_of("zero1", false, round, 32 + round));    // 33..35 touches
    records.push_back(record_of("zero2", false, round, 33.1 + round));  // 34.1.. does not
  }
  const std::string text = table(records);
  EXPECT_TRUE(has(text, "≈ 34.0  33.0..35.0")) << text;
  EXPECT_FALSE(has(text, "≈ 35.1")) << text;
  EXPECT_FALSE(has(text, "≈ 32.0")) << "ddp is not compared with itself\n" << text;
}

TEST(Table, compares_bytes_and_volume_with_ddp) {
  // N = 2, pure fp32: 16P, 8P + 8P/N, 4P + 12P/N, 16P/N; P = 694,272, so 11.11, 8.33, 6.94, 5.55
  // MB.
  const std::string text = table(example::ladder());
  const auto cell = [&](const char* block, const char* strategy, std::size_t i) {
    return row(text, block, strategy).at(i);
  };
  EXPECT_EQ(cell("BYTES", "ddp", 4), "11.11");
  EXPECT_EQ(cell("BYTES", "zero1", 4), "8.33");
  EXPECT_EQ(cell("BYTES", "zero2", 4), "6.94");
  EXPECT_EQ(cell("BYTES", "zero3", 4), "5.55");
  EXPECT_EQ(cell("BYTES", "zero2_naive", 4), "8.33");
  EXPECT_EQ(cell("BYTES", "zero1", 7), "0.75");
  EXPECT_EQ(cell("BYTES", "zero3", 7), "0.50");
  // elements x 4 bytes x (N - 1)/N: 2P, 1P + 1P, 1P + 2P, 2P + 1P
  EXPECT_EQ(row(text, "TRAFFIC", "ddp"), (Words{"ddp", "2.777", "0.000", "2.777", "2.777", "2.777",
                                                "1.00", "2.777", "1.0000", "1"}));
  EXPECT_EQ(cell("TRAFFIC", "zero3", 1), "1.389");
  EXPECT_EQ(cell("TRAFFIC", "zero3", 2), "2.777");
  EXPECT_EQ(cell("TRAFFIC", "zero3", 6), "1.50");
  EXPECT_EQ(cell("TRAFFIC", "zero1_naive", 6), "1.50");
  EXPECT_EQ(cell("TRAFFIC", "zero1", 6), "1.00");
}

TEST(Table, the_norm_is_sent_but_is_no_gradient) {
  json r = record_of("zero1", false, 1, 30);
  for (json& c : r["traffic"]["called"]) c["volume_bytes"] = c["dtype"] == "f64" ? 8 : 1000;
  const Words words =
      row(table({r}), "TRAFFIC, kB", "zero1");  // 1000 each of reduce_scatter and all_gather
  EXPECT_EQ(words.at(1), "1.000");
  EXPECT_EQ(words.at(2), "1.000");
  EXPECT_EQ(words.at(3), "2.008");
}

TEST(Table, one_rank_sends_nothing_and_divides_by_nothing) {
  const std::string text =
      table({record_of("ddp", false, 1, 30, 1), record_of("zero1", false, 1, 30, 1)});
  EXPECT_EQ(row(text, "TRAFFIC", "zero1").at(6), "–") << text;
  EXPECT_FALSE(has(text, " nan")) << text;
  EXPECT_FALSE(has(text, " inf")) << text;
}

TEST(Table, sets_overlap_beside_no_overlap) {
  std::vector<json> records;
  for (int round = 1; round <= 3; ++round) {
    records.push_back(record_of("ddp", false, round, 40 + 0.1 * round));
    records.push_back(record_of("ddp", true, round, 36 + 0.1 * round));
  }
  const std::string text = table(records);
  // off: 40.2 - 4 - 6 = 30.2, two thirds of it in backward; on: 36.2 - 4 - 2 = 30.2 as well; 4
  // of 40.2 gained.
  EXPECT_EQ(row(text, "OVERLAP", "ddp*"),
            (Words{"ddp*", "40.2", "36.2", "4.0", "10.0", "20.1", "20.1", "4.0", "5.0", "60.0"}))
      << text;
  EXPECT_TRUE(has(text, "on*")) << "more threads than cores";
  EXPECT_TRUE(row(text, "BYTES", "ddp").at(1) == "2.78")
      << "bytes are the same, so there is one row\n"
      << text;
  for (json& r : records)
    if (r["cell"]["overlap"].get<bool>()) r["bytes"]["peak_bytes"] = 50'000'000;
  EXPECT_EQ(row(table(records), "BYTES", "ddp").at(1), "off");
}

TEST(Table, names_why_a_cell_failed) {
  std::vector<json> records;
  for (int round = 1; round <= 3; ++round) {
    records.push_back(record_of("ddp", false, round, 30));
    records.push_back(record_of("zero1", false, round, 30));
    example::set_failed(records.back(), round == 1 ? "failed" : "skipped",
                        round == 1 ? "it was ended by SIGSEGV" : "it failed in round 1");
  }
  const std::string text = table(records);
  EXPECT_EQ(row(text, "TIME", "zero1¹").at(1), "failed") << text;
  EXPECT_TRUE(has(text, "¹ failed in round 1 of 3, then skipped: it was ended by SIGSEGV")) << text;
  EXPECT_TRUE(row(text, "RATES", "zero1").empty());
}

TEST(Table, names_the_check_that_failed_in_any_round) {
  std::vector<json> records = {record_of("ddp", false, 1, 30), record_of("ddp", false, 2, 31)};
  records[1]["checks"]["traffic_exact"] = false;
  records[1]["checks"]["traffic_exact_reason"] = "step 3 called all_reduce twice";
  const std::string text = table(records);
  EXPECT_EQ(row(text, "RATES", "ddp¹").back(), "FAILED") << text;
  EXPECT_EQ(row(text, "TRAFFIC", "ddp¹").at(1), "2.777") << text;
  EXPECT_TRUE(has(text, "¹ traffic_exact is false: step 3 called all_reduce twice")) << text;
}

TEST(Table, names_the_strategy_that_computes_something_else) {
  std::vector<json> records = {record_of("ddp", false, 1, 30), record_of("zero2", false, 1, 30)};
  EXPECT_EQ(row(table(records), "RATES", "zero2").back(), "ok");
  records[1]["training"]["parameter_hash"] = "00000000deadbeef";
  const std::string text = table(records);
  EXPECT_EQ(row(text, "RATES", "zero2¹").back(), "FAILED") << text;
  EXPECT_EQ(row(text, "RATES", "ddp").back(), "ok") << text;
}

TEST(Table, a_missing_number_is_a_dash_with_its_reason) {
  json r = record_of("ddp", false, 1, 30);
  r["rates"]["matrix_share"] = nullptr;
  r["rates"]["matrix_share_reason"] = "nobody measured it";
  const std::string text = table({r});
  EXPECT_EQ(row(text, "RATES", "ddp¹").at(3), "–") << text;
  EXPECT_TRUE(has(text, "¹ no matrix_share: nobody measured it")) << text;
}

TEST(Table, a_cell_recorded_again_counts_once) {
  json failed = record_of("ddp", false, 1, 30);
  example::set_failed(failed, "failed", "it was ended by SIGKILL");
  const std::string text = table({failed, record_of("ddp", false, 1, 25)});
  EXPECT_EQ(row(text, "TIME", "ddp").at(1), "25.0") << text;
  EXPECT_FALSE(has(text, "SIGKILL")) << text;
}

TEST(Table, settings_that_differ_make_groups_and_are_named) {
  json a = record_of("ddp", false, 1, 30), b = record_of("ddp", false, 1, 30);
  b["cell"]["clip"] = 0;
  b["cell"]["id"] = "gpt-nano/ddp/n2/overlap-off/clip-0";
  const std::string text = table({a, b});
  EXPECT_TRUE(has(text, "parameters  ·  no clipping")) << text;
  EXPECT_TRUE(has(text, "parameters  ·  norm clipped to 1")) << text;
}

TEST(Table, all_example_records_can_be_shown) {
  EXPECT_TRUE(has(table(example::all_records()), "gpt-nano"));
  EXPECT_EQ(table({}), "no records\n");
}

}  // namespace
}  // namespace shardmark
