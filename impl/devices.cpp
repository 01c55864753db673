#include "impl/devices.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "impl/comm/gpu_thread.hpp"
#include "impl/comm/interface.hpp"
#include "kernels/cpu/math.hpp"
#include "kernels/device_rates.hpp"
#include "kernels/rates.hpp"

namespace shardmark {
namespace {

bool on_gpu(const Training& t) { return t.device == DeviceKind::cuda; }

}  // namespace

int gpu_of(const Training& t, int place) {
  return on_gpu(t) ? place % static_cast<int>(cuda::gpus().size()) : -1;
}

std::unique_ptr<Device> make_device(const Training& t, const nvtx::Owner& owner, int place,
                                    DeviceCalls calls) {
  if (on_gpu(t)) {
    cuda::Options o;
    o.gpu = gpu_of(t, place);
    o.overlap = t.overlap;
    o.record = t.record_time;
    o.tf32 = t.tf32;
    o.owner = owner;
    o.timeout_s = t.comm_timeout_s + 1;  // NCCL's own deadline goes first: it names the verb
    o.recorder = calls.recorder;
    o.poll = std::move(calls.poll);
    o.on_span = std::move(calls.on_span);
    return cuda::make_device(std::move(o));
  }
  CpuOptions o;
  o.overlap = t.overlap;
  o.threads = t.threads_per_rank;
  o.record = t.record_time;
  o.spin_ns = calls.spin_ns;
  o.late_us = t.late_us;
  o.owner = owner;
  o.poll = std::move(calls.poll);
  o.on_span = std::move(calls.on_span);
  o.on_op = std::move(calls.on_op);
  o.on_error = std::move(calls.on_error);
  return std::make_unique<CpuDevice>(std::move(o));
}

std::size_t scratch_bytes(const Training& t, const Op& op) {
  return on_gpu(t) ? cuda::scratch_bytes(op, cuda::gpus().front())
                   : cpu::scratch_bytes(op, t.threads_per_rank);
}

double product_ns(const Training& t, Device& d, const Matmul& shape) {
  return on_gpu(t) ? product_ns(d, shape) : product_ns(shape, t.threads_per_rank);
}

void check_device(const Training& t, int ranks_here) {
  if (!on_gpu(t)) return;
  if (const std::string why = cuda::why_none(); !why.empty())
    throw InputError(fmt::format("--device cuda: {}.", why));
  const auto gpus = static_cast<int>(cuda::gpus().size());
  if (t.options.collectives == Collectives::memory && ranks_here > most_gpu_threads)
    throw InputError(fmt::format(
        "--comm thread on GPUs adds the arrays of at most {} ranks, not {}; take --comm nccl.",
        most_gpu_threads, ranks_here));
  if (t.options.collectives == Collectives::memory)
    if (const std::string why = cuda::why_no_peers(std::min(ranks_here, gpus)); !why.empty())
      throw InputError(why + ".");
  if (t.options.collectives == Collectives::nccl && ranks_here > gpus)
    throw InputError(fmt::format(
        "--comm nccl gives each rank a GPU of its own, but {} ranks would share {}; take at most "
        "{} ranks, or --comm thread, whose ranks may share a GPU.",
        ranks_here, gpus == 1 ? "one GPU" : fmt::format("{} GPUs", gpus), gpus));
}

void check_own_gpu(const Training& t, World& world, int place) {
  if (!on_gpu(t) || t.options.collectives != Collectives::nccl) return;
  const std::string mine = cuda::gpus()[static_cast<std::size_t>(gpu_of(t, place))].id;
  const auto all = world.gather(fmt::format("{} of host {}", mine, host_name()));
  for (auto it = all.begin(); it != all.end(); ++it) {
    const auto other = std::find(it + 1, all.end(), *it);
    if (other == all.end()) continue;
    throw InputError(fmt::format(
        "--comm nccl gives each rank a GPU of its own, but ranks {} and {} both have GPU {}; start "
        "as many ranks on a host as there are GPUs.",
        it - all.begin(), other - all.begin(), *it));
  }
}

}  // namespace shardmark
