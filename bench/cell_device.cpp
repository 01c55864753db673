// Which cells can compute on GPUs, and on these? See cell.hpp.
#include <fmt/format.h>

#include "bench/cell.hpp"
#include "bench/collectives_cell.hpp"
#include "impl/comm/nccl.hpp"
#include "impl/devices.hpp"

namespace shardmark {
namespace {

void check_without_gpus(const Cell& c) {
  if (c.comm == "nccl")
    refuse(
        "--comm nccl moves GPUs' memory, which needs --device cuda; on the processor take "
        "thread or mpi.");
  if (c.precision == "tf32")
    refuse(
        "--precision tf32 is a product of GPUs' tensor cores, which needs --device cuda; on the "
        "processor take fp32.");
  if (c.profile != "none")
    refuse(
        fmt::format("--profile {} records what GPUs do, which needs --device cuda; on the "
                    "processor take --trace.",
                    c.profile));
}

}  // namespace

void check_device(const Cell& c) {
  if ((c.comm == "nccl") != (c.collectives == "nccl"))
    refuse(
        fmt::format("--collectives {} does not fit --comm {}: nccl belongs to nccl, and nothing "
                    "else does.",
                    c.collectives, c.comm));
  if (c.profile != "none" && c.profile != "cupti")
    refuse(fmt::format("--profile is \"{}\", but must be cupti or none.", c.profile));
  if (c.device == "cpu") return check_without_gpus(c);
  if (c.comm == "mpi")
    refuse(
        "--comm mpi carries the host's memory; with --device cuda take nccl (with a --launcher "
        "where ranks are processes) or thread.");
  if (c.collectives == "ring" || c.link != "none")
    refuse(
        "--device cuda has neither a --link nor the ring, which are the host's; leave "
        "--collectives and --link away.");
  if (c.all_reduce == "direct")
    refuse(
        "--all-reduce direct is there for the processor's memory; with --device cuda leave it "
        "away.");
  if (c.threads_per_rank != 1)
    refuse(
        fmt::format("--threads-per-rank is {}, but with --device cuda the GPU computes; leave it "
                    "away.",
                    c.threads_per_rank));
  if (c.memory_limit_bytes > 0)
    refuse(
        "--memory-limit limits the host's memory, of which CUDA reserves more than it uses; "
        "with --device cuda leave it away.");
  if (c.comm == "nccl" && !nccl::built()) refuse(fmt::format("--comm nccl: {}.", nccl::library()));
  // Ranks that are processes may be on hosts with more GPUs than this one: they look themselves.
  Training t;
  t.device = DeviceKind::cuda;
  t.options.collectives = collectives_named(c.collectives);
  check_device(t, of_processes(c) ? 1 : static_cast<int>(c.ranks));
}

}  // namespace shardmark
