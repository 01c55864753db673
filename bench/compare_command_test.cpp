// Do the commands compare and export, run for real, say what they found in every form, and end with
// the right code?
#include <gtest/gtest.h>

#include "bench/example_records.hpp"
#include "bench/test_support.hpp"
#include "bench/units.hpp"

namespace shardmark {
namespace {

using example::has;
using nlohmann::json;
using testing::Folder;
using testing::Ran;

void write_run(const Folder& f, const std::string& name, double by, std::uint64_t bytes = 0) {
  std::string lines;
  for (const char* strategy : {"ddp", "zero1", "zero2"})
    for (int round = 1; round <= 5; ++round) {
      json r = example::record_of(strategy, true, round, (100 + round) * by);
      if (bytes > 0) r["bytes"]["held"][1]["measured_bytes"] = bytes;
      lines += r.dump() + "\n";
    }
  std::filesystem::create_directory(f / name);
  testing::write(f / (name + "/records.jsonl"), lines);
}

class Commands : public ::testing::Test {
 protected:
  Commands() {
    write_run(f, "base", 1);
    write_run(f, "same", 1);
    write_run(f, "slow", 1.2);
    write_run(f, "fat", 1, 12'345'678);
  }
  Ran ran(const std::string& arguments) const { return testing::shardmark(f, arguments); }
  Folder f;
};

TEST_F(Commands, codes_are_0_without_and_1_with_a_regression) {
  EXPECT_EQ(ran("compare base same").code, 0);
  EXPECT_EQ(ran("compare base base/records.jsonl").code, 0);
  EXPECT_EQ(ran("compare base slow").code, 1);
  EXPECT_EQ(ran("compare slow base").code, 0);
  EXPECT_EQ(ran("compare base slow --threshold 30").code, 0);
  EXPECT_EQ(ran("compare base fat").code, 1);
}

TEST_F(Commands, the_text_has_every_cell_and_every_difference) {
  const Ran slow = ran("compare base slow"), fat = ran("compare base fat");
  for (const std::string& line : example::lines_of(slow.out + fat.out))
    EXPECT_LE(display_width(line), 100u) << line;
  const auto row = example::row(slow.out, "cell", "gpt-nano/zero1/n2/overlap-on");
  // 101 to 105 ms: 1.2 x 102/105 to 1.2 x 105/102.
  EXPECT_EQ(row, (example::Words{"gpt-nano/zero1/n2/overlap-on", "103.0", "123.6", "1.200",
                                 "1.166–1.235", "5,", "5", "equal", "SLOWER"}))
      << slow.out;
  EXPECT_TRUE(has(slow.out, "let them take turns")) << slow.out;
  EXPECT_TRUE(has(slow.out, "Regression, 3 cells compared: 3 SLOWER.")) << slow.out;
  EXPECT_TRUE(has(fat.out, "gpt-nano/ddp/n2/overlap-on differs\n")) << fat.out;
  EXPECT_EQ(
      example::row(fat.out, "gpt-nano/ddp/n2/overlap-on differs", "  bytes of gradient f32,"),
      (example::Words{"bytes", "of", "gradient", "f32,", "measured", "2,777,088", "12,345,678"}))
      << fat.out;
  EXPECT_TRUE(has(fat.out, "3 SAME, 3 cells with another exact value.")) << fat.out;
}

TEST_F(Commands, json_is_for_programs) {
  const Ran fat = ran("compare base fat --format json");
  EXPECT_EQ(fat.code, 1);
  const json c = json::parse(fat.out);
  EXPECT_EQ(c["red"], true);
  EXPECT_EQ(c["compared"], 3);
  EXPECT_EQ(c["regressions"], 3);
  EXPECT_EQ(c["verdicts"]["SAME"], 3);
  EXPECT_EQ(c["threshold"], 0.03);
  EXPECT_EQ(c["base"]["path"], "base");
  const json& cell = c["cells"][0];
  EXPECT_EQ(cell["exact"], "differs");
  EXPECT_EQ(cell["base_ns"], 103e6);
  EXPECT_EQ(cell["differences"][0]["head"], 12'345'678);
}

TEST_F(Commands, markdown_is_short) {
  const std::string same = ran("compare base same --format markdown").out,
                    fat = ran("compare base fat --format markdown").out;
  EXPECT_TRUE(has(same, "**No regression found, 3 cells compared: 3 SAME.**")) << same;
  EXPECT_FALSE(has(same, "|")) << same;
  EXPECT_TRUE(has(fat, "| `gpt-nano/ddp/n2/overlap-on` | 103.0 | 103.0 | 1.000 |")) << fat;
  EXPECT_TRUE(has(fat, "bytes of gradient f32, measured: 2,777,088 → 12,345,678")) << fat;
}

TEST_F(Commands, nothing_in_common_is_red_with_a_sentence) {
  testing::write(f / "other.jsonl", example::record_of("zero3", true, 1, 50).dump() + "\n");
  const Ran none = ran("compare base other.jsonl");
  EXPECT_EQ(none.code, 1);
  EXPECT_TRUE(has(none.out, "Nothing was compared: ")) << none.out;
  EXPECT_TRUE(has(none.out, "MISSING"));
  EXPECT_TRUE(has(none.out, "NEW"));
}

TEST_F(Commands, an_export_can_be_compared) {
  ASSERT_EQ(ran("export base --format gbench -o base.json").code, 0);
  const Ran printed = ran("export slow/records.jsonl --format gbench");
  testing::write(f / "slow.json", printed.out);
  EXPECT_EQ(json::parse(testing::read(f / "base.json"))["benchmarks"].size(), 15u);
  const Ran slow = ran("compare base.json slow.json");
  EXPECT_EQ(slow.code, 1) << slow.out;
  EXPECT_TRUE(has(slow.out, "Regression, 3 cells compared: 3 SLOWER.")) << slow.out;
}

TEST_F(Commands, an_export_of_a_wrong_record_names_its_file) {
  json r = example::record_of("zero1", true, 1, 50);
  r["round"] = "one";
  testing::write(f / "wrong.jsonl", r.dump() + "\n");
  const Ran wrong = ran("export wrong.jsonl --format gbench");
  EXPECT_EQ(wrong.code, 2) << wrong.err;
  EXPECT_TRUE(has(wrong.err, "RUN: wrong.jsonl holds a record that is not as")) << wrong.err;
}

TEST_F(Commands, wrong_input_is_a_sentence_and_exit_2) {
  testing::write(f / "garbage", "hello\n");
  testing::write(f / "empty.json", R"({"benchmarks": []})");
  for (const auto& [arguments, sentence] :
       {std::pair("compare base", "HEAD is required; see shardmark compare --help."),
        std::pair("compare base nowhere", "HEAD: there is no file nowhere."),
        std::pair("compare garbage base", "BASE: garbage holds no records and is no Google"),
        std::pair("compare empty.json base", "BASE: empty.json holds no measurement."),
        std::pair("compare . base", "BASE: the folder . holds no records.jsonl"),
        std::pair("compare base ''", "HEAD is \"\", but must be FOLDER|FILE"),
        std::pair("compare base same slow", "\"slow\" stands behind no flag."),
        std::pair("compare base same --threshold -1", "--threshold is \"-1\", but must be"),
        std::pair("compare base same --threshold x", "--threshold is \"x\", but must be"),
        std::pair("compare base same --format jsno",
                  "--format is \"jsno\", but must be text, json, markdown; did you mean json?"),
        std::pair("compare base same --format text --format json", "--format is given twice"),
        std::pair("compare base same --treshold 3", "did you mean --threshold?"),
        std::pair("export base", "--format is required; see shardmark export --help."),
        std::pair("export base --format csv", "--format is \"csv\", but must be gbench"),
        std::pair("export nowhere --format gbench", "RUN: there is no file nowhere."),
        std::pair("export base --format gbench -o no/where", "--out no/where cannot be written")}) {
    const Ran wrong = ran(arguments);
    EXPECT_EQ(wrong.code, 2) << arguments;
    EXPECT_EQ(wrong.out, "") << arguments;
    EXPECT_TRUE(wrong.err.starts_with("shardmark: ")) << wrong.err;
    EXPECT_TRUE(has(wrong.err, sentence)) << arguments << ": " << wrong.err;
  }
}

TEST_F(Commands, help_says_what_the_codes_mean) {
  EXPECT_TRUE(has(ran("compare --help").out, "Exit codes: 0 no regression"));
  EXPECT_TRUE(has(ran("export --help").out, "gbench"));
  EXPECT_TRUE(has(ran("--help").out, "compare"));
}

}  // namespace
}  // namespace shardmark
