// Are the order of the table's rows, its marks, and the sentences beneath it those of its records?
#include <gtest/gtest.h>

#include "bench/example_records.hpp"
#include "bench/table.hpp"
#include "impl/strategies/strategy.hpp"

namespace shardmark {
namespace {

using example::has;
using example::record_of;
using example::row;
using nlohmann::json;

TEST(Order, is_the_registrys_and_unknown_names_follow_by_alphabet) {
  strategies().emplace("ahead", StrategyEntry{"of ddp", -1, false, nullptr, nullptr});
  std::vector<json> records;
  for (const char* name : {"zero1", "zeta", "ahead", "alpha", "ddp"})
    records.push_back(record_of(name, false, 1, 30));
  const std::string all = table(records);
  const std::string text = all.substr(0, all.find("\nRATES"));  // every block names them again
  strategies().erase("ahead");
  std::size_t at = 0;
  for (const char* name : {"\nahead ", "\nddp ", "\nzero1 ", "\nalpha ", "\nzeta "}) {
    at = text.find(name, at);
    ASSERT_NE(at, std::string::npos) << name << "\n" << text;
  }
}

TEST(Legend, the_chance_is_that_of_the_rounds_that_ended) {
  std::vector<json> records;
  for (int round = 1; round <= 3; ++round)
    for (const char* strategy : {"ddp", "zero1"})
      records.push_back(record_of(strategy, false, round, 30));
  EXPECT_TRUE(has(table(records), "a chance of 75 % (1 - 2/2^3)"));
  example::set_failed(records.back(), "failed", "it was ended by SIGSEGV");
  const std::string text = table(records);
  EXPECT_TRUE(has(text, "50 % for 2")) << text;
  EXPECT_TRUE(has(text, "75 % for 3")) << text;
  // Without a second round that ended there is no interval to speak of.
  records = {record_of("ddp", false, 1, 30), record_of("ddp", false, 2, 30)};
  example::set_failed(records.back(), "failed", "it was ended by SIGSEGV");
  EXPECT_FALSE(has(table(records), "low..high")) << table(records);
}

TEST(Marks, a_lack_of_cores_shows_wherever_a_time_does) {
  std::vector<json> records;
  for (const bool overlap : {false, true})
    for (const char* strategy : {"ddp", "zero1"})
      records.push_back(record_of(strategy, overlap, 1, 30));
  records.back()["oversubscribed"] = false;
  const std::string text = table(records, 132);
  EXPECT_FALSE(row(text, "OVERLAP", "ddp*").empty()) << text;
  EXPECT_FALSE(row(text, "OVERLAP", "zero1").empty()) << text;
  const std::string rates =
      text.substr(text.find("RATES"), text.find("BYTES") - text.find("RATES"));
  EXPECT_TRUE(has(rates, "on*")) << text;
  EXPECT_FALSE(has(rates, "off*")) << text;
}

TEST(Loss, a_diverging_one_can_be_read) {
  json r = record_of("ddp", false, 1, 30);
  r["training"]["loss"] = {5.739, 132738170499675986316295667712.0};
  EXPECT_TRUE(has(table({r}), " 5.739 → 1.33e+29 ")) << table({r});
  r["training"]["loss"] = {5.739, nullptr};
  EXPECT_TRUE(has(table({r}), " 5.739 → not finite ")) << table({r});
}

TEST(Legend, says_why_zero3_sends_something_else_than_the_textbook) {
  const char* sentence = "textbook counts every parameter twice";
  EXPECT_TRUE(has(table({record_of("zero3", false, 1, 30)}, 200), sentence));
  EXPECT_FALSE(has(table({record_of("zero2", false, 1, 30)}, 200), sentence));
}

TEST(Legend, names_what_was_not_compared) {
  std::vector<json> records;
  for (const char* strategy : {"ddp", "zero1", "zero2", "zero3", "mine"})
    records.push_back(record_of(strategy, false, 1, 30));
  EXPECT_FALSE(has(table(records), "not compared"));
  for (json& r : records) r["cell"]["accumulate"] = 4;
  EXPECT_TRUE(has(table(records, 200), "ddp, zero1 | zero2, zero3 | mine")) << table(records, 200);
  // Within a family they are.
  records[3]["training"]["parameter_hash"] = "00000000deadbeef";
  const auto words = row(table(records), "RATES", "zero3¹");
  ASSERT_FALSE(words.empty()) << table(records);
  EXPECT_EQ(words.back(), "FAILED");
}

}  // namespace
}  // namespace shardmark
