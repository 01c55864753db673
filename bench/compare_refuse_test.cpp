// What does a comparison refuse, and what does it leave out and say so? Other machines, libraries,
// schemas, kinds, and files that are none.
#include <gtest/gtest.h>

#include "bench/compare.hpp"
#include "bench/example_records.hpp"
#include "bench/test_support.hpp"

namespace shardmark {
namespace {

using example::has;
using nlohmann::json;
using testing::Folder;
using testing::refused;

std::vector<json> three() {
  std::vector<json> run;
  for (int round = 1; round <= 3; ++round)
    run.push_back(example::record_of("zero1", true, round, 100));
  return run;
}

Side side_of(const std::string& text, const std::string& file = "records.jsonl") {
  const Folder folder;
  testing::write(folder / file, text);
  return read_side("HEAD", folder / file);
}

std::string lines(const std::vector<json>& run) {
  std::string text;
  for (const json& r : run) text += r.dump() + "\n";
  return text;
}

Comparison compared(const std::vector<json>& base, const std::vector<json>& head,
                    const CompareOptions& options = {}) {
  return compare(side_of(lines(base)), side_of(lines(head)), options);
}

class Circumstance : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

// Another loss, but under other circumstances: no regression, and one sentence that says so.
TEST_P(Circumstance, leaves_out_losses_and_nothing_else) {
  const auto base = three();
  auto head = base;
  for (json& r : head) {
    r[json::json_pointer(GetParam().first)] = "another";
    r["training"]["loss"][0] = 1;
    r["training"]["norm_before"][0] = 2;
    r["training"]["parameter_hash"] = "1";
  }
  const ComparedCell c = compared(base, head).cells.at(0);
  EXPECT_TRUE(c.differences.empty());
  EXPECT_TRUE(c.exactly);
  EXPECT_EQ(c.verdict, Verdict::same);
  ASSERT_EQ(c.notes.size(), 1u);
  EXPECT_TRUE(has(c.notes[0],
                  "not compared: losses, norms and final parameters, computed under "
                  "other circumstances (" +
                      std::string(GetParam().second) + ": "))
      << c.notes[0];
  for (json& r : head) r["bytes"]["held"][0]["measured_bytes"] = 1;
  EXPECT_EQ(compared(base, head).cells.at(0).differences.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(
    all, Circumstance,
    ::testing::Values(std::pair("/machine/instruction_set", "the instruction set"),
                      std::pair("/machine/cpu_flags", "what the processor can do"),
                      std::pair("/machine/libraries/matrix", "the library of matrix products"),
                      std::pair("/machine/build/compiler", "the compiler"),
                      std::pair("/machine/build/flags", "the compiler's flags"),
                      std::pair("/rates/products", "what multiplies matrices"),
                      std::pair("/corpus/fnv1a64", "the text that was trained on")));

TEST(compare, losses_that_base_itself_does_not_repeat_are_not_compared) {
  auto base = three(), head = three();
  base[1]["training"]["loss"][4] = 1;
  head[0]["training"]["loss"][4] = 2;
  const ComparedCell c = compared(base, head).cells.at(0);
  EXPECT_TRUE(c.differences.empty());
  ASSERT_EQ(c.notes.size(), 1u);
  EXPECT_TRUE(has(c.notes[0], "rounds of base itself differ"));
}

TEST(compare, losses_of_an_mpi_library_are_not_compared) {
  auto base = three(), head = three();
  for (auto* run : {&base, &head})
    for (json& r : *run) r["cell"]["collectives"] = "library";
  head[0]["training"]["loss"][4] = 2;
  const ComparedCell c = compared(base, head).cells.at(0);
  EXPECT_TRUE(c.differences.empty());
  ASSERT_EQ(c.notes.size(), 1u);
  EXPECT_TRUE(has(c.notes[0], "the MPI library adds in an order of its own"));
}

TEST(compare, another_cell_of_the_same_name_is_not_the_cell) {
  const auto base = three();
  auto head = base;
  for (json& r : head) r["cell"]["batch"] = 8;
  const ComparedCell c = compared(base, head).cells.at(0);
  EXPECT_EQ(c.verdict, Verdict::missing);
  ASSERT_EQ(c.notes.size(), 1u);
  EXPECT_TRUE(has(c.notes[0], "batch is 4 in base and 8 in head")) << c.notes[0];
  EXPECT_FALSE(c.exactly);
}

// When a cell is given up says nothing of what it is.
TEST(compare, a_timeout_makes_no_other_cell) {
  auto head = three();
  for (json& r : head) r["cell"]["timeout_s"] = 7;
  EXPECT_FALSE(compared(three(), head).red());
}

TEST(compare, another_machine_is_refused_in_a_sentence) {
  for (const auto& [key, value] :
       {std::pair("cpu", json("Other CPU")), std::pair("cores_usable", json(64)),
        std::pair("architecture", json("aarch64"))}) {
    auto head = three();
    for (json& r : head) r["machine"][key] = value;
    const std::string sentence = refused([&] { compared(three(), head); });
    EXPECT_TRUE(has(sentence, std::string("come from two machines (") + key + ": ")) << sentence;
    EXPECT_TRUE(has(sentence, "--across-machines")) << sentence;
  }
  auto mixed = three();
  mixed[2]["machine"]["cpu"] = "Other CPU";
  EXPECT_TRUE(has(refused([&] { side_of(lines(mixed)); }), "holds records of several machines"));
}

TEST(compare, across_machines_only_formulas_count) {
  auto head = three();
  for (json& r : head) {
    r["machine"]["cpu"] = "Other CPU";
    example::set_step(r, 900, 6, 4);
    r["training"]["loss"][0] = 1;
    r["bytes"]["peak_bytes"] = 1;
    r["bytes"]["held"][8]["measured_bytes"] = 1;  // workspace
  }
  const CompareOptions across{.across_machines = true};
  const Comparison c = compared(three(), head, across);
  EXPECT_EQ(c.cells.at(0).verdict, Verdict::untimed);
  EXPECT_TRUE(c.cells[0].exactly);
  EXPECT_TRUE(c.cells[0].differences.empty());
  EXPECT_FALSE(c.red());
  for (json& r : head) r["traffic"]["called"][1]["volume_bytes"] = 1;
  EXPECT_TRUE(compared(three(), head, across).red());
}

TEST(compare, wrong_files_are_refused_in_a_sentence) {
  const Folder folder;
  EXPECT_TRUE(has(refused([&] { read_side("BASE", folder / "none"); }), "BASE: there is no file"));
  EXPECT_TRUE(has(refused([&] { read_side("BASE", folder.path()); }), "holds no records.jsonl"));
  for (const char* garbage :
       {"", "hello\n", "{\n", "[1, 2]", "{}", "null", "{\"benchmarks\": 3", "\x7f\x45\x4c\x46"}) {
    const std::string sentence = refused([&] { side_of(garbage); });
    EXPECT_TRUE(has(sentence, "holds no records and is no Google Benchmark JSON; it must be"))
        << garbage << ": " << sentence;
  }
  EXPECT_TRUE(
      has(refused([&] { side_of("{\"a\": 1}\n"); }), "it lacks the key \"schema_version\""));
  auto run = three();
  run[1]["schema_version"] = 2;
  EXPECT_TRUE(has(refused([&] { side_of(lines(run)); }), "its schema_version is 2"));
  run = three();
  run[0]["kind"] = "collectives";
  EXPECT_TRUE(has(refused([&] { side_of(lines(run)); }), "its kind is \"collectives\""));
  run = three();
  run[0]["bytes"]["held"] = 3;
  EXPECT_TRUE(has(refused([&] { side_of(lines(run)); }), "not as results/schema.json says"));
  run = three();
  run[0]["time"]["median"]["step_ns"] = 0;
  EXPECT_TRUE(has(refused([&] { side_of(lines(run)); }), "a step of no time"));
}

TEST(compare, a_torn_last_line_is_a_warning) {
  const std::string text = lines(three());
  const Side side = side_of(text + text.substr(0, 50));
  EXPECT_EQ(side.cells.begin()->second.step_ns.size(), 3u);
  ASSERT_EQ(side.warnings.size(), 1u);
  EXPECT_TRUE(has(side.warnings[0], "line 4 is torn"));
}

TEST(compare, a_round_that_ran_again_counts_once) {
  auto run = three();
  run.push_back(example::record_of("zero1", true, 2, 300));
  const Side side = side_of(lines(run));
  EXPECT_EQ(side.cells.begin()->second.step_ns, (std::vector<double>{100e6, 100e6, 300e6}));
}

}  // namespace
}  // namespace shardmark
