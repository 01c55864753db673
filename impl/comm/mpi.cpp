#include "impl/comm/mpi.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "impl/comm/mpi_wire.hpp"
#include "impl/comm/ring.hpp"
#include "kernels/cpu/cores.hpp"

namespace shardmark::mpi {
namespace {

constexpr int tell_tag = 2, group_tag = 3;

std::string first_line(const char* file) {
  std::string line;
  std::ifstream in(file);
  std::getline(in, line);
  return line;
}

// Processes of one kernel have one monotonic clock, unless their time namespace moves it.
struct Machine {
  std::string kernel = first_line("/proc/sys/kernel/random/boot_id");
  std::string clock;
  Machine() {
    char link[64] = {};
    if (::readlink("/proc/self/ns/time", link, sizeof link - 1) > 0) clock = link;
  }
};

// One communicator of MPI, for its own kind of messages.
class Comm {
 public:
  Comm(int size, int number) {
    MPI_Group world, some;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    int range[1][3] = {{0, size - 1, 1}};
    MPI_Group_range_incl(world, 1, range, &some);
    const int code = MPI_Comm_create_group(MPI_COMM_WORLD, some, group_tag + number, &comm_);
    MPI_Group_free(&some);
    MPI_Group_free(&world);
    check(code, "MPI_Comm_create_group");
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  }
  ~Comm() { MPI_Comm_free(&comm_); }
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;
  MPI_Comm get() const { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

class MpiGroup final : public Group {
 public:
  MpiGroup(int size, double timeout_s, FailureSink sink)
      : timeout_s_(timeout_s), sink_(std::move(sink)), size_(size) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);  // the group's ranks are the first of the world
    Watchdog watching(*this, timeout_s);
    watching.enter("MPI_Comm_create_group");
    talk_.emplace(size, 0);
    carry_.emplace(size, 1);
    watching.leave();
    const Machine mine;
    const std::vector<std::string> kernels = gather(mine.kernel), clocks = gather(mine.clock),
                                   cores = gather(usable_core_list());
    std::vector<std::string> here;
    for (std::size_t r = 0; r < kernels.size(); ++r)
      if (kernels[r] == mine.kernel) here.push_back(cores[r]);
    here_ = static_cast<int>(here.size());
    cores_ = cores_of(here);
    const auto all_mine = [](const std::vector<std::string>& all, const std::string& one) {
      return std::count(all.begin(), all.end(), one) == static_cast<std::ptrdiff_t>(all.size());
    };
    one_clock_ = all_mine(kernels, mine.kernel) && all_mine(clocks, mine.clock);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  bool one_clock() const override { return one_clock_; }
  int ranks_on_this_host() const override { return here_; }
  int cores_on_this_host() const override { return cores_; }
  void check() const override {}  // a rank that fails takes the whole job with it

  void fail(Failure f) noexcept override {
    // Who comes second waits for the end: no other call of MPI may stand beside the abort.
    if (failed_.exchange(true)) std::this_thread::sleep_for(std::chrono::hours(1));
    if (sink_) sink_(f);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }

  std::vector<std::string> gather(const std::string& mine) override {
    const auto n = static_cast<std::size_t>(size_);
    const int length = static_cast<int>(mine.size());
    require(mine.size() * n < (std::size_t{1} << 31), "host bytes of all ranks pass 2 GiB");
    std::vector<int> lengths(n), begins(n);
    MPI_Request request;
    mpi::check(
        MPI_Iallgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, talk_->get(), &request),
        "MPI_Iallgather");
    finish(request);
    for (std::size_t r = 1; r < n; ++r) begins[r] = begins[r - 1] + lengths[r - 1];
    std::string all(static_cast<std::size_t>(begins[n - 1] + lengths[n - 1]), '\0');
    mpi::check(MPI_Iallgatherv(mine.data(), length, MPI_BYTE, all.data(), lengths.data(),
                               begins.data(), MPI_BYTE, talk_->get(), &request),
               "MPI_Iallgatherv");
    finish(request);
    std::vector<std::string> out;
    for (std::size_t r = 0; r < n; ++r)
      out.push_back(
          all.substr(static_cast<std::size_t>(begins[r]), static_cast<std::size_t>(lengths[r])));
    return out;
  }

  std::unique_ptr<Communicator> communicator(Device& d, Collectives made_by,
                                             std::optional<Link> link, double timeout_s,
                                             bool spin) override {
    if (made_by == Collectives::memory)
      throw InputError("processes cannot read each other's memory; they may use ring or library");
    if (made_by == Collectives::library) {
      if (link) throw InputError("a link carries messages: it needs the collectives of the ring");
      return std::make_unique<LibraryCommunicator>(d, *this, carry_->get(), timeout_s);
    }
    // Without overlap this rank computes nothing meanwhile, and yielding leaves its core to others.
    const bool overlap = &d.comm() != &d.compute();
    const std::int64_t patience_ns = spin || !overlap ? 2'000'000 : 30'000;
    return RingCommunicator::over(std::make_unique<MpiTransport>(carry_->get()), link, d, *this,
                                  timeout_s, patience_ns);
  }

 private:
  void finish(MPI_Request& request) {
    Wait wait(*this, timeout_s_, "an exchange of host bytes");
    for (int done = 0; !done;) {
      mpi::check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
      if (!done) rest(wait.rest_until(1'000'000));
    }
  }

  std::optional<Comm> talk_, carry_;
  double timeout_s_;
  FailureSink sink_;
  int rank_ = 0, size_ = 1, here_ = 0, cores_ = 1;
  bool one_clock_ = false;
  std::atomic<bool> failed_{false};
};

}  // namespace

bool built() { return true; }

std::string library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);  // may be called before MPI_Init
  const std::string all(text, static_cast<std::size_t>(length));
  // "Open MPI v4.1.4, package: Debian OpenMPI, ident: ..."
  std::string name = all.substr(0, all.find_first_of(",\n"));
  if (const auto v = name.find(" v"); v != name.npos) name.erase(v + 1, 1);
  return name;
}

std::optional<int> launched() {
  if (const char* size = std::getenv("OMPI_COMM_WORLD_SIZE")) return std::atoi(size);
  // Slurm sets these for every step, also for an interactive shell, which is a step of one task.
  const bool slurm = std::getenv("PMIX_RANK") || std::getenv("SLURM_PMI_FD");
  for (const char* name : {"PMI_SIZE", "SLURM_STEP_NUM_TASKS"})
    if (const char* size = std::getenv(name))
      if (std::atoi(size) > 1 && (slurm || std::string_view(name) == "PMI_SIZE"))
        return std::atoi(size);
  return std::nullopt;
}

struct Session::State {
  int rank = 0, size = 1;
};

Session::Session() : state_(std::make_unique<State>()) {
  int provided = 0;
  check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
  require(provided >= MPI_THREAD_SERIALIZED, "this MPI library can be used by one thread only");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &state_->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &state_->size);
}

Session::~Session() {
  // All have said what they had to say; one that hangs here may be ended without a word.
  Watchdog watching(60, [this](const char*) { abort(1); });
  watching.enter("MPI_Finalize");
  MPI_Finalize();
}

int Session::rank() const { return state_->rank; }
int Session::size() const { return state_->size; }

std::unique_ptr<Group> Session::group(int size, double timeout_s, FailureSink sink) {
  require(size >= 1 && size <= state_->size, "a group cannot have more ranks than the world");
  return std::make_unique<MpiGroup>(size, timeout_s, std::move(sink));
}

void Session::tell(const std::string& text) {
  std::vector<MPI_Request> requests(static_cast<std::size_t>(state_->size) - 1);
  for (int r = 1; r < state_->size; ++r)
    check(MPI_Isend(text.data(), static_cast<int>(text.size()), MPI_BYTE, r, tell_tag,
                    MPI_COMM_WORLD, &requests[static_cast<std::size_t>(r) - 1]),
          "MPI_Isend");
  for (int done = 0; !done;) {
    check(
        MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE),
        "MPI_Testall");
    if (!done) rest(now_ns() + 100'000);
  }
}

std::string Session::listen() {
  constexpr std::int64_t nap_ns = 2'000'000;  // long enough to cost nothing, short for a cell
  MPI_Status status;
  for (int here = 0; !here;) {
    check(MPI_Iprobe(0, tell_tag, MPI_COMM_WORLD, &here, &status), "MPI_Iprobe");
    if (!here) rest(now_ns() + nap_ns);
  }
  int length = 0;
  MPI_Get_count(&status, MPI_BYTE, &length);
  std::string text(static_cast<std::size_t>(length), '\0');
  check(MPI_Recv(text.data(), length, MPI_BYTE, 0, tell_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
        "MPI_Recv");
  return text;
}

void Session::abort(int exit_code) {
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  ::_exit(exit_code);
}

}  // namespace shardmark::mpi
