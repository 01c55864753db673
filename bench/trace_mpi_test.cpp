// Are ranks that are processes traced as threads are, however they were started?
#include <gtest/gtest.h>

#include "bench/mpi_test_support.hpp"
#include "bench/trace_reading.hpp"

namespace shardmark {
namespace {

using nlohmann::json;
using testing::Mpi;
using testing::Ran;
using testing::small;

TEST_F(Mpi, ranks_that_are_processes_are_traced) {
  for (const auto& [name, flags, launcher] :
       {std::tuple{"started", "--comm mpi --launcher 'mpirun --oversubscribe -n {ranks}' ", ""},
        std::tuple{"given", "", testing::world.c_str()}}) {
    const Ran ran =
        run(small + flags + "--trace --strategy zero1,zero3 --ranks 3 --out " + name, launcher);
    ASSERT_EQ(ran.code, 0) << name << ran.err;
    int traced = 0;
    for (const json& r : records(name)) {
      EXPECT_EQ(testing::schema_errors(r), "") << name;
      if (r["status"] != "ok") continue;
      ++traced;
      const testing::TraceFile t(
          f / (std::string(name) + "/" + r["traces"]["file"].get<std::string>()));
      EXPECT_EQ(t.whole()["distributedInfo"]["backend"], "mpi ring");
      for (std::size_t rank = 0; rank < 3; ++rank) {
        EXPECT_FALSE(t.events("s", rank).empty());
        for (const auto& [phase, sum] : t.by_phase(rank))
          EXPECT_EQ(sum, testing::recorded(r, rank, phase + "_ns")) << name << rank << phase;
        EXPECT_EQ(t.communication_and_hidden(rank).second, testing::recorded(r, rank, "hidden_ns"));
      }
    }
    EXPECT_EQ(traced, 2) << name;
  }
}

}  // namespace
}  // namespace shardmark
