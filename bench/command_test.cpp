// Does the command, run for real, refuse wrong input with a sentence and exit code 2, and do its
// records hold what they must?
#include <gtest/gtest.h>

#include <cstdlib>
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
  testing::write(f / "smoke", "not a suite\n");
  testing::write(f / "mine", "--strategy ddp\n");
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
              "--suite \"smoek\" is neither a file nor a suite of this build (claims, default, "
              "exercise1, exercise2, exercise3, exercise4, exercise5, gate-exact, gate, precision, "
              "smoke, wires); did you mean smoke?"},
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
        Wrong{"run --suite mine",
              "--suite \"mine\" is no suite of this build (claims, default, exercise1, "
              "exercise2, exercise3, exercise4, exercise5, gate-exact, gate, precision, smoke, "
              "wires); "
              "write ./mine for"},
        Wrong{"run --model gpt:layers=999999999,width=999999999,heads=1",
              "--model 'gpt:layers=999999999,width=999999999,heads=1': layers is 999999999, but "
              "must be at most 10000"},
        Wrong{"run --model mlp:layers=1000000000,width=2", "but must be at most 10000"},
        Wrong{"run --model mlp:layers=10000,width=1000000",
              "it has 1e+16 parameters, but may have at most 1e+12"},
        Wrong{"run --model lstm:layers=2", "--model 'lstm:layers=2' is unknown: it may be"},
        Wrong{"run --model mlp:layers=1000,width=30000 --bucket-mb 0.000004",
              "buckets, but there may be at most 1000000; give a larger one."},
        Wrong{"run --bucket-mb 0.000001",
              "--bucket-mb is \"0.000001\", but must be 0 (a layer's) or at least 0.000004"},
        Wrong{"run --resume ''", "--resume is \"\", but must be DIR"},
        Wrong{"run --suite ''", "--suite is \"\", but must be FILE|NAME"},
        Wrong{"run --explain ''", "--explain is \"\", but must be CELL"},
        Wrong{"run --out ''", "--out is \"\", but must be DIR"}, Wrong{"run --out=", "--out"},
        Wrong{"run --resume a --ranks 2 --suite smoke",
              "--resume goes on with the cells of its run, and --ranks, --suite would change them; "
              "only --rounds and --explain may stand beside it."},
        Wrong{"run --suite smoke list", "\"list\" is a second command behind shardmark run"},
        Wrong{"run run", "\"run\" is a second command behind shardmark run"},
        Wrong{"list run", "\"run\" is a second command behind shardmark list"},
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

TEST(command, the_beginning_of_an_id_explains_its_cell) {
  const Folder f;
  const Ran one =
      testing::shardmark(f, "run " + small + " --rounds 1 --strategy zero1,zero1_naive --out one");
  ASSERT_EQ(one.code, 0) << one.err;
  const std::string model = "mlp:layers=2,width=64/";
  const Ran begin = testing::shardmark(f, "run --out one --explain " + model + "zero1/n2");
  EXPECT_EQ(begin.code, 0) << begin.err;
  EXPECT_NE(begin.out, "");
  EXPECT_EQ(testing::shardmark(f, "run --out one --explain " + model + "zero1").out, begin.out);
  const Ran several = testing::shardmark(f, "run --out one --explain " + model + "zer");
  EXPECT_EQ(several.code, 2);
  EXPECT_NE(several.err.find("is the beginning of 2 cells of one; give more of one of them:\n  " +
                             model + "zero1"),
            std::string::npos)
      << several.err;
}

TEST(command, a_folder_with_a_plan_is_not_written_over) {
  const Folder f;
  std::filesystem::create_directory(f / "one");
  testing::write(f / "one/run.json", "{}");
  const Ran ran = testing::shardmark(f, "run " + small + " --rounds 1 --strategy ddp --out one");
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("--out one holds a run already; go on with it by --resume one, or name "
                         "another folder."),
            std::string::npos)
      << ran.err;
  EXPECT_EQ(testing::read(f / "one/run.json"), "{}");
}

TEST(command, of_two_runs_that_start_in_one_folder_one_is_refused) {
  const Folder f;
  const std::string run = "run " + small + " --strategy ddp --out one --rounds ";
  const Ran ran = testing::shardmark(
      f, run + "3 & first=$!; " + SHARDMARK_BINARY + " " + run +
             "4; second=$?; wait $first; first=$?; exit $((first * 10 + second))");
  EXPECT_TRUE(ran.code == 2 || ran.code == 20) << ran.code << ran.err;
  EXPECT_EQ(json::parse(testing::read(f / "one/run.json"))["rounds"],
            testing::lines_of(f / "one/records.jsonl").size());
}

TEST(command, a_folder_that_cannot_be_created_is_refused_with_the_systems_reason) {
  const Folder f;
  std::filesystem::create_symlink("results", f / "results");
  const Ran ran = testing::shardmark(f, "run " + small + " --strategy ddp");
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("Too many levels of symbolic links"), std::string::npos) << ran.err;
}

TEST(command, the_help_says_what_resuming_and_failing_do) {
  const Folder f;
  const std::string run = testing::shardmark(f, "run --help").out;
  EXPECT_NE(run.find("one that has failed is skipped in later rounds"), std::string::npos) << run;
  EXPECT_NE(run.find("what failed or was skipped"), std::string::npos) << run;
  EXPECT_NE(testing::shardmark(f, "--help").out.find("130 interrupted"), std::string::npos);
}

// What is built from a source that git does not know yet is not what the commit says.
TEST(command, a_new_source_makes_the_revision_dirty) {
  if (std::system("git --version >/dev/null 2>&1 && cmake --version >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "needs git and cmake";
  const Folder f;
  const auto revision = [&](const std::string& first) {
    const std::string line = "cd '" + f.path().string() + "' && " + first +
                             " && cmake -DSOURCE=. -DOUTPUT=out.hpp -P '" SHARDMARK_TESTDATA
                             "/../revision.cmake'";
    EXPECT_EQ(std::system(line.c_str()), 0);
    return testing::read(f / "out.hpp");
  };
  const std::string commit =
      "git init -q && mkdir bench && echo 1 >bench/a.cpp && git add . && "
      "git -c user.name=a -c user.email=a@example.org commit -q -m a";
  EXPECT_NE(revision(commit).find("built_dirty = false"), std::string::npos);
  EXPECT_NE(revision("echo 1 >notes").find("built_dirty = false"), std::string::npos);
  EXPECT_NE(revision("echo 1 >bench/b.cpp").find("built_dirty = true"), std::string::npos);
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
