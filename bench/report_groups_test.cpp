// Are only those cells of a report held against each other that may be: in memory and time, by
// their losses, over runs?
#include <gtest/gtest.h>

#include "bench/example_records.hpp"
#include "bench/report_cell.hpp"
#include "bench/report_data.hpp"
#include "bench/report_test_support.hpp"
#include "bench/test_support.hpp"

namespace shardmark {
namespace {

using example::cell_of;
using example::data_of;
using example::has;
using nlohmann::json;

TEST(ReportGroups, the_edge_is_what_nothing_beats_in_both) {
  const auto cell = [](double ms, double bytes, int work) {
    return json{
        {"step_ns", ms}, {"low_ns", ms}, {"high_ns", ms}, {"peak_bytes", bytes}, {"work", work}};
  };
  json cells = {cell(10, 100, 0), cell(20, 50, 0), cell(21, 50, 0),       cell(15, 120, 0),
                cell(5, 40, 1),   cell(20, 50, 0), {{"status", "failed"}}};
  mark_edges(cells);
  std::vector<bool> edges;
  for (const json& c : cells) edges.push_back(c.value("edge", false));
  // The third is slower than the second at equal bytes, the fourth loses to the first; the fifth
  // does other work; of equal ones neither beats the other.
  EXPECT_EQ(edges, (std::vector<bool>{true, true, false, false, true, true, false}));
}

TEST(ReportGroups, no_cell_beats_another_whose_rounds_overlap_its_own) {
  const auto cell = [](double low, double ms, double high, double bytes) {
    return json{
        {"step_ns", ms}, {"low_ns", low}, {"high_ns", high}, {"peak_bytes", bytes}, {"work", 0}};
  };
  // 9 to 12 and 11 to 14 overlap, 9 to 12 and 12.5 to 14 do not.
  json cells = {cell(9, 10, 12, 100), cell(11, 13, 14, 120), cell(12.5, 13, 14, 120)};
  mark_edges(cells);
  EXPECT_EQ(cells[0].at("edge"), true);
  EXPECT_EQ(cells[1].at("edge"), true);
  EXPECT_EQ(cells[2].at("edge"), false);
}

TEST(ReportGroups, losses_should_coincide_where_data_batch_and_types_do) {
  const auto cell = [](const char* strategy, int ranks, int batch, const char* precision) {
    json r = example::record_of(strategy, true, 1, 80, ranks);
    r["cell"]["batch"] = batch;
    r["cell"]["precision"] = precision;
    r["cell"]["id"] = r["cell"]["id"].get<std::string>() + precision + std::to_string(batch);
    return r;
  };
  // 2 ranks of 4 sequences and 4 ranks of 2 are 8 sequences both.
  const json data = data_of({cell("ddp", 2, 4, "fp32"), cell("zero3", 4, 2, "fp32"),
                             cell("zero1", 4, 4, "fp32"), cell("zero2", 2, 4, "bf16")});
  const auto curve = [&](const char* part) { return cell_of(data, part).at("curve").get<int>(); };
  EXPECT_EQ(curve("/ddp/"), curve("/zero3/"));
  EXPECT_NE(curve("/ddp/"), curve("/zero1/"));
  EXPECT_NE(curve("/ddp/"), curve("/zero2/"));
  EXPECT_NE(curve("/zero1/"), curve("/zero2/"));
  ASSERT_EQ(data.at("curves").size(), 3u);
  EXPECT_EQ(data["curves"][curve("/zero1/")], json({{"global_batch", 16}, {"precision", "fp32"}}));
  EXPECT_EQ(data["curves"][curve("/zero2/")], json({{"global_batch", 8}, {"precision", "bf16"}}));
}

TEST(ReportGroups, a_run_on_another_machine_than_the_one_before_says_so) {
  std::vector<ReportRun> runs;
  for (const int cores : {2, 2, 4}) {
    json r = example::record_of("ddp", true, 1, 80);
    r["machine"]["cores_usable"] = cores;
    runs.push_back({"file", std::to_string(runs.size()), "training", {r}});
  }
  const json data = report_data(runs, {});
  EXPECT_EQ(data.at("runs")[0].at("other_machine"), "");
  EXPECT_EQ(data["runs"][1].at("other_machine"), "");
  EXPECT_EQ(data["runs"][2].at("other_machine"), "cores_usable: 2, then 4");
}

TEST(ReportGroups, only_what_does_not_change_the_training_shares_an_edge) {
  json big = example::record_of("ddp", false, 1, 80),
       small = example::record_of("zero1", false, 1, 70);
  small["cell"]["bucket_bytes"] = 77;
  json data = data_of({big, small});
  EXPECT_FALSE(cell_of(data, "/ddp/").at("edge").get<bool>());
  small["cell"]["batch"] = 99;
  data = data_of({big, small});
  EXPECT_TRUE(cell_of(data, "/ddp/").at("edge").get<bool>());
}

}  // namespace
}  // namespace shardmark
