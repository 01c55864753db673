#pragma once
// How do ranks that are processes find each other? Everything that only MPI can do, without its
// header: where shardmark was built without MPI, mpi_absent.cpp stands in.
#include <functional>
#include <memory>
#include <optional>

#include "impl/comm/communicator.hpp"
#include "impl/comm/link.hpp"
#include "impl/comm/world.hpp"

namespace shardmark::mpi {

bool built();           // with an MPI library
std::string library();  // "Open MPI 4.1.4"; where there is none, what would bring it

// The environment says that a launcher (mpirun, srun) started this process as one of so many; no
// call of MPI.
std::optional<int> launched();

// Gets the failure of this rank before the job is aborted; may be called from any thread, once.
using FailureSink = std::function<void(const Failure&)>;

// The first `size` ranks of the session.
class Group : public World {
 public:
  // collectives: ring or library. One communicator a rank and group at a time.
  virtual std::unique_ptr<Communicator> communicator(Device&, Collectives, std::optional<Link>,
                                                     double timeout_s, bool spin) = 0;
  virtual int ranks_on_this_host() const = 0;
  virtual int cores_on_this_host() const = 0;  // that these ranks may use, all together
};

// From MPI_Init to MPI_Finalize; one a process, made and ended on the main thread. Ranks exchange
// nothing on their own: all calls come from one thread at a time.
class Session {
 public:
  Session();  // throws Error where MPI cannot start, or was not built
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  int rank() const;
  int size() const;
  // Collective over the first `size` ranks alone. timeout_s: a gather that waits longer throws
  // Error; fail() of the group tells the sink, then aborts the whole job.
  std::unique_ptr<Group> group(int size, double timeout_s, FailureSink);
  // From rank 0 to ranks 1 .. size - 1, which listen, asleep between looks. A text of any length.
  void tell(const std::string&);
  std::string listen();
  // Ends every rank of the job, at once, from any thread.
  [[noreturn]] void abort(int exit_code);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace shardmark::mpi
