// Is the change that advise names the smallest there is, does it hold when it is asked again, and
// is nothing said of what was not tried?
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "bench/advise_search.hpp"
#include "bench/cluster_file.hpp"
#include "bench/test_support.hpp"
#include "bench/text.hpp"
#include "bench/units.hpp"

namespace shardmark {
namespace {

using nlohmann::json;

// Every GPU is alone on its link.
Question asked(std::int64_t gpus, std::int64_t batch, double memory, double gb_per_s) {
  Question q;
  q.cell.model = "smollm-135m", q.cell.ranks = gpus, q.cell.batch = batch;
  q.cell.precision = q.cell.reduce_dtype = "bf16";
  q.cluster = cluster_of("--cluster", "a100");
  q.cluster.gpus_per_node = 1, q.cluster.memory_bytes = memory;
  q.cluster = with_link_rate(q.cluster, gpus, gb_per_s);
  return q;
}

double best_step(const Advice& a) { return a.tried[*a.best].step_ns(); }

// Every stage in every micro-batch with and without recompute, whether it fits or not.
std::vector<Prediction> all_of(const Question& q) {
  std::vector<Cell> cells;
  for (const char* strategy : {"ddp", "zero1", "zero2", "zero3"})
    for (std::int64_t batch = q.cell.batch; batch >= 1; batch /= 2)
      for (const char* recompute : {"none", "unit"}) {
        Cell c = q.cell;
        c.strategy = strategy, c.batch = batch, c.accumulate = q.cell.batch / batch;
        c.recompute = recompute;
        cells.push_back(c);
      }
  return predict(cells, q.cluster);
}

TEST(AdviseChange, NoLessMemoryHasAnythingFaster) {
  Question q = asked(16, 8, 1.2e9, 5);
  const Advice a = advise(q);
  ASSERT_TRUE(a.best);
  ASSERT_TRUE(a.next_faster);
  double least = INFINITY;
  for (const Prediction& p : all_of(q))
    if (p.peak_bytes > q.room() &&
        static_cast<double>(p.time->step.step_ns) * (1 + distinct) < best_step(a))
      least = std::min(least, p.peak_bytes);
  const Choice& next = a.tried[*a.next_faster];
  EXPECT_EQ(next.prediction.peak_bytes, least);
  q.cluster.memory_bytes = least;
  EXPECT_LE(best_step(advise(q)), next.step_ns() * (1 + distinct));
  q.cluster.memory_bytes = least - 1;
  EXPECT_GE(best_step(advise(q)) * (1 + distinct), best_step(a));
}

// Of all other strategies that fit the one that is faster by 1 % there; empty: none.
std::string faster_at(const Advice& a, double rate) {
  const Question& q = a.question;
  const std::string& best = a.tried[*a.best].strategy();
  std::map<std::string, double> steps;
  for (const Choice& c : a.tried)
    if (c.fits() && !c.naive) {
      const auto ns = static_cast<double>(
          time_on(with_link_rate(q.cluster, q.cell.ranks, rate), c.prediction).step.step_ns);
      const auto [known, fresh] = steps.try_emplace(c.strategy(), ns);
      if (!fresh) known->second = std::min(known->second, ns);
    }
  for (const auto& [strategy, ns] : steps)
    if (ns * (1 + distinct) < steps.at(best)) return strategy;
  return "";
}

// On 64 GPUs, 8 in a node: zero1 is ahead of ddp around 1/16 of the rate, and at neither 1/8 nor
// 1/64.
TEST(AdviseChange, NoLinkBetweenThoseThatWereTriedIsPassedOver) {
  Question q = asked(64, 4, 80e9, 12.5);
  q.cluster = with_link_rate(cluster_of("--cluster", "h100"), 64, 12.5);
  const Advice a = advise(q);
  ASSERT_TRUE(a.best);
  double first = 0;
  for (int half = 1; half <= 12 && first == 0; ++half)
    if (!faster_at(a, 12.5 * std::pow(2, -half / 2.0)).empty())
      first = 12.5 * std::pow(2, -half / 2.0);
  ASSERT_GT(first, 0);
  ASSERT_TRUE(a.slower_link);
  EXPECT_GE(a.slower_link->bytes_per_ns, first * 0.999);
  EXPECT_LT(a.slower_link->bytes_per_ns, first * 1.42);
  EXPECT_EQ(faster_at(a, a.slower_link->bytes_per_ns), a.slower_link->strategy);
}

TEST(AdviseChange, OneGpuHasTheLowestStage) {
  const Advice alone = advise(asked(1, 4, 80e9, 12.5));
  EXPECT_EQ(alone.tried[*alone.best].strategy(), "ddp");
  Question q = asked(8, 4, 80e9, 12.5);
  q.cluster = cluster_of("--cluster", "h100");
  const Advice halved = advise(q);
  ASSERT_TRUE(halved.fewest);
  EXPECT_EQ(halved.fewest->prediction.cell.ranks, 1);
  EXPECT_EQ(halved.fewest->strategy(), "ddp");
}

Choice of(const char* strategy, std::int64_t ranks, std::int64_t step_ns, double over_bytes = -1) {
  Choice c;
  c.prediction.cell.strategy = strategy, c.prediction.cell.ranks = ranks;
  c.prediction.time.emplace().step.step_ns = step_ns;
  c.over_bytes = over_bytes;
  return c;
}

TEST(AdviseChange, OfWhatNoPredictionTellsApartTheLowestStage) {
  const auto answer = [](std::vector<Choice> all) { return *AdviseSearch::answer_of(all); };
  EXPECT_EQ(answer({of("ddp", 8, 1020), of("zero1", 8, 1009), of("zero2", 8, 1000)}), 1u);
  EXPECT_EQ(answer({of("ddp", 8, 1005, 1), of("zero1", 8, 1020), of("zero2", 8, 1000)}), 2u);
  // Of its own settings the fastest.
  EXPECT_EQ(answer({of("ddp", 8, 1009), of("ddp", 8, 1005), of("zero3", 8, 1000)}), 1u);
  EXPECT_EQ(answer({of("ddp", 1, 1300, 1), of("zero1", 1, 1200), of("zero3", 1, 1000)}), 1u);
  EXPECT_FALSE(AdviseSearch::answer_of({of("ddp", 8, 1000, 1)}));
}

json answer(const testing::Folder& f, const std::string& flags) {
  const auto ran = testing::shardmark(f, "advise --format json " + flags);
  EXPECT_EQ(ran.code, 0) << ran.err;
  return json::parse(ran.out);
}

// 12 MB are too few for gpt-nano on one GPU; the bandwidth is that between two, each alone.
TEST(AdviseChange, OneGpuIsAskedAboutTheLinkToOthers) {
  const testing::Folder f;
  const std::string usual = "--gpus 1 --memory 12MB --bandwidth ";
  const json slow = answer(f, usual + "1gbit"), fast = answer(f, usual + "400gbit");
  EXPECT_EQ(slow["question"]["link_bytes_per_s"], 125e6);
  EXPECT_EQ(slow["question"]["link"], "between_nodes");
  EXPECT_EQ(slow["gpus"]["more"]["gpus"], 2);
  // Gradients and parameters of 660,608 elements: 2.6 MB each way take 21 ms at 125 MB/s.
  EXPECT_GT(slow["gpus"]["more"]["step_ns"], 21e6);
  EXPECT_LT(fast["gpus"]["more"]["step_ns"], 5e6);
  const json inside = answer(f, "--gpus 1 --cluster h100 --bandwidth 100GB/s");
  EXPECT_EQ(inside["question"]["link"], "inside_node");
  EXPECT_EQ(inside["question"]["cluster"]["inside_node"]["gb_per_s"], 100);
  // 1e9 bytes by 2 (N - 1) / N at 1000 GB/s, which is more than the a100 has inside a node.
  const Cluster wide = asked(2, 1, 1e9, 1000).cluster;
  EXPECT_NEAR(collective_cost(wide, Verb::all_reduce, 1e9, {.ranks = 2}).between_ns, 1e6, 1);
}

std::string text_of(const testing::Folder& f, const std::string& flags) {
  const auto ran = testing::shardmark(f, "advise " + flags);
  EXPECT_EQ(ran.code, 0) << ran.err;
  for (const std::string& line : split(ran.out, '\n')) EXPECT_LE(display_width(line), 100u) << line;
  return ran.out;
}

TEST(AdviseChange, LinesFitAndNumbersHaveDigits) {
  const testing::Folder f;
  json cluster = to_json(cluster_of("--cluster", "a100"));
  cluster["name"] = std::string(80, 'x');
  testing::write(f / "long.json", cluster.dump());
  text_of(f, "--gpus 2 --cluster ./long.json");
  text_of(f, "--gpus 2 --memory 1kB --bandwidth 1kbit");
  const std::string wide = text_of(f, "--gpus 2 --memory 80GB --bandwidth 1kbit");
  EXPECT_EQ(wide.find(" 0.0 "), std::string::npos) << wide;
  // 2,048 tokens in the 21,139 s that 2.6 MB each take at 125 B/s.
  EXPECT_NE(wide.find(" 0.0969 "), std::string::npos) << wide;
  EXPECT_EQ(text_of(f, "--gpus 2 --memory 1GB --bandwidth 1gbit --reserve 0GB"),
            text_of(f, "--gpus 2 --memory 1GB --bandwidth 1gbit --reserve 0"));
  EXPECT_NE(
      text_of(f, "--gpus 2 --memory 1kB --bandwidth 1gbit").find("on 4 to 65,536, by doubling"),
      std::string::npos);
  text_of(f, "--gpus 100000 --memory 1GB --bandwidth 1gbit");
}

}  // namespace
}  // namespace shardmark
