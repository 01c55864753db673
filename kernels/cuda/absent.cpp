// What does shardmark say of GPUs, where it was built without the CUDA Toolkit?
#include "kernels/cuda/device.hpp"

namespace shardmark::cuda {
namespace {
constexpr const char* sentence =
    "this shardmark was built without CUDA: configure it with a CUDA Toolkit (12.4 or newer) and "
    "the preset cuda";
}

bool built() { return false; }
std::string library() { return sentence; }
const std::vector<Gpu>& gpus() {
  static const std::vector<Gpu> none;
  return none;
}
std::string why_none() { return sentence; }
std::uint64_t free_bytes(int) { throw InputError(sentence); }
std::unique_ptr<Device> make_device(Options) { throw InputError(sentence); }
Mark mark(Queue&) { throw InputError(sentence); }
void wait_for(Queue&, const Mark&) { throw InputError(sentence); }
std::string why_no_peers(int) { return sentence; }
void let_read_each_other(int) { throw InputError(sentence); }
std::uint64_t reserved_bytes(Device&) { return 0; }
std::uint64_t products_by_tiles(Device&) { return 0; }
std::shared_ptr<void> managed_bytes(std::size_t) { throw InputError(sentence); }
void run_here(const Op&, int) { throw InputError(sentence); }
std::size_t scratch_bytes(const Op&, const Gpu&) { throw InputError(sentence); }

}  // namespace shardmark::cuda
