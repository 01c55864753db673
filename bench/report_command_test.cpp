// Does `shardmark report`, run for real, write a whole page, and refuse what is wrong with a
// sentence?
#include <gtest/gtest.h>

#include <regex>

#include "bench/example_records.hpp"
#include "bench/report_page.hpp"
#include "bench/report_read.hpp"
#include "bench/test_support.hpp"

namespace shardmark {
namespace {

using example::has;
using nlohmann::json;
using testing::Folder;

class ReportCommand : public ::testing::Test {
 protected:
  ReportCommand() {
    std::string two;
    for (const char* run : {"first", "second"})
      for (int round = 1; round <= 2; ++round) {
        json r = example::record_of("zero3", true, round, 50);
        r["run"] = run;
        two += r.dump() + "\n";
      }
    testing::write(f / "two.jsonl", two);
    std::filesystem::create_directory(f / "run");
    testing::write(f / "run/records.jsonl", example::record_of("ddp", true, 1, 50).dump() + "\n");
  }
  Folder f;
};

TEST_F(ReportCommand, a_file_of_many_runs_is_many_runs) {
  const ReportRuns read = read_runs({(f / "run").string(), (f / "two.jsonl").string()});
  ASSERT_EQ(read.runs.size(), 3u);
  EXPECT_EQ(read.runs[1].id, "first");
  EXPECT_EQ(read.runs[2].id, "second");
  EXPECT_EQ(read.runs[2].records.size(), 2u);
  EXPECT_EQ(read_runs({(f / "run").string(), (f / "two.jsonl").string()}, "zero3").runs.size(), 2u);
}

TEST_F(ReportCommand, a_page_is_whole_and_needs_nothing_else) {
  const testing::Ran ran = testing::shardmark(f, "report run two.jsonl");
  if (const std::string why = why_no_figures(); !why.empty()) {
    EXPECT_EQ(ran.code, 2);
    EXPECT_TRUE(has(ran.err, "libjs-vega")) << ran.err;
    GTEST_SKIP() << why;
  }
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(ran.out.starts_with("report.html: ")) << ran.out;
  const std::string page = testing::read(f / "report.html");
  EXPECT_FALSE(has(page, "@@"));
  for (const char* loads : {"<script src", "<img", "@import", "<iframe"})
    EXPECT_FALSE(has(page, loads)) << loads;
  EXPECT_FALSE(has(page, "<link"));
  const std::string opens = "<script id=\"data\" type=\"application/json\">";
  const std::size_t begin = page.find(opens) + opens.size();
  const json data = json::parse(page.substr(begin, page.find("</script>", begin) - begin));
  EXPECT_EQ(data.at("cells").size(), 3u);
  EXPECT_EQ(data.at("command"), "shardmark report run two.jsonl");
}

TEST_F(ReportCommand, the_command_on_the_page_can_be_typed_again) {
  if (const std::string why = why_no_figures(); !why.empty()) GTEST_SKIP() << why;
  std::filesystem::copy_file(f / "two.jsonl", f / "it's two.jsonl");
  const testing::Ran ran = testing::shardmark(f, "report \"it's two.jsonl\" --cells 'zero3/n2'");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(has(testing::read(f / "report.html"),
                  R"(shardmark report 'it'\\''s two.jsonl' --cells zero3/n2)"));
}

TEST_F(ReportCommand, every_metric_of_the_history_is_one_that_its_figure_draws) {
  if (const std::string why = why_no_figures(); !why.empty()) GTEST_SKIP() << why;
  for (const std::string& metric : history_metrics()) {
    const testing::Ran ran =
        testing::shardmark(f, "report two.jsonl --figure history -o h.svg --metric " + metric);
    if (has(ran.err, "install nodejs")) GTEST_SKIP() << ran.err;
    ASSERT_EQ(ran.code, 0) << metric << ": " << ran.err;
  }
  EXPECT_TRUE(has(testing::read(f / "h.svg"), "Over commits: volume a step"));
}

// A file is 880 pixels wide, of which its padding takes 40 and names at most 320.
TEST_F(ReportCommand, names_however_long_leave_the_bars_their_room) {
  if (const std::string why = why_no_figures(); !why.empty()) GTEST_SKIP() << why;
  std::string records;
  for (const char* model : {"gpt:layers=12,width=768,heads=12,sequence=1024,vocab=50257",
                            "gpt:layers=48,width=1600,heads=25,sequence=1024,vocab=50257"}) {
    json r = example::record_of("zero1_naive", true, 1, 50);
    r["cell"]["model"] = model;
    r["cell"]["id"] = std::string(model) + "/zero1_naive/n2/overlap-on";
    records += r.dump() + "\n";
  }
  testing::write(f / "long.jsonl", records);
  const testing::Ran ran = testing::shardmark(f, "report long.jsonl --figure step-time -o l.svg");
  if (has(ran.err, "install nodejs")) GTEST_SKIP() << ran.err;
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::string svg = testing::read(f / "l.svg");
  std::smatch plot;
  ASSERT_TRUE(std::regex_search(svg, plot, std::regex(R"rx("background"[^>]*d="M0,0h(\d+))rx")));
  EXPECT_GE(std::stoi(plot[1]), 500);
  EXPECT_TRUE(has(svg, "gpt:layers=48,width=1600,"));
}

TEST_F(ReportCommand, a_timeline_is_of_the_cell_that_was_asked_for) {
  if (const std::string why = why_no_figures(); !why.empty()) GTEST_SKIP() << why;
  const std::string timeline = "report run more --figure timeline -o t.svg ";
  std::filesystem::create_directory(f / "more");
  std::string more;
  for (const char* strategy : {"zero1", "zero1_naive"}) {
    json r = example::record_of(strategy, true, 1, 50);
    r["run"] = "more";
    more += r.dump() + "\n";
  }
  testing::write(f / "more/records.jsonl", more);
  for (const auto& [arguments, sentence] :
       {std::pair("", "draws one cell, and there are 3; name it with --cell:\n  gpt-nano/ddp/n2"),
        std::pair("--cell gpt-nano/zero", "is the beginning of 2 cells of these runs"),
        std::pair("--cell zero9", "--cell \"zero9\" is no cell of these runs"),
        std::pair("two.jsonl --cell gpt-nano/zero3", "is in 2 of these runs; give one of them")}) {
    const testing::Ran ran = testing::shardmark(f, timeline + arguments);
    EXPECT_EQ(ran.code, 2) << arguments;
    EXPECT_TRUE(has(ran.err, sentence)) << ran.err;
  }
  EXPECT_FALSE(std::filesystem::exists(f / "t.svg"));
  const testing::Ran ran = testing::shardmark(f, timeline + "--cell gpt-nano/zero1");
  if (has(ran.err, "install nodejs")) GTEST_SKIP() << ran.err;
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(has(testing::read(f / "t.svg"), "gpt-nano/zero1/n2/overlap-on, step"));
}

TEST_F(ReportCommand, wrong_input_is_a_sentence_and_writes_nothing) {
  testing::write(f / "garbage", "hello\n");
  json wrong = example::record_of("ddp", true, 1, 50);
  wrong["time"] = 7;
  testing::write(f / "wrong.jsonl", wrong.dump() + "\n");
  wrong["run"] = 7;
  testing::write(f / "no_run.jsonl", wrong.dump() + "\n");
  for (const auto& [arguments, sentence] :
       {std::pair("report", "RUN is required; see shardmark report --help."),
        std::pair("report nowhere", "RUN: there is no file nowhere."),
        std::pair("report .", "RUN: the folder . holds no records.jsonl"),
        std::pair("report garbage", "RUN: garbage holds no record"),
        std::pair("report run wrong.jsonl", "RUN: wrong.jsonl holds a record that is not as"),
        std::pair("report no_run.jsonl", "RUN: no_run.jsonl holds a record that is not as"),
        std::pair("report run --cells zero9", "--cells is \"zero9\", but no cell's id has that"),
        std::pair("report run --figure stepp-time -o x.svg", "did you mean step-time?"),
        std::pair("report run --figure bytes", "ends in .svg or .png"),
        std::pair("report run --figure bytes -o x.gif", "--out is \"x.gif\""),
        std::pair("report run --figure history --metric bytes -o x.svg",
                  "but must be step, exposed"),
        std::pair("report run --figure bytes --metric peak -o x.svg", "--metric is for --figure"),
        std::pair("report run --figure bytes --cell zero -o x.svg", "--cell is for --figure timel"),
        std::pair("report run --cell zero", "on the page a click chooses the cell"),
        std::pair("report run --metric peak", "the page lets its reader choose"),
        std::pair("report run --dark", "--dark is for --figure"),
        std::pair("report run -o x.svg", "a .svg or .png is for --figure NAME"),
        std::pair("report run -o run/records.jsonl", "but a page ends in .html"),
        std::pair("report run --dork", "did you mean --dark?"),
        std::pair("report run -o a.html -o b.html", "is given twice")}) {
    const testing::Ran ran = testing::shardmark(f, arguments);
    EXPECT_EQ(ran.code, 2) << arguments << ran.out;
    EXPECT_TRUE(has(ran.err, sentence)) << arguments << ": " << ran.err;
  }
  for (const char* file : {"report.html", "x.svg", "x.gif", "a.html", "b.html"})
    EXPECT_FALSE(std::filesystem::exists(f / file)) << file;
  if (why_no_figures().empty()) {
    EXPECT_TRUE(has(testing::shardmark(f, "report run -o no/where.html").err,
                    "--out no/where.html cannot be written"));
    std::filesystem::create_directory(f / "empty");
    // Only what it searches programs in: neither node nor rsvg-convert is there.
    EXPECT_TRUE(has(testing::shardmark(f, "report run --figure bytes -o x.svg", "PATH=empty").err,
                    "install nodejs"));
  }
}

}  // namespace
}  // namespace shardmark
