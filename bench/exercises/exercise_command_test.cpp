// Does `shardmark exercise`, run for real, answer, and refuse wrong input with a sentence and
// nothing left behind?
#include <gtest/gtest.h>

#include "bench/exercises/small_trial.hpp"

namespace shardmark {
namespace {

using testing::Folder;
using testing::has;
using testing::Ran;
using testing::shardmark;

TEST(exercise_command, refuses_wrong_input_with_a_sentence_and_leaves_nothing_behind) {
  const Folder f;
  for (const auto& [typed, sentence] :
       {std::pair("6", "there is no exercise \"6\"; there are 1, 2, 3, 4, 5, all, claims."),
        std::pair("claim",
                  "there is no exercise \"claim\"; there are 1, 2, 3, 4, 5, all, claims; did "
                  "you mean claims?"),
        std::pair("1 2", "\"2\" stands behind no flag."),
        std::pair("1 --rounds 2", "shardmark exercise has no flag --rounds."),
        std::pair("-o a.md", "--out is given without an exercise"),
        std::pair("1 -o ''", "must be FILE"), std::pair("1 -o a -o b", "--out is given twice"),
        std::pair("1 -o none/a.md", "--out none/a.md cannot be written: No such file"),
        std::pair("all -o .", "--out . cannot be written: it is a folder.")}) {
    const Ran ran = shardmark(f, std::string("exercise ") + typed);
    EXPECT_EQ(ran.code, 2) << typed;
    EXPECT_EQ(ran.out, "") << typed;
    EXPECT_TRUE(has(ran.err, sentence)) << ran.err;
    EXPECT_TRUE(std::filesystem::is_empty(f.path())) << typed;
  }
}

TEST(exercise_command, lists_the_exercises_where_none_is_named) {
  const Folder f;
  const Ran ran = shardmark(f, "exercise");
  EXPECT_EQ(ran.code, 0);
  for (const char* line : {"exercise 1 ", "exercise 5 ", "exercise all ", "exercise claims "})
    EXPECT_TRUE(has(ran.out, line)) << line;
  EXPECT_TRUE(std::filesystem::is_empty(f.path()));
}

TEST(exercise_command, answers_on_the_terminal_and_into_a_file) {
  const Folder f;
  const Ran shown = shardmark(f, "exercise 4"), written = shardmark(f, "exercise 4 -o answer.md");
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_EQ(written.code, 0) << written.err;
  EXPECT_EQ(written.out, "");
  EXPECT_TRUE(has(shown.out, "Exercise 4: Clipping under ZeRO-1"));
  EXPECT_TRUE(testing::read(f / "answer.md").starts_with("## Exercise 4: Clipping under ZeRO-1\n"));
  std::size_t runs = 0;
  for (const auto& run : std::filesystem::directory_iterator(f / "results/runs")) {
    ++runs;
    EXPECT_TRUE(has(run.path(), "-exercise4-")) << run.path();
    for (const auto& record : testing::lines_of(run.path() / "records.jsonl"))
      EXPECT_EQ(testing::schema_errors(record), "");
  }
  EXPECT_EQ(runs, 2u);
  std::istringstream lines(shown.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

}  // namespace
}  // namespace shardmark
