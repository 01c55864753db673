// Does the reason of a cell that died name the rank, the verb and the step, from what the ranks and
// the launcher said?
#include "bench/last_words.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include "bench/isolated.hpp"
#include "bench/test_support.hpp"

namespace shardmark {
namespace {

using nlohmann::json;
using testing::Folder;

std::string words(int rank, const char* text, std::int64_t waited_ns) {
  return json{{"last_words", {{"rank", rank}, {"text", text}, {"waited_ns", waited_ns}}}}.dump() +
         '\n';
}

ProcessEnd ended(int code, const std::string& output, const std::string& errors = "") {
  ProcessEnd end;
  end.exit_code = code;
  end.output = output;
  end.errors = errors;
  return end;
}

std::string failure_of(std::int64_t ranks, const ProcessEnd& end) {
  return answer_of_ranks(ranks, 600, end).failure;
}

TEST(last_words, sections_are_the_answer_of_a_job_that_ended_well) {
  const Answer a = answer_of_ranks(2, 600, ended(0, R"({"sections": {"time": 1}})"));
  EXPECT_EQ(a.failure, "");
  EXPECT_EQ(a.sections, (json{{"time", 1}}));
  // The same with another exit code: a rank failed behind it.
  EXPECT_EQ(failure_of(2, ended(1, R"({"sections": {"time": 1}})", "no luck\n")),
            "its launcher ended with exit code 1 after rank 0 had answered, but: no luck");
}

TEST(last_words, a_rank_that_a_signal_ended_is_named_and_its_peers_say_where_they_were) {
  const std::string open_mpi =
      "-----\nmpirun noticed that process rank 1 with PID 77 on node n1 exited on signal 9 "
      "(Killed).\n-----\n";
  EXPECT_EQ(
      failure_of(
          2, ended(137, words(0, "17 collectives, in all_gather of segment 3, step 4", 900'000'000),
                   open_mpi)),
      "rank 1 was ended by SIGKILL (Killed), as the system does when memory runs out; rank "
      "0: 17 collectives, in all_gather of segment 3, step 4");
  // Open MPI 5 wraps its lines.
  const auto wrapped = death_in(
      "prterun noticed that process rank 2 with PID 217 on node vm exited on\nsignal 11.\n");
  ASSERT_TRUE(wrapped);
  EXPECT_EQ(wrapped->rank, 2);
  EXPECT_EQ(wrapped->signal, SIGSEGV);
  const auto slurm = death_in("srun: error: n1: task 3: Segmentation fault\n");
  ASSERT_TRUE(slurm);
  EXPECT_EQ(slurm->rank, 3);
  EXPECT_EQ(slurm->signal, SIGSEGV);
  EXPECT_FALSE(death_in("srun: error: n1: task 3: Exited with exit code 1\n"));
}

// Whoever waited least is the one that was waited for; a stopped process counts no time.
TEST(last_words, a_rank_that_was_waited_for_is_named) {
  const std::string failed =
      R"({"failure": "rank 0 failed at step 4: waited more than 2 s for its peers", "rank": 0})"
      "\n";
  const std::string said = failure_of(
      3,
      ended(1, failed + words(0, "a", 0) + words(1, "b", 30'000) + words(2, "c", 1'900'000'000)));
  EXPECT_EQ(said,
            "rank 0 failed at step 4: waited more than 2 s for its peers; they waited for rank 1 "
            "(b); rank 2: c");
  EXPECT_NE(failure_of(3, ended(1, failed + words(1, "b", 30'000)))
                .find("they waited for rank 2 (no last words)"),
            std::string::npos);
}

TEST(last_words, many_ranks_stay_one_sentence) {
  std::string all;
  for (int r = 0; r < 8; ++r) all += words(r, "x", 1);
  EXPECT_EQ(reason_of(
                [&] {
                  Heard heard;
                  heard.hear_lines(all);
                  return heard;
                }(),
                8, "it took too long"),
            "it took too long; rank 0: x; rank 1: x; rank 2: x; rank 3: x; and 4 more ranks");
}

TEST(last_words, a_launcher_without_an_answer_says_what_it_said) {
  EXPECT_EQ(
      failure_of(2, ended(3, "no json\n{\"other\": 1}\n", "----------------------\nno luck.\n")),
      "its launcher ended with exit code 3 and no answer, but: no luck");
}

TEST(last_words, kept_in_a_folder_tell_of_the_cell_that_was_started) {
  const Folder f;
  EXPECT_EQ(why_it_ended(f.path(), "cell", 1, 2), "the job ended while it ran");
  const auto keep = [&](const std::string& id, std::int64_t round, const std::string& line) {
    keep_last_words(f.path(), id, round, json::parse(line));
  };
  keep("other", 1, R"({"failure": "rank 0 failed at step 1: no", "rank": 0})");
  keep("cell", 2, R"({"failure": "rank 0 failed at step 2: no", "rank": 0})");
  keep("cell", 1, words(0, "in all_gather of segment 3, step 4", 5));
  EXPECT_EQ(why_it_ended(f.path(), "cell", 1, 2),
            "the job ended while it ran, and rank 1 gave no last words; rank 0: in all_gather of "
            "segment 3, step 4");
  keep("cell", 1, R"({"failure": "rank 1 failed at step 4: yes", "rank": 1})");
  EXPECT_EQ(why_it_ended(f.path(), "cell", 1, 2),
            "rank 1 failed at step 4: yes; rank 0: in all_gather of segment 3, step 4");
  forget_last_words(f.path());
  EXPECT_EQ(why_it_ended(f.path(), "cell", 1, 2), "the job ended while it ran");
}

// What no rank failed in, and every rank was well in, is nobody's failure.
TEST(last_words, of_all_ranks_and_no_failure_say_that_the_job_was_asked_to_end) {
  const Folder f;
  const auto keep = [&](const std::string& line) {
    keep_last_words(f.path(), "cell", 1, json::parse(line));
  };
  const auto asked = [&] { return all_were_asked_to_end(f.path(), "cell", 1, 2); };
  EXPECT_FALSE(asked());
  keep(words(0, "in none, step 4", 0));
  EXPECT_FALSE(asked());  // rank 1 died
  keep(words(1, "in none, step 4", 0));
  EXPECT_TRUE(asked());
  EXPECT_FALSE(all_were_asked_to_end(f.path(), "cell", 2, 2));
  keep(R"({"failure": "rank 1 failed at step 4: no", "rank": 1})");
  EXPECT_FALSE(asked());
}

// Hosts of other names that share a system, containers of one name that see other folders: both
// cannot use this host's shared memory.
TEST(launcher, ranks_are_on_one_host_where_they_share_its_name_its_kernel_and_its_folders) {
  EXPECT_EQ(where_are({"a", "a"}, {"s", "s"}, "s"), Where::one_host);
  EXPECT_EQ(where_are({"a", "b"}, {"s", "s"}, "s"), Where::several_hosts);
  EXPECT_EQ(where_are({"a", "a"}, {"s", "t"}, "s"), Where::several_hosts);
  EXPECT_EQ(where_are({"a", "a"}, {"t", "t"}, "s"), Where::several_hosts);  // all elsewhere
  EXPECT_EQ(where_are({"a", "a"}, {"", ""}, ""), Where::several_hosts);     // unknown
  EXPECT_NE(system_name(), "");
}

TEST(launcher, words_are_split_as_a_shell_does_and_ranks_put_in) {
  EXPECT_EQ(
      launcher_words({"srun -n {ranks} --comment 'two words' --x=\"{ranks} of {ranks}\"", 12}),
      (std::vector<std::string>{"srun", "-n", "12", "--comment", "two words", "--x=12 of 12"}));
  EXPECT_EQ(testing::refused([] {
              launcher_words({"srun -n '{ranks}", 2});
            }),
            "--launcher srun -n '{ranks}: a quotation mark ' is never closed.");
  const auto built_in = launcher_words({"mpirun", 3, 1});
  EXPECT_EQ(built_in.at(0), "mpirun");
  EXPECT_EQ(built_in.at(2), "3");
}

TEST(launcher, the_line_that_says_most_is_the_first_that_says_anything) {
  EXPECT_EQ(launcher_says("\n--------------------------\nOpen MPI failed.\nBecause.\n"),
            "Open MPI failed");
  EXPECT_EQ(launcher_says(""), "");
}

// Shared memory only where there is one host, and folders only where somebody removes them.
TEST(launcher, settings_follow_where_the_ranks_are) {
  const auto one = mpi_settings(text_of(Where::one_host), {"/a", "/b"});
  EXPECT_EQ(one.at("OMPI_MCA_btl"), "self,vader");
  EXPECT_EQ(one.at("OMPI_MCA_orte_tmpdir_base"), "/a");
  EXPECT_EQ(one.at("OMPI_MCA_btl_vader_backing_directory"), "/b");
  const auto several = mpi_settings(text_of(Where::several_hosts), {});
  EXPECT_EQ(several.at("OMPI_MCA_btl"), "self,vader,tcp");
  EXPECT_EQ(several.count("OMPI_MCA_orte_tmpdir_base"), 0u);
}

}  // namespace
}  // namespace shardmark
