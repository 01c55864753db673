// Does a trace say what was recorded, and nothing else? Two ranks and two steps, worked out by
// hand; times far from zero, where a double has no nanoseconds to spare.
#include "profilers/chrome_trace.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

namespace shardmark {
namespace {

using nlohmann::json;

constexpr std::int64_t far = 9'000'000'000'000'000;  // 104 days of uptime

Interval span(std::int64_t begin, std::int64_t end, Phase p, int label, int step,
              std::array<std::uint64_t, 2> after, std::optional<Collective> c = {}) {
  Interval i;
  i.begin_ns = far + begin, i.end_ns = far + end, i.phase = p, i.label = label, i.step = step;
  i.after = after, i.collective = c;
  return i;
}

constexpr Collective scatter{Verb::reduce_scatter, DType::bf16, 64};
constexpr Collective gather{Verb::all_gather, DType::f32, 64};
constexpr Collective norm{Verb::all_reduce, DType::f64, 1};

// Steps 2 and 3 are measured, from 1000 to 5001; step 1 came before. Tickets count from step 1.
Timeline timeline() {
  Timeline t;
  t.add(0, span(100, 900, Phase::forward, 0, 1, {0, 0}));                // ticket 1
  t.add(1, span(500, 800, Phase::reduce, 0, 1, {1, 0}, norm));           // ticket 1
  t.add(0, span(1000, 1500, Phase::forward, 0, 2, {1, 1}));              // 2
  t.add(0, span(1500, 2000, Phase::backward, 1, 2, {2, 1}));             // 3
  t.add(1, span(2001, 2801, Phase::reduce, 7, 2, {3, 1}, scatter));      // 2
  t.add(1, span(2801, 2901, Phase::reduce, no_label, 2, {3, 2}, norm));  // 3
  t.add(0, span(2950, 2960, Phase::clip, 0, 2, {3, 3}));                 // 4
  t.add(0, span(2960, 2999, Phase::update, 7, 2, {4, 3}));               // 5
  t.add(0, span(3001, 4000, Phase::forward, no_label, 3, {5, 3}));       // 6
  t.add(1, span(3500, 5500, Phase::gather, 7, 3, {5, 3}, gather));       // 4
  t.add(0, span(5001, 5002, Phase::forward, 0, 4, {6, 4}));              // behind the end
  t.lane(1)[1].skew_ns = 123, t.lane(1)[1].transfer_ns = 677;
  return t;
}

RankTrace rank() {
  RankTrace r;
  r.steps = {StepTimes{.begin_ns = far + 1000, .step_ns = 2001},
             StepTimes{.begin_ns = far + 3001, .step_ns = 2000}};
  const auto held = [](std::int64_t at, std::uint64_t bytes, Tag tag, DType t) {
    return MemoryEvent{far + at, bytes, tag, t};
  };
  r.traced =
      traced(timeline(),
             {held(200, 50, Tag::parameter, DType::bf16), held(200, 30, Tag::bucket, DType::bf16),
              held(990, 0, Tag::bucket, DType::bf16), held(1500, 16, Tag::parameter, DType::f32),
              held(1500, 24, Tag::bucket, DType::bf16), held(2900, 0, Tag::bucket, DType::bf16),
              held(6000, 99, Tag::bucket, DType::bf16)},
             r.steps);
  return r;
}

TraceAbout about() {
  return {.program = "shardmark",
          .cell = "a \"quoted\" cell\n",
          .backend = "thread",
          .units = {"embedding", "block 0"},
          .first_step = 2};
}

std::int64_t ns(const json& us) { return std::llround(us.get<double>() * 1000); }

struct Read {
  json whole;
  std::vector<json> of(const std::string& ph, int pid = 0, int tid = -1) const {
    std::vector<json> out;
    for (const json& e : whole["traceEvents"])
      if (e["ph"] == ph && e["pid"] == pid && (tid < 0 || e["tid"] == tid)) out.push_back(e);
    return out;
  }
  json named(const std::string& name, int tid) const {
    for (const json& e : of("X", 0, tid))
      if (e["name"] == name) return e;
    return {};
  }
};

Read all(const TraceAbout& a = about()) { return {json::parse(chrome_trace({rank(), rank()}, a))}; }

TEST(ChromeTrace, SpansAreNamedAndKeepTheirNanoseconds) {
  const Read t = all();
  std::vector<std::string> names;
  for (const int lane : {0, 1})
    for (const json& e : t.of("X", 1, lane)) names.push_back(e["name"]);
  EXPECT_EQ(names,
            (std::vector<std::string>{"forward embedding", "backward block 0", "clip",
                                      "update segment 7", "forward", "reduce_scatter segment 7",
                                      "all_reduce", "all_gather segment 7"}));
  const json e = t.named("reduce_scatter segment 7", 1);
  EXPECT_EQ(ns(e["ts"]), 1001);
  EXPECT_EQ(ns(e["dur"]), 800);
  EXPECT_EQ(e["cat"], "communication");
  EXPECT_EQ(e["args"]["phase"], "reduce");
  EXPECT_EQ(e["args"]["segment"], 7);
  EXPECT_EQ(e["args"]["step"], 2);
  EXPECT_EQ(e["args"]["bytes"], 128);
  EXPECT_EQ(ns(e["args"]["skew_us"]), 123);
  EXPECT_EQ(ns(e["args"]["transfer_us"]), 677);
  EXPECT_EQ(t.named("forward embedding", 0)["args"]["unit"], "embedding");
  // What reaches over the end of the last step is cut there.
  EXPECT_EQ(ns(t.named("all_gather segment 7", 1)["dur"]), 1501);
}

TEST(ChromeTrace, CollectivesCarryWhatPyTorchsProfilerSaysOfThem) {
  const Read t = all();
  const json s = t.named("reduce_scatter segment 7", 1)["args"];
  EXPECT_EQ(s["Collective name"], "_reduce_scatter_base");
  EXPECT_EQ(s["dtype"], "BFloat16");
  EXPECT_EQ(s["In msg nelems"], 64);
  EXPECT_EQ(s["Out msg nelems"], 32);
  EXPECT_EQ(s["In split size"], "[]");
  EXPECT_EQ(s["Out split size"], "[]");
  EXPECT_EQ(s["Group size"], 2);
  EXPECT_EQ(s["Process Group Name"], "0");
  EXPECT_EQ(s["Process Group Description"], "default_pg");
  EXPECT_EQ(s["Process Group Ranks"], "[0, 1]");
  EXPECT_EQ(s["Global rank start"], 0);
  EXPECT_EQ(s["Global rank stride"], 1);
  EXPECT_EQ(s["Seq"], 2);  // one was in the step before
  const json g = t.named("all_gather segment 7", 1)["args"];
  EXPECT_EQ(g["Collective name"], "_allgather_base");
  EXPECT_EQ(g["dtype"], "Float");
  EXPECT_EQ(g["In msg nelems"], 32);
  EXPECT_EQ(g["Out msg nelems"], 64);
  EXPECT_EQ(g["Seq"], 4);
  const json n = t.named("all_reduce", 1)["args"];
  EXPECT_EQ(n["Collective name"], "allreduce");
  EXPECT_EQ(n["dtype"], "Double");
  EXPECT_EQ(n["In msg nelems"], 1);
  EXPECT_EQ(n["Out msg nelems"], 1);
}

// backward -> scatter; scatter, norm -> clip; update -> gather. The norm waits for nothing new, the
// first forward for what came before the begin.
TEST(ChromeTrace, ArrowsGoFromWhatHadToEndToWhatWaited) {
  const Read t = all();
  const auto from = t.of("s"), to = t.of("f");
  std::map<std::pair<std::int64_t, std::int64_t>, int> arrows;
  ASSERT_EQ(from.size(), to.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    EXPECT_EQ(from[i]["id"], to[i]["id"]);
    EXPECT_EQ(to[i]["bp"], "e");
    ++arrows[{ns(from[i]["ts"]), ns(to[i]["ts"])}];
  }
  // The last nanosecond of what had to end, so that viewers find it.
  EXPECT_EQ(arrows,
            (std::map<std::pair<std::int64_t, std::int64_t>, int>{
                {{999, 1001}, 1}, {{1800, 1950}, 1}, {{1900, 1950}, 1}, {{1998, 2500}, 1}}));
  EXPECT_NE(from.front()["id"], t.of("s", 1).front()["id"]);
}

TEST(ChromeTrace, StepsAndWhatIsHeldStandBesideThem) {
  const Read t = all();
  const auto steps = t.of("X", 0, 2);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0]["name"], "step 2");
  EXPECT_EQ(ns(steps[1]["ts"]), 2001);
  EXPECT_EQ(ns(steps[1]["dur"]), 2000);
  std::map<std::int64_t, std::pair<int, int>> held;  // parameters of both types, buckets
  for (const json& e : t.of("C")) held[ns(e["ts"])] = {e["args"]["parameter"], e["args"]["bucket"]};
  EXPECT_EQ(held, (std::map<std::int64_t, std::pair<int, int>>{
                      {0, {50, 0}}, {500, {66, 24}}, {1900, {66, 0}}}));
}

TEST(ChromeTrace, SaysWhoTheRanksAre) {
  const Read t = all();
  EXPECT_EQ(t.whole["displayTimeUnit"], "ns");
  EXPECT_EQ(t.whole["otherData"]["cell"], about().cell);
  const json d = t.whole["distributedInfo"];
  EXPECT_EQ(d["backend"], "thread");
  EXPECT_EQ(d["world_size"], 2);
  EXPECT_EQ(d["pg_config"][0]["ranks"], json::array({0, 1}));
  std::map<std::string, std::string> names;
  for (const json& e : t.of("M", 1))
    if (e["args"].contains("name"))
      names[e["name"].get<std::string>() + e["tid"].dump()] = e["args"]["name"];
  EXPECT_EQ(names["process_name0"], "rank 1");
  EXPECT_EQ(names["thread_name0"], "compute");
  EXPECT_EQ(names["thread_name1"], "communication");
  EXPECT_EQ(names["thread_name2"], "steps");
}

TEST(ChromeTrace, WithoutACommonClockEachRankBeginsAtItsOwnZeroAndNobodyWaited) {
  RankTrace later = rank();
  later.traced.begin_ns += 1'000'000;
  for (const int lane : {0, 1})
    for (Interval& i : later.traced.timeline.lane(lane))
      i.begin_ns += 1'000'000, i.end_ns += 1'000'000;
  TraceAbout a = about();
  const auto first = [&](int pid) {
    return ns(Read{json::parse(chrome_trace({rank(), later}, a))}.of("X", pid, 0).front()["ts"]);
  };
  EXPECT_EQ(first(1) - first(0), 1'000'000);
  a.one_clock = false;
  EXPECT_EQ(first(1), 0);
  const Read t = all(a);
  EXPECT_FALSE(t.named("reduce_scatter segment 7", 1)["args"].contains("skew_us"));
  EXPECT_NE(t.whole["otherData"]["clocks"].get<std::string>().find("own"), std::string::npos);
}

TEST(ChromeTrace, OfOneRankForAnalyzers) {
  const std::string text = analyzer_trace({rank(), rank()}, 1, about());
  // How HolisticTraceAnalysis finds whose file it is: by lines.
  EXPECT_NE(text.find("\"rank\": 1,\n"), std::string::npos);
  const json whole = json::parse(text);
  std::vector<std::string> kernels, annotations;
  for (const json& e : whole["traceEvents"]) {
    EXPECT_EQ(e["pid"], 1);
    if (e["ph"] != "X") continue;
    if (e["cat"] == "kernel") {
      EXPECT_EQ(e["args"]["stream"], e["tid"].get<int>() + 1);
      kernels.push_back(e["name"]);
    } else {
      EXPECT_EQ(e["cat"], "user_annotation");
      annotations.push_back(e["name"]);
    }
  }
  EXPECT_EQ(annotations, (std::vector<std::string>{"ProfilerStep#2", "ProfilerStep#3"}));
  EXPECT_EQ(kernels[0], "forward embedding");
  EXPECT_EQ(kernels[5], "ncclDevKernel_ReduceScatter");
  EXPECT_EQ(kernels[7], "ncclDevKernel_AllGather");
}

// One queue: a collective waits for what stands before it, and what stands behind for it.
TEST(ChromeTrace, OneQueueHasArrowsToo) {
  RankTrace r;
  r.steps = {StepTimes{.begin_ns = far, .step_ns = 100}};
  Timeline t;
  t.add(0, span(0, 10, Phase::backward, 0, 2, {0, 0}));
  t.add(0, span(10, 20, Phase::reduce, 0, 2, {1, 0}, scatter));
  t.add(0, span(20, 30, Phase::update, 0, 2, {2, 0}));
  r.traced = traced(t, {}, r.steps);
  TraceAbout a = about();
  a.two_queues = false;
  const Read read{json::parse(chrome_trace({r}, a))};
  ASSERT_EQ(read.of("s").size(), 2u);
  EXPECT_EQ(ns(read.of("f")[0]["ts"]), 10);
  EXPECT_EQ(ns(read.of("f")[1]["ts"]), 20);
}

TEST(MemoryLedger, KeepsEventsFromThenOnOnly) {
  MemoryLedger l;
  l.add({Tag::gradient, DType::f32}, 8);
  EXPECT_TRUE(l.events().empty());
  l.keep_events();
  l.add({Tag::gradient, DType::f32}, 4);
  l.add({Tag::bucket, DType::bf16}, 2);
  l.remove({Tag::gradient, DType::f32}, 12);
  std::vector<std::pair<Tag, std::uint64_t>> seen;
  for (const MemoryEvent& e : l.events()) seen.emplace_back(e.tag, e.live_bytes);
  EXPECT_EQ(seen,
            (std::vector<std::pair<Tag, std::uint64_t>>{
                {Tag::gradient, 8}, {Tag::gradient, 12}, {Tag::bucket, 2}, {Tag::gradient, 0}}));
}

}  // namespace
}  // namespace shardmark
