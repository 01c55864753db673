// Is a delay found where it was put, and does a rank that fails take the others with it? Delays are
// injected: an identity of sums would hold for any nonsense.
#include "impl/train.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace shardmark {
namespace {

Training tiny(const std::string& strategy) {
  Training t;
  t.model = "gpt:layers=2,width=16,heads=2", t.strategy = strategy, t.ranks = 2;
  t.batch = 1, t.sequence = 8, t.warmup = 1, t.steps = 3, t.comm_timeout_s = 1;
  t.options.clip = 1;
  for (int i = 0; i < 500; ++i) t.corpus.push_back(static_cast<std::uint8_t>(i % 91));
  return t;
}

std::string failure_of(const Training& t) {
  try {
    train(t);
  } catch (const Error& e) {
    return e.what();
  }
  return "none";
}

constexpr std::int64_t ms = 1'000'000;

TEST(Train, ADelayInOnePhaseOfOneRankIsFoundThereAndAsWaitingOnTheOther) {
  for (const bool overlap : {false, true})
    for (const auto& [phase, name] :
         {std::pair{Phase::forward, "forward"}, std::pair{Phase::backward, "backward"},
          std::pair{Phase::update, "update"}}) {
      Training t = tiny("zero1");
      t.overlap = overlap;
      t.inject = std::string("delay:rank=1,ms=15,phase=") + name;
      const TrainingReport r = train(t);
      const StepTimes slow = r.ranks[1].steps[2], other = r.ranks[0].steps[2];
      EXPECT_GE(slow.of(phase), 15 * ms) << name;
      EXPECT_LT(other.of(phase), 15 * ms) << name;
      // The other rank takes as long, and spends it waiting for its peer in communication, not in
      // computing.
      EXPECT_GE(other.step_ns, 14 * ms) << name;
      EXPECT_GE(other.communication_ns, 14 * ms) << name;
      EXPECT_GE(other.skew_ns, 10 * ms) << name;
      EXPECT_LT(slow.skew_ns, 10 * ms) << name;
    }
}

TEST(Train, NoPartOfAStepIsNegative) {
  for (const char* strategy : {"ddp", "zero1", "zero2", "zero3"}) {
    const TrainingReport r = train(tiny(strategy));
    for (const RankReport& rank : r.ranks)
      for (const StepTimes& s : rank.steps) {
        EXPECT_EQ(s.exposed_ns + s.hidden_ns, s.communication_ns);
        EXPECT_GE(s.other_ns, 0);
      }
  }
}

TEST(Train, ARankThatThrowsFailsTheCellAndIsNamed) {
  Training t = tiny("zero2");
  t.inject = "throw:rank=1,step=2";
  EXPECT_EQ(failure_of(t), "rank 1 failed at step 2: injected: rank 1 throws");
}

// Buffers of megabytes, given back to the system when their rank ends, while its peers still read
// them: nobody may free anything before all have ended.
TEST(Train, ARankThatThrowsWhileItsPeersReadItsMemoryIsNamedAsWell) {
  for (const char* strategy : {"ddp", "zero1", "zero3"})
    for (int i = 0; i < 3; ++i) {
      Training t = tiny(strategy);
      t.model = "mlp:layers=3,width=1500", t.ranks = 3;
      t.inject = "throw:rank=1,step=2";
      EXPECT_EQ(failure_of(t), "rank 1 failed at step 2: injected: rank 1 throws");
    }
}

TEST(Train, ARankThatIsStuckIsNamedByThoseThatWait) {
  Training t = tiny("ddp");
  t.inject = "stuck:rank=0,step=1";
  const std::string said = failure_of(t);
  EXPECT_NE(said.find("waited more than 1 s for its peers in all_reduce"), std::string::npos)
      << said;
  EXPECT_NE(said.find("a rank that is stuck was left behind"), std::string::npos) << said;
}

// With overlap the last gathers of a step run while its rank is in the next one already.
TEST(Train, ACollectiveThatFailsIsOfTheStepThatEnqueuedIt) {
  Training t = tiny("zero1");
  t.overlap = true;
  t.comm_timeout_s = 0.5;
  t.inject = "delay:rank=1,phase=gather,ms=1500";
  const std::string said = failure_of(t);
  EXPECT_TRUE(said.starts_with("rank 0 failed at step 0: waited more than 0.5 s")) << said;
  EXPECT_NE(said.find("in all_gather of segment"), std::string::npos) << said;
}

TEST(Train, ANormThatIsNotFiniteSkipsTheStepOnEveryRank) {
  for (const char* strategy : {"ddp", "zero1", "zero3", "zero1_naive"}) {
    Training t = tiny(strategy);
    t.options.adam.lr = 1e30f;  // after one step nothing is finite any more
    t.keep_parameters = true;
    const TrainingReport r = train(t);
    for (const RankReport& rank : r.ranks) EXPECT_GT(rank.skipped_steps, 0) << strategy;
    EXPECT_EQ(r.ranks[0].skipped_steps, r.ranks[1].skipped_steps);
    // Skipped steps changed nothing: what the first one left is still there.
    t.warmup = 0, t.steps = 0;  // the closing step alone
    EXPECT_EQ(train(t).ranks[0].parameter_hash, r.ranks[0].parameter_hash) << strategy;
  }
}

TEST(Train, WrongTextsAreTheUsersErrors) {
  Training t = tiny("zero4");
  EXPECT_THROW(train(t), InputError);
  t = tiny("ddp");
  for (const char* wrong :
       {"explode:rank=1", "delay:rank=1,ms=abc", "delay:rank=1,phase=bakward", "throw:rnk=1"}) {
    t.inject = wrong;
    EXPECT_THROW(train(t), InputError) << wrong;
  }
}

}  // namespace
}  // namespace shardmark
