// What do ranks that are processes send, by Open MPI's own count? Its monitoring component counts
// every message below our ring and below the library's collectives, and writes the sums when a
// rank ends: a witness that none of our code can flatter. Each test starts this program again, as
// ranks.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "impl/comm/mpi.hpp"
#include "impl/train.hpp"
#include "kernels/cpu/device.hpp"

namespace shardmark {
namespace {

namespace fs = std::filesystem;
constexpr Verb verbs[] = {Verb::all_reduce, Verb::reduce_scatter, Verb::all_gather};

struct Sent {
  std::uint64_t own = 0, collective = 0;  // by the library: the program's messages, and its own
  std::uint64_t volume = 0, moved = 0;    // by the ledger and by our transport
  Sent operator-(const Sent& o) const {
    return {own - o.own, collective - o.collective, volume - o.volume, moved - o.moved};
  }
  Sent& operator+=(const Sent& o) {
    own += o.own, collective += o.collective, volume += o.volume, moved += o.moved;
    return *this;
  }
};

// Of one verb: an all-reduce takes any count, the others N parts.
std::size_t elements_of(Verb verb, int ranks) {
  return static_cast<std::size_t>(ranks) * 100'003 - (verb == Verb::all_reduce ? 1 : 0);
}

// ---- a rank: says what it counted itself, in a line

Sent call_verb(mpi::Group& g, Collectives made_by, Verb verb, int calls) {
  const std::size_t elements = elements_of(verb, g.size());
  CpuOptions o;
  o.overlap = false;
  o.on_error = [](std::exception_ptr e) { std::rethrow_exception(e); };
  CpuDevice device(o);
  const auto comm = g.communicator(device, made_by, {}, 20, false);
  Buffer all = device.memory().alloc(elements, DType::f32, Tag::workspace, device.compute());
  std::ranges::fill(all.view().host<float>(), 1.0F);
  const View mine = all.view().slice(part_of(elements, g.size(), g.rank()));
  for (int i = 0; i < calls; ++i) {
    if (verb == Verb::all_reduce) (void)comm->all_reduce(all.view(), {}, 0, Event::none());
    if (verb == Verb::reduce_scatter)
      (void)comm->reduce_scatter(all.view(), mine, {}, 0, Event::none());
    if (verb == Verb::all_gather) (void)comm->all_gather(mine, all.view(), 0, Event::none());
  }
  device.drain();
  Sent sent;
  sent.moved = comm->moved_bytes();
  for (const auto& [what, traffic] : comm->traffic()) sent.volume += traffic.volume;
  return sent;
}

Sent train_steps(mpi::Group& g, const std::string& strategy, int steps) {
  Training t;
  t.model = "mlp:layers=2,width=50", t.strategy = strategy, t.ranks = g.size();
  t.batch = 1, t.sequence = 16, t.warmup = 1, t.steps = steps;
  t.options.clip = 1, t.options.collectives = Collectives::ring;
  for (int i = 0; i < 500; ++i) t.corpus.push_back(static_cast<std::uint8_t>(i % 91));
  const TrainingReport report = train(t, g);
  const RankReport& mine = report.ranks[static_cast<std::size_t>(g.rank())];
  Sent sent;
  sent.moved = mine.moved_bytes;
  for (const TrafficLedger& step : mine.traffic_by_step)
    for (const auto& [what, traffic] : step) sent.volume += traffic.volume;
  return sent;
}

// "train STRATEGY STEPS", "ring all CALLS" or "library VERB CALLS".
int be_a_rank(const std::vector<std::string>& words) {
  mpi::Session session;
  const auto group = session.group(session.size(), 20, {});
  const int times = std::stoi(words[2]);
  Sent sent;
  if (words[0] == "train") sent = train_steps(*group, words[1], times);
  for (const Verb verb : verbs) {
    if (words[0] == "ring") sent += call_verb(*group, Collectives::ring, verb, times);
    if (words[0] == "library" && words[1] == name(verb))
      sent += call_verb(*group, Collectives::library, verb, times);
  }
  // As long a text in every run: the gather of it is counted as well.
  const auto all = group->gather(fmt::format("{:20} {:20}\n", sent.volume, sent.moved));
  if (group->rank() == 0)
    for (const std::string& line : all) fmt::print("{}", line);
  return 0;
}

// ---- the test: starts ranks, and reads what both sides counted

struct Said {
  int status = 0;
  std::string output;
};

Said run(const std::string& command) {
  Said said;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  require(pipe != nullptr, "a command could not be started");
  std::array<char, 4096> bytes{};
  while (const std::size_t n = std::fread(bytes.data(), 1, bytes.size(), pipe))
    said.output.append(bytes.data(), n);
  said.status = ::pclose(pipe);
  return said;
}

// The file of a rank has lines "E from to 123 bytes ..." for what the program sent, and "I from to
// 123 bytes ..." for what collectives did.
void read_profile(const fs::path& file, Sent& sent) {
  std::ifstream in(file);
  EXPECT_TRUE(in.good()) << file;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string kind;
    std::uint64_t from = 0, to = 0, bytes = 0;
    if (!(words >> kind >> from >> to >> bytes)) continue;
    if (kind == "E") sent.own += bytes;
    if (kind == "I") sent.collective += bytes;
  }
}

class Monitoring : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    if (!mpi::library().starts_with("Open MPI") ||
        run("ompi_info").output.find("pml: monitoring") == std::string::npos)
      GTEST_SKIP() << "no Open MPI with its monitoring component here";
    folder_ = fs::temp_directory_path() / fmt::format("monitoring-{}", ::getpid());
  }
  void TearDown() override { fs::remove_all(folder_); }

  // What so many calls or steps more make of difference, by rank. Setting up sends messages too
  // (MPI_Comm_create_group), and so does the sum over all parameters at the end of a training.
  std::vector<Sent> more(int n, const std::string& words, int times) {
    std::vector<Sent> all = ranks(n, fmt::format("{} {}", words, 1 + times));
    const std::vector<Sent> few = ranks(n, fmt::format("{} 1", words));
    for (std::size_t r = 0; r < all.size(); ++r) all[r] = all[r] - few[r];
    return all;
  }

  std::vector<Sent> ranks(int n, const std::string& words) {
    fs::remove_all(folder_);
    fs::create_directory(folder_);
    const Said said = run(fmt::format(
        "{0} -n {1} --oversubscribe --timeout 60 --mca btl self,vader --mca mpi_yield_when_idle 1"
        " --mca pml_monitoring_enable 2 --mca pml_monitoring_enable_output 3"
        " --mca pml_monitoring_filename {2}/p --mca orte_tmpdir_base {2} {3} rank {4}",
        SHARDMARK_MPIRUN, n, folder_.string(), fs::read_symlink("/proc/self/exe").string(), words));
    EXPECT_EQ(said.status, 0) << said.output;
    std::vector<Sent> all(static_cast<std::size_t>(n));
    std::istringstream lines(said.output);
    for (std::size_t r = 0; r < all.size(); ++r) {
      EXPECT_TRUE(lines >> all[r].volume >> all[r].moved) << said.output;
      read_profile(folder_ / fmt::format("p.{}.prof", r), all[r]);
    }
    return all;
  }

  fs::path folder_;
};

TEST_F(Monitoring, TheRingSendsItsVolumeAndNothingElse) {
  for (const int n : {2, 3, 4}) {
    const auto all = more(n, "ring all", 2);
    for (int r = 0; r < n; ++r) {
      const Sent& sent = all[static_cast<std::size_t>(r)];
      std::uint64_t volume = 0;
      for (const Verb verb : verbs)
        volume += volume_bytes(verb, elements_of(verb, n), DType::f32, n, r, Collectives::ring);
      EXPECT_EQ(sent.own, 2 * volume) << "rank " << r << " of " << n;
      EXPECT_EQ(sent.collective, 0u);
      EXPECT_EQ(sent.volume, sent.own);
      EXPECT_EQ(sent.moved, sent.own);
    }
  }
}

TEST_F(Monitoring, ATrainingSendsWhatItsLedgerSays) {
  for (const char* strategy : {"ddp", "zero1", "zero3"})
    for (const Sent& sent : more(3, fmt::format("train {}", strategy), 4)) {
      EXPECT_GT(sent.own, 0u);
      EXPECT_EQ(sent.volume, sent.own) << strategy;
      EXPECT_EQ(sent.moved, sent.own) << strategy;
    }
}

// No algorithm gets along with less: each part reaches N ranks, or is summed from N, over N - 1
// messages of its size at least. How much more is the library's business, and worth knowing.
TEST_F(Monitoring, TheLibrarySendsTheRingsVolumeOrMore) {
  for (const int n : {3, 4})
    for (const Verb verb : verbs) {
      Sent sum;
      for (const Sent& sent : more(n, fmt::format("library {}", name(verb)), 2)) sum += sent;
      EXPECT_EQ(sum.own, 0u);    // no message of ours
      EXPECT_EQ(sum.moved, 0u);  // and none that we claim to have seen
      EXPECT_GE(sum.collective, sum.volume) << name(verb) << ", " << n << " ranks";
      fmt::print("  {} of {} elements by the library, {} ranks: {:.3f} of the ring's volume\n",
                 name(verb), elements_of(verb, n), n,
                 static_cast<double>(sum.collective) / static_cast<double>(sum.volume));
    }
}

}  // namespace
}  // namespace shardmark

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words[0] == "rank")
    return shardmark::be_a_rank({words.begin() + 1, words.end()});
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
