// Is a record that was written always read back, and never one that was not written whole?
#include "bench/record.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include "bench/measured.hpp"
#include "bench/test_support.hpp"
#include "kernels/error.hpp"

namespace shardmark {
namespace {

using testing::refused;

using nlohmann::json;
using testing::Folder;

std::vector<json> examples() {
  return testing::lines_of(std::string(SHARDMARK_TESTDATA) + "/records.jsonl");
}

TEST(records, examples_are_as_the_schema_says) {
  for (const json& r : examples()) EXPECT_EQ(testing::schema_errors(r), "");
}

TEST(records, resident_memory_of_other_cells_can_be_forgotten_and_says_why) {
  json r = examples().at(0);
  forget_resident(r, "others were there");
  EXPECT_TRUE(r["resident"]["peak_bytes"].is_null());
  EXPECT_EQ(r["resident"]["unexplained_bytes_reason"], "others were there");
  EXPECT_EQ(testing::schema_errors(r), "");
}

TEST(records, the_schema_refuses_what_is_wrong) {
  const json good = examples().at(0);
  json missing = good, unknown = good, untyped = good, no_reason = good;
  missing.erase("bytes");
  unknown["bytes"]["peak_mb"] = 3;
  untyped["time"]["step_ns"] = {1.5};
  no_reason["rates"]["matrix_share"] = nullptr;
  for (const json* bad : {&missing, &unknown, &untyped, &no_reason})
    EXPECT_NE(testing::schema_errors(*bad), "");
}

TEST(records, come_back_as_they_were_written) {
  const Folder folder;
  const auto written = examples();
  {
    RecordWriter writer(folder.path());
    for (const json& r : written) writer.append(r);
  }
  const Records read = read_records(folder.path());
  EXPECT_EQ(read.records, written);
  EXPECT_TRUE(read.warnings.empty());
}

// Every way in which the last line can be torn: cut after any byte of it.
TEST(records, a_torn_last_line_is_ignored_with_a_warning_and_cut_off_by_the_next_writer) {
  const Folder folder;
  const json first = examples().at(0), second = examples().at(1);
  const std::string whole = first.dump() + '\n', torn = second.dump() + '\n';
  for (const std::size_t cut :
       {std::size_t{1}, torn.size() / 2, torn.size() - 2, torn.size() - 1}) {
    testing::write(folder / "records.jsonl", whole + torn.substr(0, cut));
    const Records read = read_records(folder.path());
    ASSERT_EQ(read.records, std::vector<json>{first}) << cut;
    ASSERT_EQ(read.warnings.size(), 1u) << cut;
    EXPECT_NE(read.warnings[0].find("line 2 is torn"), std::string::npos);
    RecordWriter(folder.path()).append(second);
    EXPECT_EQ(testing::read(folder / "records.jsonl"), whole + torn) << cut;
  }
  // Blocks that were allocated and never written are zeros, with or without a newline behind.
  testing::write(folder / "records.jsonl", whole + std::string(100, '\0') + '\n');
  EXPECT_EQ(read_records(folder.path()).records.size(), 1u);
}

TEST(records, a_bad_line_in_the_middle_is_an_error_that_names_it) {
  const Folder folder;
  const std::string good = examples().at(0).dump() + '\n';
  testing::write(folder / "records.jsonl", good + "{\"torn\n" + good);
  EXPECT_NE(
      refused([&] { read_records(folder.path()); }).find("line 2 is no record: it is not JSON."),
      std::string::npos);
  testing::write(folder / "records.jsonl", good + "[1]\n" + good);
  EXPECT_NE(refused([&] {
              read_records(folder.path());
            }).find("line 2 is no record: it is not a JSON object."),
            std::string::npos);
  json lacking = examples().at(0);
  lacking.erase("cell");
  testing::write(folder / "records.jsonl", good + lacking.dump() + '\n');
  EXPECT_NE(refused([&] {
              read_records(folder.path());
            }).find("line 2 is no record: it lacks the key \"cell\"."),
            std::string::npos);
}

TEST(records, of_another_schema_are_refused) {
  const Folder folder;
  json other = examples().at(0);
  other["schema_version"] = 2;
  testing::write(folder / "records.jsonl", other.dump() + '\n');
  const std::string sentence =
      "line 1 is no record: its schema_version is 2, and this build reads 1; use the build that "
      "wrote it.";
  EXPECT_NE(refused([&] { read_records(folder.path()); }).find(sentence), std::string::npos);
  EXPECT_NE(refused([&] { RecordWriter writer(folder.path()); }).find(sentence), std::string::npos);
}

TEST(records, two_runs_do_not_write_to_one_file) {
  const Folder folder;
  const RecordWriter first(folder.path());
  EXPECT_NE(
      refused([&] { RecordWriter second(folder.path()); }).find("another run is writing to it"),
      std::string::npos);
}

// Half a line of the other run looks torn: it must be neither judged nor cut off.
TEST(records, a_second_run_looks_at_nothing_before_it_has_the_lock) {
  const Folder folder;
  RecordWriter first(folder.path());
  const std::string half = "{}\n" + examples().at(0).dump().substr(0, 100);
  testing::write(folder / "records.jsonl", half);
  EXPECT_NE(
      refused([&] { RecordWriter second(folder.path()); }).find("another run is writing to it"),
      std::string::npos);
  EXPECT_EQ(testing::read(folder / "records.jsonl"), half);
}

// A limit on the size of files stops a write in its middle, just as a full disk does.
TEST(records, a_full_disk_tears_nothing) {
  const Folder folder;
  const json record = examples().at(0);
  const std::size_t line = record.dump().size() + 1;
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  RecordWriter writer(folder.path());
  writer.append(record);
  const rlimit small{line + line / 2, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  std::string sentence;
  try {
    writer.append(record);
  } catch (const Error& e) {
    sentence = e.what();
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_NE(sentence.find("File too large; the records before it are whole"), std::string::npos)
      << sentence;
  EXPECT_EQ(testing::read(folder / "records.jsonl"), record.dump() + '\n');
  writer.append(record);  // space again
  EXPECT_EQ(read_records(folder.path()).records.size(), 2u);
}

TEST(records, the_last_of_a_cell_and_round_counts) {
  json failed = examples().at(0), ok = failed, other_round = failed;
  failed["status"] = "failed";
  other_round["round"] = 2;
  EXPECT_EQ(latest({failed, other_round, ok}), (std::vector<json>{other_round, ok}));
}

TEST(records, the_representative_is_the_median_round) {
  std::vector<json> records;
  for (const std::int64_t ns : {50, 10, 40, 20, 30, 5}) {
    json r = examples().at(0);
    r["round"] = records.size() + 1;
    r["time"]["median"]["step_ns"] = ns;
    records.push_back(r);
  }
  const std::string id = records[0]["cell"]["id"];
  records.back()["status"] = "failed";
  ASSERT_NE(representative(records, id), nullptr);
  EXPECT_EQ(representative(records, id)->at("time").at("median").at("step_ns"), 30);
  EXPECT_EQ(representative(records, "no such cell"), nullptr);
  for (json& r : records) r["status"] = "failed";
  EXPECT_EQ(representative(records, id)->at("round"), 6);
}

}  // namespace
}  // namespace shardmark
