// What does shardmark say of NCCL, where it was built without?
#include "impl/comm/nccl.hpp"

namespace shardmark::nccl {
namespace {
constexpr const char* sentence =
    "this shardmark was built without NCCL: install its header and library (libnccl-dev) and "
    "configure again with the preset cuda";
}

bool built() { return false; }
std::string library() { return sentence; }
void prepare() {}
std::unique_ptr<Communicator> communicator(Device&, World&, RanksAre, double) {
  throw InputError(sentence);
}

}  // namespace shardmark::nccl
