// What stands in for MPI where shardmark was built without it? Nothing that could start.
#include "impl/comm/mpi.hpp"

namespace shardmark::mpi {

bool built() { return false; }
std::string library() { return "install libopenmpi-dev and openmpi-bin, then build again"; }
std::optional<int> launched() { return std::nullopt; }

struct Session::State {};
Session::Session() {
  throw Error(
      "shardmark was built without MPI: install libopenmpi-dev and openmpi-bin, then "
      "build again");
}
Session::~Session() = default;
int Session::rank() const { return 0; }
int Session::size() const { return 1; }
std::unique_ptr<Group> Session::group(int, double, FailureSink) { return nullptr; }
void Session::tell(const std::string&) {}
std::string Session::listen() { return ""; }
void Session::abort(int) { std::abort(); }

}  // namespace shardmark::mpi
