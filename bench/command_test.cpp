// Does the command, run for real, refuse wrong input with a sentence and exit code 2, and do its
// records hold what they must?
#include <gtest/gtest.h>

#include <set>

#include "bench/test_support.hpp"

namespace shardmark {
namespace {

using nlohmann::json;
using testing::Folder;
using testing::Ran;

// Milliseconds a cell.
const std::string small = "--model mlp:layers=2,width=64 --batch 1 --sequence 32 --steps 2";

std::size_t entries(const Folder& f) {
  std::size_t n = 0;
  for ([[maybe_unused]] const auto& e : std::filesystem::directory_iterator(f.path())) ++n;
  return n;
}

struct Wrong {
  const char* arguments;
  const char* sentence;  // part of it
};
class WrongInput : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongInput, is_one_sentence_and_exit_2_and_leaves_nothing_behind) {
  const Folder f;
  testing::write(f / "empty", "");
  testing::write(f / "short", "hi");
  testing::write(f / "bad.suite", "--strategy ddp\n--strategy ddp --rank 2\n");
  const std::size_t before = entries(f);
  const Ran ran = testing::shardmark(f, GetParam().arguments);
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.out, "");
  EXPECT_NE(ran.err.find(GetParam().sentence), std::string::npos) << ran.err;
  EXPECT_EQ(ran.err.rfind("shardmark: ", 0), 0u) << ran.err;
  EXPECT_EQ(entries(f), before);
}

INSTANTIATE_TEST_SUITE_P(
    input, WrongInput,
    ::testing::Values(
        Wrong{"run --strategy zero11",
              "--strategy \"zero11\" is unknown; known are all, ddp, zero1, zero2, zero3, "
              "zero1_naive, zero2_naive; did you mean zero1?"},
        Wrong{"run --model gpt-nanno", "did you mean gpt-nano?"},
        Wrong{"run --rank 2", "shardmark run has no flag --rank; did you mean --ranks?"},
        Wrong{"run --model gpt:layers=2,width=100,heads=3",
              "width 100 is not divisible by heads 3"},
        Wrong{"run --ranks 0", "--ranks is \"0\", but must be a whole number from 1 to 256."},
        Wrong{"run --ranks -1", "--ranks is \"-1\", but must be a whole number from 1 to 256."},
        Wrong{"run --ranks 1.5", "--ranks is \"1.5\", but must be a whole number from 1 to 256."},
        Wrong{"run --ranks 10000",
              "--ranks is \"10000\", but must be a whole number from 1 to 256."},
        Wrong{"run --ranks 2 --ranks 4", "--ranks is given twice"},
        Wrong{"run --ranks 2,,4", "--ranks is \"2,,4\", which has an empty entry"},
        Wrong{"run --ranks", "--ranks: "},
        Wrong{"run --steps 0", "--steps is \"0\", but must be a whole number from 1"},
        Wrong{"run --warmup 1", "--warmup is \"1\", but must be a whole number from 2"},
        Wrong{"run --batch 0", "--batch is \"0\", but must be a whole number from 1"},
        Wrong{"run --clip -1", "--clip is \"-1\", but must be a number of at least 0"},
        Wrong{"run --clip nan", "--clip is \"nan\", but must be a number"},
        Wrong{"run --overlap maybe", "--overlap is \"maybe\", but must be on or off."},
        Wrong{"run --memory-limit 8GX",
              "whose unit \"GX\" is none of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB"},
        Wrong{"run --memory-limit 8", "whose unit \"\" is none of"},
        Wrong{"run --timeout 0", "--timeout is \"0\", but must be a number above 0"},
        Wrong{"run --rounds 0", "--rounds is \"0\", but must be a whole number from 1"},
        Wrong{"run --global-batch 7",
              "2 ranks x 1 micro-steps do not divide evenly; give a multiple of 2."},
        Wrong{"run --batch 2 --global-batch 8", "--batch and --global-batch are both given"},
        Wrong{"run --data nothing.txt", "--data: there is no file nothing.txt."},
        Wrong{"run --data empty", "--data: empty is empty"},
        Wrong{"run --data .", "is a folder, but must be a file."},
        Wrong{"run --data short",
              "--data short has 2 bytes, but a sequence of 256 needs at least 257"},
        Wrong{"run --data empty --data short", "--data: empty is empty"},
        Wrong{"run --suite bad.suite",
              "bad.suite, line 2: --rank is no flag that can stand here; did you mean --ranks?"},
        Wrong{"run --suite smoek",
              "--suite \"smoek\" is neither a file nor a suite of this build (default, smoke); did "
              "you mean smoke?"},
        Wrong{"run --suite missing.suite", "--suite: there is no file missing.suite."},
        Wrong{"run --out short/run",
              "--out short/run is no folder that can be created and written"},
        Wrong{"run --out /proc/run",
              "--out /proc/run is no folder that can be created and written"},
        Wrong{"run --resume nowhere", "there is no run in nowhere"},
        Wrong{"run --resume a --out b", "--out and --resume are both given"},
        Wrong{"run --explain gpt-nano/ddp/n2/overlap-on", "there is no run in results/latest yet"},
        Wrong{"run --suite smoke --explain ddp", "--explain \"ddp\" is no cell of this run"},
        Wrong{"run --inject sabotage", "--inject 'sabotage': it may be"},
        Wrong{"run extra", "\"extra\" stands behind no flag."},
        Wrong{"rnu", "there is no command rnu; did you mean run?"},
        Wrong{"cell nothing.json", "there is no file nothing.json."},
        Wrong{"cell short", "short is not JSON."}));

TEST(command, help_and_version_are_no_errors) {
  const Folder f;
  for (const char* arguments : {"", "--help", "run --help", "cell --help"}) {
    const Ran ran = testing::shardmark(f, arguments);
    EXPECT_EQ(ran.code, 0) << arguments;
    EXPECT_NE(ran.out.find("shardmark run"), std::string::npos) << arguments;
    EXPECT_EQ(ran.out.find("--inject"), std::string::npos) << arguments;
  }
  const Ran version = testing::shardmark(f, "--version");
  EXPECT_EQ(version.code, 0);
  EXPECT_EQ(version.out.rfind("shardmark 0.", 0), 0u);
}

TEST(command, a_run_writes_records_as_the_schema_says_and_points_to_them) {
  const Folder f;
  const Ran ran = testing::shardmark(
      f,
      "run " + small + " --strategy all --overlap off,on --clip 0,1 --rounds 2 --accumulate 1,2");
  ASSERT_EQ(ran.code, 0) << ran.out << ran.err;
  const auto records = testing::lines_of(f / "results/latest/records.jsonl");
  EXPECT_EQ(records.size(), 6u * 2 * 2 * 2 * 2);
  std::set<std::pair<std::string, int>> seen;
  for (const json& r : records) {
    EXPECT_EQ(testing::schema_errors(r), "") << r["cell"]["id"];
    EXPECT_EQ(r["status"], "ok");
    for (const auto& [check, value] : r["checks"].items())
      if (value.is_boolean()) {
        EXPECT_EQ(value, true) << r["cell"]["id"] << check << r["checks"].dump();
      }
    EXPECT_TRUE(seen.emplace(r["cell"]["id"], r["round"]).second);
    const json& m = r["time"]["median"];
    std::int64_t sum = 0;
    for (const char* part : {"forward_ns", "recompute_ns", "backward_ns", "clip_ns", "update_ns",
                             "exposed_ns", "other_ns"})
      sum += m[part].get<std::int64_t>();
    EXPECT_EQ(sum, m["step_ns"]);
  }
  EXPECT_NE(ran.out.find("Losses and final parameters are equal, bit for bit"), std::string::npos);
  EXPECT_TRUE(std::filesystem::read_symlink(f / "results/latest").is_relative());
  EXPECT_EQ(std::filesystem::read_symlink(f / "results/latest").parent_path(), "runs");
}

TEST(command, one_cell_is_explained_and_so_is_a_cell_of_an_earlier_run) {
  const Folder f;
  const Ran one = testing::shardmark(f, "run " + small + " --rounds 1 --strategy zero1 --out one");
  ASSERT_EQ(one.code, 0) << one.err;
  EXPECT_FALSE(std::filesystem::exists(f / "results"));
  const std::string id = testing::lines_of(f / "one/records.jsonl").at(0)["cell"]["id"];
  const Ran again = testing::shardmark(f, "run --out one --explain " + id);
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_NE(again.out, "");
  EXPECT_NE(one.out.find(again.out), std::string::npos);
  const Ran wrong = testing::shardmark(f, "run --out one --explain " + id + "x");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("did you mean " + id), std::string::npos) << wrong.err;
}

TEST(command, a_folder_with_records_is_not_written_over) {
  const Folder f;
  ASSERT_EQ(testing::shardmark(f, "run " + small + " --rounds 1 --strategy ddp --out one").code, 0);
  const std::string before = testing::read(f / "one/records.jsonl");
  const Ran ran = testing::shardmark(f, "run " + small + " --rounds 1 --strategy ddp --out one");
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("go on with it by --resume one"), std::string::npos) << ran.err;
  EXPECT_EQ(testing::read(f / "one/records.jsonl"), before);
}

TEST(command, trains_on_files_and_names_them) {
  const Folder f;
  testing::write(f / "a.txt", std::string(300, 'a'));
  testing::write(f / "b.txt", std::string(300, 'b'));
  const Ran ran = testing::shardmark(
      f, "run " + small + " --rounds 1 --strategy ddp --out one --data a.txt b.txt");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json corpus = testing::lines_of(f / "one/records.jsonl").at(0)["corpus"];
  EXPECT_EQ(corpus["name"], "a.txt+b.txt");
  EXPECT_EQ(corpus["size_bytes"], 600);
}

TEST(command, a_cell_file_can_be_run_by_itself) {
  const Folder f;
  ASSERT_EQ(testing::shardmark(f, "run " + small + " --rounds 1 --strategy ddp --out one").code, 0);
  testing::write(f / "cell.json", testing::lines_of(f / "one/records.jsonl").at(0)["cell"].dump());
  const Ran ran = testing::shardmark(f, "cell cell.json");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(json::parse(ran.out)["sections"].contains("bytes"));
}

}  // namespace
}  // namespace shardmark
