// Do the exercises' answers say what is so? On models so small that their figures can be worked out
// by hand, trained in this process; no time is looked at.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "bench/exercises/exercise.hpp"
#include "bench/exercises/slice_norms.hpp"
#include "bench/exercises/small_trial.hpp"
#include "bench/text.hpp"
#include "bench/units.hpp"

namespace shardmark {
namespace {

using testing::has;
using testing::small_trial;

std::string answer(int number, const Smaller& smaller) {
  const Exercise& e = exercises()[static_cast<std::size_t>(number - 1)];
  return page_of(e, small_trial(e.suite(), smaller)).text(100);
}

// mlp: an embedding of 256 bytes, layers of width^2 + width, a head; so many that zeroing and
// freeing differ by more than a bucket.
TEST(exercise, zeroing_saves_nothing_and_freeing_saves_what_the_formula_says) {
  const Smaller small = {{{"--model", {"mlp:layers=3,width=64"}}, {"--sequence", {"16"}}}, {}};
  const double p = parameters_of(small_trial("exercise1", small).row({{"strategy", "ddp"}}));
  const std::string text = answer(1, small);
  EXPECT_TRUE(has(text, "zeroing saves 0 B of model states and 0 B of the peak"));
  EXPECT_TRUE(has(text, fmt::format("Freeing saves {} of model states, 4P(1 - 1/N) = {}",
                                    with_unit(3 * p, "B"), with_unit(3 * p, "B"))))
      << text;
}

// A gpt of width w, 1 layer, sequence s: tables 256w and sw, 12w^2 + 13w a layer, 2w behind it.
TEST(exercise, bytes_are_those_of_the_formula_and_padding_is_told_apart) {
  const std::string text =
      answer(2, {{{"--model", {"gpt:layers=1,width=10,heads=2"}}, {"--sequence", {"16"}}}, {}});
  constexpr double p = 2560 + 160 + 1200 + 130 + 20;
  EXPECT_TRUE(has(text, fmt::format("P = {} parameters", grouped(p)))) << text;
  const auto row = [&](const char* strategy, int n, const char* formula, double bytes) {
    return has(text, fmt::format("{} {} {} {}", strategy, n, formula, grouped(bytes)));
  };
  EXPECT_TRUE(row("ddp", 2, "16P", 16 * p)) << text;
  EXPECT_TRUE(row("zero1", 2, "8P + 8P/N", 12 * p));
  EXPECT_TRUE(row("zero2", 4, "4P + 12P/N", 7 * p));
  EXPECT_TRUE(row("zero3", 4, "16P/N", 4 * p));
  EXPECT_TRUE(row("zero3, bf16 weights", 2, "12P/N", 6 * p));
  EXPECT_TRUE(has(text, "no difference in 16 cells"));
}

TEST(exercise, step_times_are_shown_in_parts_for_both_overlaps) {
  const std::string text = answer(
      3, {{{"--model", {"mlp:layers=2,width=16"}}, {"--sequence", {"8"}}, {"--steps", {"2"}}}, 2});
  for (const char* words :
       {"forward", "backward", "comm.", "Overlap off:", "Overlap on:", "both send the same a step"})
    EXPECT_TRUE(has(text, words)) << words;
}

// Where every rank clips by its own norm to c, the N parts have norm c each, so all of it c sqrt N.
TEST(exercise, clipping_by_the_own_norm_applies_a_gradient_that_is_too_large) {
  const std::string text = answer(4, {{{"--model", {"mlp:layers=2,width=16"}},
                                       {"--sequence", {"8"}},
                                       {"--clip", {"0.001"}},
                                       {"--bucket-mb", {"0.001"}}},
                                      {}});
  EXPECT_TRUE(has(text, "is the unsharded one")) << text;
  EXPECT_TRUE(has(text, "has norm 0.00200000 where at most 0.001 was asked for")) << text;
}

TEST(exercise, own_norms_are_those_of_parts_of_the_whole_gradient) {
  Cell cell;
  cell.model = "mlp:layers=2,width=16";
  cell.sequence = 8, cell.batch = 1, cell.bucket_bytes = 1000;
  for (const int ranks : {1, 2, 4}) {
    cell.ranks = ranks;
    const SliceNorms norms = slice_norms(cell);
    Training t = training_of(cell, load_text({}).bytes);  // ddp
    t.warmup = 0, t.steps = 1;
    const double whole = train(t).ranks[0].norm_before[0];
    double squares = 0;
    for (const double norm : norms.local) {
      squares += norm * norm;
      EXPECT_GT(norm, 0);
      EXPECT_TRUE(ranks == 1 || norm < whole * 0.999);
    }
    EXPECT_EQ(norms.local.size(), static_cast<std::size_t>(ranks));
    EXPECT_NEAR(std::sqrt(squares) / whole, 1, 1e-12);
    EXPECT_NEAR(norms.over_ranks / whole, 1, 1e-12);
  }
}

TEST(exercise, an_all_reduce_sends_twice_what_a_reduce_scatter_sends) {
  const std::string text = answer(5, {{{"--model", {"mlp:layers=2,width=32"}},
                                       {"--sequence", {"8"}},
                                       {"--steps", {"1"}},
                                       {"--link", {"10gbit"}}},
                                      1});
  EXPECT_TRUE(has(text, "gradients send 2.00 times as much and the step moves 1.50 times")) << text;
}

// "shardmark run --suite NAME --flag value ..": cells that can be trained, and more or others of
// them than the exercise has.
TEST(exercise, what_is_typed_to_go_further_can_be_run) {
  for (const Exercise& e : exercises()) {
    const std::vector<std::string> typed = words(e.further);
    ASSERT_GE(typed.size(), 6u) << e.further;
    EXPECT_EQ(std::vector(typed.begin(), typed.begin() + 4),
              (std::vector<std::string>{"shardmark", "run", "--suite", e.suite()}));
    Given flags;
    for (std::size_t i = 4; i + 1 < typed.size(); i += 2) flags[typed[i]] = {typed[i + 1]};
    const Suite as_it_is = load_suite(e.suite(), {}), further = load_suite(e.suite(), flags);
    EXPECT_FALSE(further.cells.empty()) << e.further;
    EXPECT_NE(further.cells, as_it_is.cells) << e.further;
  }
}

TEST(exercise, what_failed_is_no_answer) {
  const Smaller broken = {{{"--model", {"mlp:layers=2,width=16"}},
                           {"--sequence", {"8"}},
                           {"--inject", {"throw:rank=1,step=1"}}},
                          1};
  try {
    small_trial("exercise4", broken);
    FAIL();
  } catch (const Error& e) {
    EXPECT_TRUE(has(e.what(), "failed: rank 1 failed at step 1")) << e.what();
    EXPECT_TRUE(has(e.what(), "the records are in ")) << e.what();
  }
}

TEST(exercise, a_cell_is_found_by_its_settings_alone) {
  const Trial trial = small_trial(
      "exercise4", {{{"--model", {"mlp:layers=2,width=16"}}, {"--sequence", {"8"}}}, {}});
  EXPECT_EQ(trial.row({{"strategy", "zero1"}}).strategy, "zero1");
  EXPECT_THROW(trial.row({{"strategy", "zero3"}}), Error);
  EXPECT_THROW(trial.row({{"ranks", 4}}), Error);  // two
}

TEST(page, is_written_for_the_terminal_and_as_markdown_from_one_description) {
  Page page;
  page.title("All", 1);
  page.paragraph("Verdict", "it is so, " + std::string(95, 'x') + " and on");
  page.table({{"BYTES", "peak"}, 1, {{"ddp*", "7"}, {"a|b", "12"}}});
  page.statements({{"A1", "off by 2", "two are one", "1 + 1 = 2"}});
  page.command("shardmark list");
  EXPECT_EQ(page.text(100),
            "All\n\nVerdict   it is so,\n          " + std::string(95, 'x') +
                "\n          and on\n\n"
                "BYTES  peak\nddp*      7\na|b      12\n\n"
                "A1        two are one\n          off by 2.\n          1 + 1 = 2\n\n"
                "    shardmark list\n");
  EXPECT_EQ(page.markdown(), "# All\n\n**Verdict:** it is so, " + std::string(95, 'x') +
                                 " and on\n\n"
                                 "| BYTES | peak |\n|---|--:|\n| ddp\\* | 7 |\n| a\\|b | 12 |\n\n"
                                 "| id | statement | verdict | shown by |\n|---|---|---|---|\n"
                                 "| A1 | two are one | **off by 2** | 1 + 1 = 2 |\n\n"
                                 "    shardmark list\n");
}

TEST(page, is_written_to_a_file_whole_or_not_at_all) {
  const testing::Folder f;
  const std::string file = f / "answers.md";
  write_whole("--out", file, "first\n");
  write_whole("--out", file, "second\n");
  EXPECT_EQ(testing::read(file), "second\n");
  std::filesystem::create_symlink("answers.md", f / "link.md");
  write_whole("--out", f / "link.md", "third\n");
  EXPECT_TRUE(std::filesystem::is_symlink(f / "link.md"));
  EXPECT_EQ(testing::read(file), "third\n");
  for (const std::string& bad :
       {f.path().string(), (f / "none/answers.md").string(), std::string("/dev/full")})
    EXPECT_TRUE(has(testing::refused([&] { write_whole("--out", bad, "text"); }),
                    "--out " + bad + " cannot be written: "));
  EXPECT_FALSE(std::filesystem::is_regular_file("/dev/full"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(f.path()), {}), 2);
}

}  // namespace
}  // namespace shardmark
