// Does the table say what the bytes went through: memory, an emulated link, or a network whose
// counters are witnesses? And is a pretended wire marked wherever its times stand?
#include <gtest/gtest.h>

#include "bench/example_records.hpp"
#include "bench/explain.hpp"
#include "bench/table.hpp"
#include "bench/test_support.hpp"
#include "bench/units.hpp"

namespace shardmark {
namespace {

using example::has;
using example::linked_record;
using example::mpi_record;
using example::record_of;
using example::row;
using example::Words;
using nlohmann::json;

std::vector<json> on_each_wire() {
  std::vector<json> records;
  for (int round = 1; round <= 3; ++round)
    for (const char* strategy : {"ddp", "zero1", "zero3"})
      for (const bool overlap : {false, true}) {
        const double step = (overlap ? 72 : 75) + 0.1 * round;
        records.push_back(mpi_record(strategy, overlap, round, step));
        records.push_back(linked_record(strategy, overlap, round, step));
        records.push_back(record_of(strategy, overlap, round, step));
      }
  return records;
}

TEST(WireTable, golden) { example::expect_golden("wires.txt", table(on_each_wire(), 100)); }

TEST(WireTable, examples_are_as_the_schema_says) {
  EXPECT_EQ(testing::schema_errors(mpi_record("zero1", true, 1, 75)), "");
  EXPECT_EQ(testing::schema_errors(mpi_record("zero1", false, 1, 75)), "");
  EXPECT_EQ(testing::schema_errors(linked_record("ddp", true, 1, 75)), "");
  EXPECT_EQ(testing::schema_errors(record_of("ddp", true, 1, 75, 1)), "");
  json started = mpi_record("ddp", true, 1, 75);
  example::set_failed(started, "started", "it had not ended when this line was written");
  EXPECT_EQ(testing::schema_errors(started), "");
}

TEST(WireTable, stays_within_its_columns) {
  for (const int columns : {80, 100})
    for (const std::string& line : example::lines_of(table(on_each_wire(), columns)))
      EXPECT_LE(display_width(line), static_cast<std::size_t>(columns)) << line;
}

TEST(WireTable, an_emulated_link_is_marked_everywhere) {
  const json r = linked_record("ddp", true, 1, 75);
  for (const std::string& text : {table({r}), explain(r)})
    EXPECT_TRUE(has(text, "emulated link")) << text;
  EXPECT_TRUE(has(table({r}, 200), "emulated link 1gbit + 50us: a token bucket"));
  // In a table of both, each group says what it had.
  const std::string both = table({r, record_of("ddp", true, 1, 75)}, 200);
  EXPECT_TRUE(has(both, "parameters  ·  through memory  ·  no emulated link")) << both;
  EXPECT_TRUE(has(both, "parameters  ·  a ring of messages  ·  emulated link 1gbit + 50us"))
      << both;
  EXPECT_TRUE(has(both, "thread ranks without a link have memory for a wire")) << both;
  EXPECT_FALSE(has(table({r}, 200), "have memory for a wire"));
  EXPECT_FALSE(has(table({mpi_record("ddp", true, 1, 75)}, 200), "LINK"));
}

TEST(WireTable, a_network_is_named_and_its_launcher_only_where_it_differs) {
  json a = mpi_record("ddp", true, 1, 75), b = a;
  EXPECT_TRUE(has(table({a}, 200), "mpi ranks, a ring of messages, network: four hosts"));
  EXPECT_FALSE(has(table({a}, 200), "mpirun"));
  b["cell"]["launcher"] = "srun -n {ranks}";
  b["cell"]["id"] = a["cell"]["id"].get<std::string>() + "/launcher-srun";
  EXPECT_TRUE(has(table({a, b}, 200), "started by srun -n {ranks}"));
  EXPECT_TRUE(has(explain(a), "mpi ranks, which send messages around a ring")) << explain(a);
  EXPECT_TRUE(has(explain(a), "on node0, node1,")) << explain(a);
}

// ddp on four ranks sends 2 x 3/4 of 4P; the example's interface saw a two-hundredth more.
TEST(WireTable, moved_is_what_the_best_witness_saw) {
  const std::string text = table({mpi_record("ddp", false, 1, 75)}, 200);
  const Words words = row(text, "TRAFFIC, MB", "ddp");
  EXPECT_EQ(words.at(3), "4.166") << text;
  EXPECT_EQ(words.at(7), "4.186") << text;
  EXPECT_EQ(words.at(8), "1.0050") << text;
  EXPECT_TRUE(has(text, "of what moved: the counters of interface eth0 (MTU 1500) in 3 steps"));
  EXPECT_TRUE(has(text, "less 66 bytes of headers a packet")) << text;
  EXPECT_EQ(row(table({record_of("ddp", false, 1, 75)}), "TRAFFIC, MB", "ddp").at(8), "1.0000");
}

TEST(WireTable, transfer_is_communication_without_waiting) {
  std::vector<json> records = {record_of("ddp", false, 1, 75), record_of("zero3", false, 1, 75)};
  example::set_step(records[1], 75, 10, 0);  // of which a quarter is waiting
  const std::string text = table(records);
  EXPECT_EQ(row(text, "COMMUNICATION", "ddp"), (Words{"ddp", "4.5", "1.5", "6.0", "0.0", "1.00"}));
  EXPECT_EQ(row(text, "COMMUNICATION", "zero3"),
            (Words{"zero3", "7.5", "2.5", "10.0", "0.0", "1.67"}));
  EXPECT_FALSE(has(table({record_of("ddp", false, 1, 75, 1)}), "COMMUNICATION"));
}

TEST(WireTable, without_a_common_clock_there_is_no_transfer) {
  const std::string text = table({mpi_record("ddp", false, 1, 75)});
  EXPECT_EQ(row(text, "COMMUNICATION", "ddp¹"), (Words{"ddp¹", "–", "–", "6.0", "0.0", "–"}))
      << text;
  EXPECT_TRUE(has(text, "¹ no skew_ns: ranks on several hosts have no clock in common")) << text;
}

TEST(WireTable, hidden_stands_beside_its_ideal) {
  std::vector<json> records;
  for (const bool overlap : {false, true}) records.push_back(record_of("ddp", overlap, 1, 75));
  EXPECT_EQ(row(table(records), "OVERLAP", "ddp*").at(8), "5.0");  // 4 ms are hidden of 5
  EXPECT_EQ(row(table(records), "OVERLAP", "ddp*").at(9), "60.0");
  json& median = records[1]["time"]["median"];
  median["ideal_hidden_ns"] = 0;
  EXPECT_EQ(row(table(records), "OVERLAP", "ddp*").at(9), "–");
  median["ideal_hidden_ns"] = nullptr;
  median["ideal_hidden_ns_reason"] = "nobody replayed it";
  EXPECT_TRUE(has(table(records), "¹ no ideal_hidden_ns: nobody replayed it")) << table(records);
}

TEST(WireTable, a_cell_that_was_started_and_never_ended_has_failed) {
  json r = mpi_record("ddp", false, 1, 75);
  example::set_failed(r, "started", "it had not ended when this line was written");
  const std::string text = table({r, mpi_record("zero1", false, 1, 75)});
  EXPECT_EQ(row(text, "TIME", "ddp¹").at(1), "failed") << text;
  EXPECT_TRUE(has(text, "it had not ended when this line was written")) << text;
}

TEST(WireTable, an_explained_cell_shows_both_witnesses) {
  const std::string text = explain(mpi_record("ddp", false, 1, 75));
  EXPECT_TRUE(has(text, "rank, over 3 counted steps")) << text;
  EXPECT_TRUE(has(text, "1.0050")) << text;
  EXPECT_TRUE(has(text, "rank, over all 6 steps")) << text;
  EXPECT_TRUE(has(text, "what interface eth0 of the rank's host sent, MTU 1,500")) << text;
  for (const std::string& line : example::lines_of(text)) EXPECT_LE(display_width(line), 100u);
}

}  // namespace
}  // namespace shardmark
