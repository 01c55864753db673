// Do the flags about ranks, links and launchers become the cells that they say, and is what does
// not fit together refused with one sentence?
#include <gtest/gtest.h>

#include "bench/suite.hpp"
#include "bench/test_support.hpp"

namespace shardmark {
namespace {

using testing::refused;
using Flags = std::map<std::string, std::string>;

constexpr std::nullopt_t alone = std::nullopt;

Given given(const Flags& flags) {
  Given all = {{"--strategy", {"ddp"}}};
  for (const auto& [flag, value] : flags) all[flag] = {value};
  return all;
}

Cell cell(const Flags& flags, std::optional<int> world = alone) {
  return cells_of(given(flags), world).at(0);
}

// Of the flags, or of the cell that they come to.
std::string refusal(const Flags& flags, std::optional<int> world = alone) {
  return refused([&] { validate(cells_of(given(flags), world)); });
}

TEST(transport, who_makes_the_verbs_follows_from_comm_and_link) {
  const auto made = [](const Flags& flags) {
    const Cell c = cell(flags);
    return c.collectives + " " + c.launcher;
  };
  EXPECT_EQ(made({}), "memory none");
  EXPECT_EQ(made({{"--link", "1gbit"}}), "ring none");
  EXPECT_EQ(made({{"--comm", "mpi"}}), "ring mpirun");
  EXPECT_EQ(made({{"--comm", "mpi"}, {"--link", "1gbit"}}), "ring mpirun");
  EXPECT_EQ(made({{"--collectives", "ring"}}), "ring none");
  EXPECT_EQ(made({{"--comm", "mpi"}, {"--collectives", "library"}}), "library mpirun");
  EXPECT_EQ(made({{"--comm", "mpi"}, {"--launcher", "srun -n {ranks}"}}), "ring srun -n {ranks}");
}

TEST(transport, lists_multiply_and_a_latency_stays_with_its_rate) {
  const auto cells =
      cells_of(given({{"--comm", "thread,mpi"}, {"--link", "none,1000mbit,10gbit,50us"}}), alone);
  ASSERT_EQ(cells.size(), 6u);
  EXPECT_EQ(cells[2].link, "10gbit,50us");
  EXPECT_EQ(id_of(cells[0]), "gpt-nano/ddp/n2/overlap-on");
  EXPECT_EQ(id_of(cells[1]), "gpt-nano/ddp/n2/overlap-on/link-1gbit");
  EXPECT_EQ(id_of(cells[5]), "gpt-nano/ddp/n2/overlap-on/mpi/link-10gbit,50us");
  // What has commas of its own is one value.
  EXPECT_EQ(cell({{"--comm", "mpi"}, {"--launcher", "srun -n {ranks} -w a,b"}}).launcher,
            "srun -n {ranks} -w a,b");
  EXPECT_EQ(cell({{"--network", "ring, two switches"}}).network, "ring, two switches");
}

TEST(transport, the_training_is_told) {
  const Cell c = cell(
      {{"--comm", "mpi"}, {"--link", "10gbit,50us"}, {"--prefetch", "3"}, {"--interface", "e"}});
  const Training t = training_of(c, {});
  EXPECT_EQ(t.options.collectives, Collectives::ring);
  EXPECT_EQ(t.options.prefetch, 3);
  ASSERT_TRUE(t.link);
  EXPECT_EQ(*t.link, (Link{1.25, 50'000}));
  EXPECT_EQ(t.interface, "e");
  EXPECT_EQ(t.counted_steps, 3);
  const Training plain = training_of(Cell(), {});
  EXPECT_EQ(plain.options.collectives, Collectives::memory);
  EXPECT_FALSE(plain.link);
  EXPECT_EQ(plain.counted_steps, 0);
}

TEST(transport, ids_and_json_keep_every_field) {
  std::set<std::string> ids = {id_of(Cell())};
  for (const Flags& flags : std::vector<Flags>{{{"--comm", "mpi"}},
                                               {{"--comm", "mpi"}, {"--collectives", "library"}},
                                               {{"--collectives", "ring"}},
                                               {{"--link", "1gbit"}},
                                               {{"--link", "1gbit,1ms"}},
                                               {{"--prefetch", "0"}},
                                               {{"--comm", "mpi"}, {"--launcher", "a {ranks}"}},
                                               {{"--comm", "mpi"}, {"--launcher", "a, {ranks}"}},
                                               {{"--comm", "mpi"}, {"--interface", "eth0"}},
                                               {{"--network", "slow one"}},
                                               {{"--network", "slow, one"}},
                                               {{"--network", "slow-one"}}}) {
    const Cell c = cell(flags);
    EXPECT_TRUE(ids.insert(id_of(c)).second) << id_of(c);
    EXPECT_EQ(cell_from_json(to_json(c)), c) << id_of(c);
    EXPECT_EQ(id_of(c).find(' '), std::string::npos) << id_of(c);
  }
  EXPECT_TRUE(ids.insert(id_of(cell({}, 4))).second) << "a given world is another launcher";
}

TEST(transport, a_given_world_is_used) {
  const Cell c = cell({{"--ranks", "3"}}, 4);
  EXPECT_EQ(c.comm, "mpi");
  EXPECT_EQ(c.launcher, "given");
  EXPECT_EQ(c.collectives, "ring");
  EXPECT_EQ(refusal({{"--ranks", "8"}}, 4),
            "--ranks is 8, but a launcher has started this program as one of 4 ranks; give 4 at "
            "most, or start more.");
  EXPECT_EQ(refusal({{"--comm", "thread"}}, 4),
            "--comm is thread, but a launcher has started this program as one of 4 ranks; leave "
            "--comm away, or run without the launcher.");
  EXPECT_EQ(refusal({{"--launcher", "srun -n {ranks}"}}, 4),
            "--launcher is given, but a launcher has started this program as one of 4 ranks "
            "already; leave --launcher away.");
}

TEST(transport, what_does_not_fit_together_is_refused) {
  EXPECT_EQ(refusal({{"--comm", "mpi"}, {"--collectives", "memory"}}),
            "--collectives memory is for ranks that are threads of one process; with --comm mpi "
            "it may be ring or library.");
  EXPECT_EQ(refusal({{"--link", "1gbit"}, {"--collectives", "memory"}}),
            "--collectives memory sends no messages, so that --link 1gbit would slow nothing "
            "down; with a link it must be ring.");
  EXPECT_EQ(refusal({{"--collectives", "library"}}),
            "--collectives library calls the collectives of the MPI library, which needs --comm "
            "mpi; thread ranks have memory and ring.");
  EXPECT_EQ(refusal({{"--comm", "mpi"}, {"--link", "1gbit"}, {"--collectives", "library"}}),
            "--collectives library sends past --link 1gbit, which slows our own messages down; "
            "with a link it must be ring.");
  EXPECT_EQ(refusal({{"--all-reduce", "direct"}, {"--collectives", "ring"}}),
            "--all-reduce direct is there for --collectives memory alone; with ring leave it "
            "away.");
  EXPECT_EQ(refusal({{"--all-reduce", "direct"}}), "");
  EXPECT_EQ(refusal({{"--launcher", "srun -n {ranks}"}}),
            "--launcher \"srun -n {ranks}\" starts ranks that are processes, which needs --comm "
            "mpi or nccl.");
  EXPECT_EQ(refusal({{"--comm", "mpi"}, {"--launcher", "srun -n 4"}}),
            "--launcher \"srun -n 4\" does not say where the number of ranks goes; put {ranks} "
            "there: 'srun -n {ranks}'.");
  for (const char* nobody : {"none", "given"})
    EXPECT_EQ(refusal({{"--comm", "mpi"}, {"--launcher", nobody}}),
              std::string("--launcher is \"") + nobody +
                  "\", but must be a command with {ranks} in it, such as 'srun -n {ranks}', or "
                  "mpirun.");
  EXPECT_EQ(refusal({{"--interface", "eth0"}}),
            "--interface eth0 would count nothing: what thread ranks send never leaves their "
            "process; it needs --comm mpi.");
  EXPECT_EQ(refusal({{"--comm", "mpi"}, {"--interface", "../eth0"}}),
            "--interface \"../eth0\" is no name of a network interface, such as eth0; `ip link` "
            "lists them.");
  EXPECT_NE(refusal({{"--comm", "mpi"}, {"--interface", "eth0,eth1"}}), "");
  EXPECT_NE(refusal({{"--network", "two\nlines"}}), "");
  EXPECT_EQ(refusal({{"--comm", "mpii"}}),
            "--comm \"mpii\" is unknown; it may be thread or mpi or nccl; did you mean mpi?");
  EXPECT_NE(refusal({{"--link", "fast"}}), "");
  EXPECT_NE(refusal({{"--prefetch", "-1"}}), "");
}

// Fields of a cell's file are held to what flags can say, and to what fits together.
TEST(transport, a_cells_file_is_refused_alike) {
  const auto sentence = [](const char* key, const nlohmann::json& value) {
    nlohmann::json c = to_json(Cell());
    c[key] = value;
    return refused([&] { validate(cell_from_json(c), 100'000); });
  };
  EXPECT_EQ(sentence("link", "1000mbit"),
            "a cell's \"link\" is \"1000mbit\", but is written 1gbit.");
  EXPECT_NE(sentence("link", "fast"), "");
  EXPECT_NE(sentence("link", "1gbit").find("--collectives memory sends no messages"),
            std::string::npos);
  EXPECT_EQ(sentence("collectives", "tree"),
            "a cell's \"collectives\" \"tree\" is unknown; it may be memory or ring or library or "
            "nccl.");
  EXPECT_NE(sentence("launcher", "mpirun"), "");
  EXPECT_EQ(sentence("prefetch", 1001),
            "a cell's \"prefetch\" is \"1001\", but must be a whole number from 0 to 1000.");
}

TEST(transport, without_mpi_says_what_brings_it) {
  const std::string sentence = refusal({{"--comm", "mpi"}});
  EXPECT_EQ(sentence,
            mpi::built()
                ? ""
                : "--comm is mpi, but this build has no MPI library: " + mpi::library() + ".");
}

TEST(transport, ranks_elsewhere_take_no_cores_here) {
  Cell c = cell({{"--comm", "mpi"}, {"--ranks", "8"}, {"--overlap", "off"}});
  EXPECT_TRUE(oversubscribed(c, 4));
  EXPECT_FALSE(oversubscribed(c, 4, 4));
  c.overlap = true;
  EXPECT_TRUE(oversubscribed(c, 4, 4));
}

}  // namespace
}  // namespace shardmark
