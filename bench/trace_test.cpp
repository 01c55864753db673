// Is what a traced run leaves true? Its files are read with arithmetic of their own and held
// against the record of the same run; and no time of it is taken for a measurement.
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "bench/trace_reading.hpp"

namespace shardmark {
namespace {

using nlohmann::json;
using testing::Folder;
using testing::ns;
using testing::Ran;
using testing::recorded;
using testing::TraceFile;

const std::string small =
    "--model gpt:layers=2,width=32,heads=2 --batch 1 --sequence 32 --steps 3 --bucket-mb 0.02 ";

// All cells run once, for every test of this kind.
class Traced : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new Folder;
    ran_ = testing::shardmark(*folder_, "run " + small +
                                            "--trace --strategy all --overlap off,on --ranks 3 "
                                            "--recompute unit --out out");
    records_ = testing::lines_of(*folder_ / "out/records.jsonl");
  }
  static void TearDownTestSuite() {
    traces_.clear();
    delete folder_;
  }
  void SetUp() override { ASSERT_EQ(records_.size(), 12u) << ran_.err; }
  static const TraceFile& trace(const json& record) {
    const std::string file = record["traces"]["file"];
    return traces_.try_emplace(file, *folder_ / ("out/" + file)).first->second;
  }

  inline static Folder* folder_ = nullptr;
  inline static Ran ran_;
  inline static std::vector<json> records_;
  inline static std::map<std::string, TraceFile> traces_;
};

TEST_F(Traced, spans_are_as_long_by_phase_as_the_record_says) {
  for (const json& r : records_) {
    const TraceFile& t = trace(r);
    for (std::size_t rank = 0; rank < 3; ++rank) {
      for (const auto& [phase, sum] : t.by_phase(rank))
        EXPECT_EQ(sum, recorded(r, rank, phase + "_ns")) << r["cell"]["id"] << rank << phase;
      const auto [communication, hidden] = t.communication_and_hidden(rank);
      EXPECT_EQ(communication, recorded(r, rank, "communication_ns")) << r["cell"]["id"];
      EXPECT_EQ(hidden, recorded(r, rank, "hidden_ns")) << r["cell"]["id"];
      std::int64_t steps = 0;
      for (const json& e : t.events("X", rank, 2)) steps += ns(e["dur"]);
      EXPECT_EQ(steps, recorded(r, rank, "step_ns"));
    }
  }
}

TEST_F(Traced, spans_of_a_queue_stand_behind_each_other_and_inside_of_the_steps) {
  for (const json& r : records_) {
    const TraceFile& t = trace(r);
    for (std::size_t rank = 0; rank < 3; ++rank) {
      const auto steps = t.events("X", rank, 2);
      ASSERT_EQ(steps.size(), 3u);
      EXPECT_EQ(steps[0]["name"], "step 2");
      const std::int64_t begin = ns(steps.front()["ts"]),
                         end = ns(steps.back()["ts"]) + ns(steps.back()["dur"]);
      EXPECT_GE(begin, 0);
      for (const int queue : {0, 1, 2}) {
        std::int64_t last = begin;
        for (const json& e : t.events("X", rank, queue)) {
          EXPECT_GE(ns(e["ts"]), last) << e;
          last = ns(e["ts"]) + ns(e["dur"]);
        }
        EXPECT_LE(last, end);
      }
      EXPECT_EQ(t.events("X", rank, 1).empty(), r["cell"]["overlap"] == false);
    }
  }
}

TEST_F(Traced, arrows_have_two_ends_go_forward_and_leave_from_a_collective_or_reach_one) {
  for (const json& r : records_) {
    const TraceFile& t = trace(r);
    std::set<std::uint64_t> ids;
    for (std::size_t rank = 0; rank < 3; ++rank) {
      const auto from = t.events("s", rank), to = t.events("f", rank);
      ASSERT_EQ(from.size(), to.size());
      // What is open on the end's thread at its time, by begin.
      std::map<std::pair<int, std::int64_t>, json> spans;
      for (const json& e : t.events("X", rank)) spans[{e["tid"], ns(e["ts"])}] = e;
      const auto category = [&](const json& end) -> std::string {
        auto e = spans.upper_bound({end["tid"], ns(end["ts"])});
        if (e == spans.begin() || (--e)->second["tid"] != end["tid"]) return "nothing";
        const bool open = ns(end["ts"]) < ns(e->second["ts"]) + ns(e->second["dur"]);
        return open ? e->second["cat"].get<std::string>() : "nothing";
      };
      std::size_t leaving = 0;
      for (std::size_t i = 0; i < from.size(); ++i) {
        EXPECT_EQ(from[i]["id"], to[i]["id"]);
        EXPECT_TRUE(ids.insert(from[i]["id"].get<std::uint64_t>()).second);
        EXPECT_LT(ns(from[i]["ts"]), ns(to[i]["ts"]) + 1);
        EXPECT_NE(category(from[i]), category(to[i])) << r["cell"]["id"] << from[i] << to[i];
        leaving += category(from[i]) == "communication";
      }
      // What a step reduces, its update waits for.
      EXPECT_GE(leaving, 3u) << r["cell"]["id"];
      EXPECT_GE(from.size() - leaving, 3u) << r["cell"]["id"];
    }
  }
}

TEST_F(Traced, what_is_held_peaks_in_every_step_as_measured_and_ends_with_the_model_states) {
  for (const json& r : records_) {
    const TraceFile& t = trace(r);
    for (std::size_t rank = 0; rank < 3; ++rank) {
      const auto steps = t.events("X", rank, 2);
      std::vector<std::uint64_t> peaks(steps.size(), 0);
      json last;
      for (const json& e : t.events("C", rank)) {
        if (last.is_null()) {
          EXPECT_EQ(e["ts"], steps[0]["ts"]);
        }
        last = e["args"];
        std::uint64_t total = 0;
        for (const json& bytes : last) total += bytes.get<std::uint64_t>();
        for (std::size_t s = 0; s < steps.size(); ++s)
          if (ns(steps[s]["ts"]) <= ns(e["ts"]) &&
              ns(e["ts"]) < ns(steps[s]["ts"]) + ns(steps[s]["dur"]))
            peaks[s] = std::max(peaks[s], total);
      }
      for (const std::uint64_t peak : peaks)
        EXPECT_EQ(peak, r["bytes"]["peak_by_rank_bytes"][rank]) << r["cell"]["id"];
      std::map<std::string, double> states;
      for (const json& h : r["bytes"]["held"])
        if (h["model_state"] == true) states[h["tag"]] += h["exact_bytes"].get<double>();
      for (const auto& [tag, bytes] : states) EXPECT_EQ(last[tag], bytes) << r["cell"]["id"] << tag;
      for (const char* tag : {"bucket", "gathered", "staging"})
        EXPECT_EQ(last.value(tag, 0), 0) << r["cell"]["id"] << tag;
    }
  }
}

TEST_F(Traced, every_rank_makes_the_same_collectives_as_many_as_were_counted) {
  for (const json& r : records_) {
    const TraceFile& t = trace(r);
    std::array<std::map<std::uint64_t, std::string>, 3> made;
    for (std::size_t rank = 0; rank < 3; ++rank)
      for (const json& e : t.events("X", rank))
        if (e["cat"] == "communication") {
          const json& a = e["args"];
          made[rank][a["Seq"]] = a["Collective name"].get<std::string>() + a["dtype"].dump() +
                                 a["In msg nelems"].dump() + a["Out msg nelems"].dump();
          EXPECT_EQ(a["Group size"], 3);
        }
    double calls = 0;
    for (const json& c : r["traffic"]["called"]) calls += c["calls"].get<double>();
    for (const auto& [seq, what] : made[0])
      for (const auto& other : made)
        if (const auto it = other.find(seq); it != other.end()) {
          EXPECT_EQ(it->second, what);
        }
    // A gather behind the update may end in the next step.
    EXPECT_NEAR(static_cast<double>(made[0].size()), calls * 3, calls) << r["cell"]["id"];
    if (r["cell"]["overlap"] == false) {
      EXPECT_EQ(made[0].size(), calls * 3) << r["cell"]["id"];
    }
  }
}

TEST_F(Traced, the_run_says_that_it_is_traced_and_where_its_traces_are) {
  for (const json& r : records_) {
    EXPECT_EQ(testing::schema_errors(r), "");
    EXPECT_EQ(r["cell"]["trace"], true);
    EXPECT_EQ(r["traces"]["rank_files"].size(), 3u);
    for (const json& file : r["traces"]["rank_files"])
      EXPECT_TRUE(std::filesystem::exists(*folder_ / ("out/" + file.get<std::string>())));
    EXPECT_NE(ran_.out.find("out/" + r["traces"]["file"].get<std::string>()), std::string::npos);
  }
  EXPECT_NE(ran_.out.find("traced: times are not measurements\n"), std::string::npos);
  EXPECT_NE(ran_.out.find("traced: times are not measurements, here or below"), std::string::npos);
  EXPECT_NE(ran_.out.find("https://ui.perfetto.dev"), std::string::npos);
  EXPECT_EQ(ran_.err.find("ms a step"), std::string::npos) << ran_.err;
}

TEST_F(Traced, nobody_takes_its_times_for_measurements) {
  const Ran same = testing::shardmark(*folder_, "compare out out");
  EXPECT_EQ(same.code, 0) << same.out << same.err;
  EXPECT_NE(same.out.find("a traced run's times are not measurements"), std::string::npos);
  EXPECT_NE(same.out.find("UNTIMED"), std::string::npos) << same.out;
  EXPECT_EQ(same.out.find("AMBIGUOUS"), std::string::npos) << same.out;
  const Ran exported = testing::shardmark(*folder_, "export out --format gbench");
  EXPECT_EQ(exported.code, 2);
  EXPECT_NE(exported.err.find("RUN: out is traced"), std::string::npos) << exported.err;
}

TEST(trace, one_round_is_made_and_more_are_said_to_be_left_away) {
  const Folder f;
  const Ran ran =
      testing::shardmark(f, "run " + small + "--trace --strategy ddp --rounds 3 --out out");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(testing::lines_of(f / "out/records.jsonl").size(), 1u);
  EXPECT_NE(ran.err.find("a traced run makes one round, not the 3 of --rounds"), std::string::npos);
  const Ran quiet = testing::shardmark(f, "run " + small + "--trace --strategy ddp --out two");
  EXPECT_EQ(quiet.err.find("--rounds"), std::string::npos) << quiet.err;
}

TEST(trace, wrong_input_is_one_sentence) {
  const Folder f;
  for (const auto& [arguments, sentence] :
       {std::pair{"collectives --trace", "shardmark collectives has no flag --trace"},
        std::pair{"run --trace --trace", "--trace is given twice"},
        std::pair{"run --trace --resume a", "and --trace would change them"},
        std::pair{"run --trace --out /proc/run", "is no folder that can be created and written"}}) {
    const Ran ran = testing::shardmark(f, arguments);
    EXPECT_EQ(ran.code, 2) << arguments;
    EXPECT_NE(ran.err.find(sentence), std::string::npos) << ran.err;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
  }
}

// A file where the folder of traces should be: also for those who may write everywhere.
TEST(trace, a_trace_that_cannot_be_written_loses_no_record_and_ends_with_1) {
  const Folder f;
  std::filesystem::create_directory(f / "out");
  testing::write(f / "out/traces", "");
  const Ran ran = testing::shardmark(f, "run " + small + "--trace --strategy ddp,zero1 --out out");
  EXPECT_EQ(ran.code, 1) << ran.err;
  EXPECT_NE(ran.out.find("cannot be written: Not a directory."), std::string::npos) << ran.out;
  const auto records = testing::lines_of(f / "out/records.jsonl");
  ASSERT_EQ(records.size(), 2u);
  for (const json& r : records) {
    EXPECT_EQ(r["status"], "ok");
    EXPECT_TRUE(r["traces"].is_null());
    EXPECT_EQ(testing::schema_errors(r), "");
  }
}

}  // namespace
}  // namespace shardmark
