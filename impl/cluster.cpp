#include "impl/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace shardmark {
namespace {

// What an op multiplies in: the type of what it reads.
DType type_of(const Op& op) { return access_of(op).reads[0].dtype(); }

// n - 1 rounds, in each of which every rank sends an n-th: a reduce-scatter or an all-gather.
double ring_ns(const Lane& lane, double payload, double n) {
  return (n - 1) * lane.latency_ns + payload * (n - 1) / n / lane.bytes_per_ns;
}

// A node's GPUs first, each on all of the array; then GPUs of the same place in all nodes, each on
// its share.
double ring_of_rings_ns(const Cluster& c, double payload, double local, double nodes) {
  return ring_ns(c.inside, payload, local) + ring_ns(c.between, payload / local, nodes);
}

// A ring that crosses each node's border once, made once a GPU with another start: so every one of
// the node's lanes carries it.
double flat_ring_ns(const Cluster& c, double payload, double ranks, double local) {
  const Lane slowest{std::min(c.inside.bytes_per_ns, c.between.bytes_per_ns * local),
                     std::max(c.inside.latency_ns, c.between.latency_ns)};
  return ring_ns(slowest, payload, ranks);
}

double one_way_ns(const Cluster& c, double payload, int ranks) {
  const double n = ranks, local = std::min(ranks, c.gpus_per_node);
  if (ranks <= c.gpus_per_node) return ring_ns(c.inside, payload, n);
  const double flat = flat_ring_ns(c, payload, n, local);
  // Rings of rings need nodes that are full.
  if (ranks % c.gpus_per_node != 0) return flat;
  return std::min(flat, ring_of_rings_ns(c, payload, local, n / local));
}

// Up and down again; in each of its halves every rank sends the array once.
double tree_ns(const Cluster& c, double payload, int ranks) {
  const bool here = ranks <= c.gpus_per_node;
  const double local = std::min(ranks, c.gpus_per_node);
  const double nodes = std::ceil(static_cast<double>(ranks) / c.gpus_per_node);
  const double latency = std::log2(std::max(local, 1.0)) * c.inside.latency_ns +
                         std::ceil(std::log2(nodes)) * c.between.latency_ns;
  const double rate = here ? c.inside.bytes_per_ns
                           : std::min(c.inside.bytes_per_ns, c.between.bytes_per_ns * local);
  return 2 * (latency + payload / rate);
}

}  // namespace

double op_ns(const Cluster& c, const Op& op) {
  const double moved = access_of(op).bytes() / c.memory_bytes_per_ns;
  const double work = flops(op);
  if (work == 0) return c.launch_ns + moved;
  const auto rate = c.achieved_flops_per_ns.find(type_of(op));
  if (rate == c.achieved_flops_per_ns.end())
    throw InputError(
        fmt::format("cluster {} has no matrix rate for {}.", c.name, name(type_of(op))));
  return c.launch_ns + std::max(work / rate->second, moved);
}

double collective_ns(const Cluster& c, Verb verb, double payload, int ranks) {
  if (ranks < 2) return 0;
  const double one_way = one_way_ns(c, payload, ranks);
  if (verb != Verb::all_reduce) return one_way;
  return std::min(2 * one_way, tree_ns(c, payload, ranks));
}

}  // namespace shardmark
