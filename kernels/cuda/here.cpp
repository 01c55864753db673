// How does a test run one op on a GPU? On a stream that is kept for it, and waits.
#include <map>

#include "kernels/cuda/device.hpp"
#include "kernels/cuda/matmul.hpp"
#include "kernels/cuda/run.hpp"

namespace shardmark::cuda {
namespace {

struct Bench {
  Stream stream;
  Blas blas;
  Partials partials;
  Launch launch;
  explicit Bench(int gpu) {
    launch.stream = stream.get();
    launch.blas = &blas;
    const Gpu is = gpus().at(static_cast<std::size_t>(gpu));
    launch.major = is.major;
    launch.multiprocessors = is.multiprocessors;
    launch.partials = partials.get();
  }
};

// Never ended: at the end of a process nobody knows whether the driver is still there.
const Launch& launch_on(int gpu) {
  static auto& benches = *new std::map<int, std::unique_ptr<Bench>>;
  check(cudaSetDevice(gpu), "choosing a GPU");
  std::unique_ptr<Bench>& bench = benches[gpu];
  if (!bench) bench = std::make_unique<Bench>(gpu);
  return bench->launch;
}

}  // namespace

void run_here(const Op& op, int gpu) {
  const Launch& with = launch_on(gpu);
  run(op, with);
  check(cudaStreamSynchronize(with.stream), std::string(name(op)).c_str());
}

}  // namespace shardmark::cuda
