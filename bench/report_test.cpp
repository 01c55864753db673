// Is what a report says of runs what their records come to? Sums, medians, edges and volumes worked
// out by hand, and texts that would break out of a page.
#include <gtest/gtest.h>

#include "bench/example_records.hpp"
#include "bench/report_cell.hpp"
#include "bench/report_data.hpp"
#include "bench/report_page.hpp"
#include "bench/report_test_support.hpp"
#include "bench/report_timeline.hpp"
#include "bench/test_support.hpp"

namespace shardmark {
namespace {

using example::cell_of;
using example::data_of;
using example::has;
using nlohmann::json;

TEST(Report, a_cell_is_its_median_round_and_the_interval_over_rounds) {
  const json data = data_of(example::ladder());
  EXPECT_EQ(data.at("cells").size(), 12u);
  const json& ddp = cell_of(data, "ddp/n2/overlap-off");
  // Rounds of 75 + 0.4, 75 - 0.4 and 75 ms.
  EXPECT_EQ(ddp.at("step_ns"), 75e6);
  EXPECT_EQ(ddp.at("low_ns"), 74.6e6);
  EXPECT_EQ(ddp.at("high_ns"), 75.4e6);
  EXPECT_EQ(ddp.at("rounds"), 3);
  EXPECT_EQ(ddp.at("time_over_ddp"), 1.0);
  EXPECT_NEAR(cell_of(data, "zero3/n2/overlap-off").at("time_over_ddp").get<double>(), 81.0 / 75,
              1e-12);
  // 73.6 to 74.4 and 74.6 to 75.4 do not overlap; zero2's 75.1 to 75.9 does.
  EXPECT_EQ(cell_of(data, "zero1/n2/overlap-off").at("as_fast_as_ddp"), false);
  EXPECT_EQ(cell_of(data, "zero2/n2/overlap-off").at("as_fast_as_ddp"), true);
}

TEST(Report, parts_add_up_to_the_step) {
  const json data = data_of(example::ladder());
  for (const json& cell : data.at("cells")) {
    double sum = 0;
    for (const char* part :
         {"forward", "recompute", "backward", "clip", "update", "exposed", "other"})
      sum += cell.at("parts_ns").at(part).get<double>();
    EXPECT_EQ(sum, cell.at("step_ns").get<double>()) << cell.at("id");
  }
}

TEST(Report, bytes_and_volume_are_the_textbooks) {
  const json data = data_of(example::ladder());
  const double p = example::parameters;
  const json& zero3 = cell_of(data, "zero3/n2/overlap-off");
  // 16P/N and, at N = 2, (N-1)/N of 4P reduced and of 8P gathered, and the norm of 8 bytes twice.
  EXPECT_EQ(zero3.at("state_bytes").at("measured"), 16 * p / 2);
  EXPECT_EQ(zero3.at("volume_bytes").at("measured"), 2 * p + 4 * p + 8);
  EXPECT_EQ(cell_of(data, "/ddp/n2/overlap-on").at("volume_bytes").at("textbook"), 4 * p);
  double sum = 0;
  for (const json& held : zero3.at("held_bytes"))
    if (!held.at("textbook").is_null()) sum += held.at("measured").get<double>();
  EXPECT_EQ(sum, 16 * p / 2);
}

TEST(Report, a_tag_in_two_types_is_one_entry) {
  json r = example::record();
  json more = r["bytes"]["held"].front();
  more["dtype"] = "bf16";
  more["measured_bytes"] = 1000;
  more["exact_bytes"] = nullptr;
  const std::string tag = more["tag"];
  const double before = r["bytes"]["held"].front()["measured_bytes"];
  r["bytes"]["held"].push_back(more);
  int found = 0;
  const json data = data_of({r});
  for (const json& held : data.at("cells")[0].at("held_bytes"))
    if (held.at("tag") == tag) {
      ++found;
      EXPECT_EQ(held.at("measured"), before + 1000);
      EXPECT_TRUE(held.at("exact").is_null()) << "a sum with an unknown part is unknown";
    }
  EXPECT_EQ(found, 1);
}

// Whatever a cell carries is there as often as there are cells.
TEST(Report, a_cell_carries_only_what_something_draws) {
  const json data = data_of(example::ladder());
  for (const char* key : {"norm", "warmup_steps", "same_training"})
    EXPECT_FALSE(data.at("cells")[0].contains(key)) << key;
  EXPECT_TRUE(data["cells"][0].at("work").is_number());
}

TEST(Report, curves_keep_their_ends_and_say_which_step) {
  json losses = json::array();
  for (int i = 0; i < 1001; ++i) losses.push_back(i == 0 ? json() : json(1.0 / 3 * i));
  const json curve = thinned(losses, 101);
  ASSERT_EQ(curve.size(), 101u);
  EXPECT_EQ(curve.front(), json({0, nullptr}));
  EXPECT_EQ(curve[1], json({10, 3.33333}));
  EXPECT_EQ(curve.back(), json({1000, 333.333}));
  EXPECT_EQ(thinned({4.5}, 101), json::array({{0, 4.5}}));
  EXPECT_EQ(thinned(nullptr, 101), json::array());
}

json one_rank() {
  return {{"step", 7},
          {"step_ns", 5000000},
          {"clocks_comparable", true},
          {"ranks",
           {{{"rank", 0},
             {"compute",
              {{"phase", {"forward", "backward"}},
               {"label", {0, 1}},
               {"begin_ns", {0, 1000040}},
               {"end_ns", {1000000, 4000000}},
               {"skew_ns", {0, 0}},
               {"verb", {nullptr, nullptr}},
               {"payload_bytes", {nullptr, nullptr}}}},
             {"communication",
              {{"phase", {"reduce"}},
               {"label", {3}},
               {"begin_ns", {2000000}},
               {"end_ns", {2500000}},
               {"skew_ns", {200000}},
               {"verb", {"reduce_scatter"}},
               {"payload_bytes", {4096}}}}}}}};
}

TEST(Report, a_timeline_is_kept_to_a_tenth_of_a_microsecond) {
  const json lanes = compact_timeline(one_rank()).at("ranks")[0].at("lanes");
  ASSERT_EQ(lanes.size(), 2u);
  EXPECT_EQ(lanes[0], json({{"queue", "compute"},
                            {"begin", {0, 10000}},
                            {"length", {10000, 30000}},
                            {"phase", {0, 2}},
                            {"label", {0, 1}}}));
  EXPECT_EQ(lanes[1], json({{"queue", "communication"},
                            {"begin", {20000}},
                            {"length", {5000}},
                            {"phase", {5}},
                            {"label", {3}},
                            {"skew", {2000}},
                            {"verb", {1}},
                            {"bytes", {4096}}}));
  EXPECT_EQ(timeline_phases().at(5), "reduce");
  EXPECT_EQ(timeline_verbs().at(1), "reduce_scatter");
}

TEST(Report, a_cell_without_a_timeline_says_why) {
  json with = example::record_of("ddp", true, 1, 50),
       without = example::record_of("zero1", true, 1, 50);
  with["timeline"] = one_rank();
  without["timeline"] = nullptr;
  without["timeline_reason"] = "the clock stood still";
  const json data = data_of({with, without});
  EXPECT_TRUE(cell_of(data, "/ddp/").contains("timeline"));
  EXPECT_EQ(cell_of(data, "/zero1/").at("timeline_reason"), "the clock stood still");
}

TEST(Report, timelines_beyond_the_limit_are_left_out_and_said_to_be) {
  const json timeline = compact_timeline(one_rank());
  const std::size_t one = timeline.dump().size();
  json cells = {{{"timeline", timeline}}, {{"timeline", timeline}}, {{"timeline", timeline}}};
  limit_timelines(cells, 2 * one);
  EXPECT_TRUE(cells[0].contains("timeline"));
  EXPECT_TRUE(cells[1].contains("timeline"));
  EXPECT_FALSE(cells[2].contains("timeline"));
  EXPECT_TRUE(has(cells[2].at("timeline_reason"), "--cells"));
}

TEST(Report, what_failed_is_there_with_its_reason) {
  json failed = example::record_of("zero2", false, 1, 50);
  example::set_failed(failed, "failed", "rank 1 ran out of memory");
  const json data = data_of({example::record_of("ddp", false, 1, 50), failed});
  const json& cell = cell_of(data, "/zero2/");
  EXPECT_EQ(cell.at("status"), "failed");
  EXPECT_EQ(cell.at("reason"), "rank 1 ran out of memory");
  EXPECT_FALSE(cell.contains("step_ns"));
}

TEST(Report, settings_that_all_cells_share_are_said_once) {
  const json data = data_of(example::ladder());
  EXPECT_EQ(data.at("common").at("model"), "gpt-nano");
  EXPECT_EQ(cell_of(data, "/zero1/n2/overlap-on").at("settings"),
            json({{"overlap", true}, {"strategy", "zero1"}}));
}

TEST(Report, runs_differ_by_the_ratio_of_their_rounds) {
  std::vector<json> base, head;
  for (int round = 1; round <= 5; ++round) {
    base.push_back(example::record_of("ddp", true, round, 100 + round));
    head.push_back(example::record_of("ddp", true, round, (100 + round) * 1.2));
  }
  base.push_back(example::record_of("zero1", true, 1, 100));
  head.push_back(example::record_of("zero2", true, 1, 100));
  head.push_back(example::record_of("zero1", true, 1, 100));
  example::set_failed(head.back(), "failed", "on purpose");
  head[0]["bytes"]["peak_bytes"] = head[1]["bytes"]["peak_bytes"];
  const json data = report_data({{"a", "1", "training", base}, {"b", "2", "training", head}}, {});
  ASSERT_EQ(data.at("differences").size(), 1u);
  const json& entry = data["differences"][0];
  EXPECT_EQ(entry.at("other_machine"), "");
  ASSERT_EQ(entry.at("missing").size(), 2u);
  EXPECT_EQ(entry["missing"][0].at("why"), "failed in the later run");
  EXPECT_EQ(entry["missing"][1].at("why"), "not in the first run");
  const json& cell = entry.at("cells").at(0);
  EXPECT_NEAR(cell.at("ratio").get<double>(), 1.2, 1e-3);
  EXPECT_EQ(cell.at("verdict"), "SLOWER");
  EXPECT_EQ(cell.at("peak_bytes"), 0);
  EXPECT_EQ(cell.at("same_losses"), true);
  // One digit that no figure shows.
  for (json& r : head)
    if (r["training"].is_object())
      r["training"]["loss"].back() = r["training"]["loss"].back().get<double>() + 1e-9;
  const json other = report_data({{"a", "1", "training", base}, {"b", "2", "training", head}}, {});
  EXPECT_EQ(other["differences"][0]["cells"][0].at("same_losses"), false);
}

TEST(Report, nothing_in_the_data_can_end_the_script_it_stands_in) {
  const json nasty = {{"</script><!--<script>", "\xe2\x80\xa8 \xe2\x80\xa9 <b> & \" \\ \xff"}};
  const std::string text = script_json(nasty);
  EXPECT_EQ(text.find('<'), text.npos);
  for (const char c : text) EXPECT_TRUE(c >= 0x20 && c < 0x7f) << text;
  json read = json::parse(text);
  EXPECT_EQ(read.begin().key(), "</script><!--<script>");
  EXPECT_TRUE(has(read.begin().value(), "\xe2\x80\xa8 \xe2\x80\xa9 <b> & \" \\ "));
}

}  // namespace
}  // namespace shardmark
