// Does `shardmark report`, run for real, write a whole page, and refuse what is wrong with a
// sentence?
#include <gtest/gtest.h>

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
