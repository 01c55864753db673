// Is an error what it is by hand? Records whose times are made from predictions, by known factors.
#include "bench/score.hpp"

#include <gtest/gtest.h>

#include "bench/cluster_file.hpp"
#include "bench/example_records.hpp"
#include "bench/prediction.hpp"

namespace shardmark {
namespace {

using nlohmann::json;

constexpr int cores = 2;

// The machine of the example records, with the figures of a preset.
Cluster measured_machine() {
  Cluster c = cluster_of("--cluster", "a100");
  c.cpu = example::record()["machine"]["cpu"].get<std::string>();
  c.gpus_per_node = cores;
  return c;
}

Cell cell_of(const std::string& strategy) {
  json record = example::record();
  record["cell"]["strategy"] = strategy;
  record["cell"]["overlap"] = false;
  return cell_from_json(record["cell"]);
}

PredictedTime time_of(const Cluster& c, const std::string& strategy) {
  return *predict({cell_of(strategy)}, c).front().time;
}

// The step of this cell on the cluster, made so many times as long, all parts alike.
json measured(const Cluster& c, const std::string& strategy, int round, double factor) {
  json record = example::record();
  record["cell"] = to_json(cell_of(strategy));
  record["cell"]["id"] = id_of(cell_of(strategy));
  record["round"] = round;
  record["machine"]["cores_usable"] = cores;
  record["oversubscribed"] = false;
  const PredictedTime time = time_of(c, strategy);
  json& median = record["time"]["median"];
  for (int i = 0; i < phases; ++i)
    median[std::string(name(static_cast<Phase>(i))) + "_ns"] =
        static_cast<double>(time.step.of(static_cast<Phase>(i))) * factor;
  // As much again is moved and hidden, and 3 ms are waited, of which 1 ms is exposed: no part of
  // the error.
  const double moving = static_cast<double>(time.step.exposed_ns) * factor;
  median["exposed_ns"] = moving + 1e6;
  median["communication_ns"] = 2 * moving + 3e6;
  median["skew_ns"] = 3e6, median["hidden_transfer_ns"] = moving;
  median["step_ns"] = static_cast<double>(time.step.step_ns) * factor;
  return record;
}

TEST(Score, errors_are_what_the_records_were_made_with) {
  Cluster c = measured_machine();
  c.inside.bytes_per_ns = 20;  // so that the exposed part is one that counts
  const Score all = score({measured(c, "ddp", 0, 1.25), measured(c, "zero1", 0, 0.8)}, c);
  ASSERT_EQ(all.scored(), 2u);
  EXPECT_NEAR(all.cells[0].error(), -0.2, 1e-9);
  EXPECT_NEAR(all.cells[1].error(), 0.25, 1e-9);
  EXPECT_NEAR(all.step_error(0.5), 0.225, 1e-9);
  EXPECT_NEAR(all.step_error(1), 0.25, 1e-9);
  // Waiting for the other rank is taken off.
  EXPECT_NEAR(*all.part_error("exposed", 1), 0.25, 1e-9);
  EXPECT_NEAR(*all.part_error("forward", 0), 0.2, 1e-9);
}

TEST(Score, a_part_has_an_error_from_a_twentieth_of_the_step_on) {
  Score one;
  one.cells.push_back({"a", "", 100, 90, {{"forward", 50, 40}, {"update", 4, 9}, {"clip", 5, 4}}});
  const Cluster c = measured_machine();
  const json cell = to_json(one, c).at("cells").at(0);
  EXPECT_NEAR(cell.at("error").get<double>(), -0.1, 1e-12);
  EXPECT_NEAR(cell.at("parts").at("forward").at("error").get<double>(), -0.2, 1e-12);
  EXPECT_TRUE(cell.at("parts").at("update").at("error").is_null());
  EXPECT_NEAR(cell.at("parts").at("clip").at("error").get<double>(), -0.2, 1e-12);
  const std::string text = score_text(one, c);
  EXPECT_NE(text.find("-20.0"), std::string::npos) << text;
  EXPECT_NE(text.find("·"), std::string::npos) << text;
  EXPECT_EQ(text.find("+125"), std::string::npos) << text;
}

TEST(Score, a_pair_counts_where_its_steps_surely_differ) {
  const Cluster c = measured_machine();
  const double ddp = static_cast<double>(time_of(c, "ddp").step.step_ns),
               zero3 = static_cast<double>(time_of(c, "zero3").step.step_ns);
  ASSERT_LT(ddp, zero3);
  std::vector<json> agree, contradict, unsure;
  for (const int round : {0, 1}) {
    agree.push_back(measured(c, "ddp", round, 1));
    agree.push_back(measured(c, "zero3", round, 1));
    contradict.push_back(measured(c, "ddp", round, 2 * zero3 / ddp));
    contradict.push_back(measured(c, "zero3", round, 1));
    unsure.push_back(measured(c, "ddp", round, round == 0 ? 0.5 : 2 * zero3 / ddp));
    unsure.push_back(measured(c, "zero3", round, 1));
  }
  EXPECT_EQ(score(agree, c).pairs, 1u);
  EXPECT_EQ(score(agree, c).right, 1u);
  EXPECT_EQ(score(contradict, c).pairs, 1u);
  EXPECT_EQ(score(contradict, c).right, 0u);
  EXPECT_EQ(score(unsure, c).pairs, 0u);
}

TEST(Score, what_cannot_be_scored_says_why) {
  const Cluster c = measured_machine();
  json crowded = measured(c, "ddp", 0, 1), processes = measured(c, "zero1", 0, 1);
  crowded["oversubscribed"] = true;
  processes["cell"]["comm"] = "mpi";
  const Score all = score({crowded, processes}, c);
  EXPECT_EQ(all.scored(), 0u);
  const std::string text = score_text(all, c);
  EXPECT_NE(text.find("1 cell is not scored: more threads than cores."), std::string::npos);
  EXPECT_NE(text.find("the link between them is not known (--link)"), std::string::npos);
  // Figures that were written down, and those of other machines, are not measured ones.
  Cluster preset = c, other = c;
  preset.cpu = "", other.cpu = "another";
  const json fine = measured(c, "ddp", 0, 1);
  EXPECT_EQ(score({fine}, preset).cells[0].why_not,
            "a100 is no measured machine; `shardmark doctor -o` makes one");
  EXPECT_EQ(score({fine}, other).cells[0].why_not, "another machine than a100");
  json traced = fine;
  traced["cell"]["trace"] = true;
  EXPECT_EQ(score({traced}, c).cells[0].why_not, "traced: times are not measurements");
  // A processor without a name is the same one on both sides.
  json nameless = fine;
  nameless["machine"]["cpu"] = nullptr;
  other.cpu = "unknown";
  EXPECT_EQ(score({nameless}, other).scored(), 1u);
  EXPECT_TRUE(to_json(score({fine}, other), other).at("median").is_null());
  // A cell that this program could not run is said to be one, and the others are scored.
  json odd = measured(c, "zero1", 0, 1);
  odd["cell"]["precision"] = "fp16", odd["cell"]["reduce_dtype"] = "fp16";
  const Score some = score({fine, odd}, c);
  EXPECT_EQ(some.scored(), 1u);
  // With a link they are.
  EXPECT_EQ(score({processes}, c, "1gbit").scored(), 1u);
}

}  // namespace
}  // namespace shardmark
