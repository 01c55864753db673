#pragma once
// What does work cost on machines that are not here? Compute op by op, by its products and its
// bytes, whose rates are stated or measured; collectives by latency and bandwidth (Hockney 1994),
// the better of a flat ring, a ring of rings over nodes and, for an all-reduce, a tree (Thakur,
// Rabenseifner and Gropp 2005, sections 3 and 4).
#include <map>
#include <string>

#include "kernels/op.hpp"

namespace shardmark {

// One direction of what one GPU can use of it.
struct Lane {
  double bytes_per_ns = 0, latency_ns = 0;  // GB/s
};

// ns = launch + flops * per_flop + bytes * (per_byte + per_cold_byte where no cache has them).
struct OpCost {
  double launch_ns = 0, ns_per_flop = 0, ns_per_byte = 0, ns_per_cold_byte = 0;
};

struct Cluster {
  std::string name;
  int gpus_per_node = 1;
  double memory_bytes = 0;  // of one GPU
  // Of matrix products, by their type; a TFLOP/s is 1000.
  std::map<DType, double> peak_flops_per_ns, achieved_flops_per_ns;
  // Of the products inside of attention, which wait for a softmax; without one, as of any other.
  std::map<DType, double> attention_flops_per_ns;
  double peak_memory_bytes_per_ns = 0, memory_bytes_per_ns = 0;  // read and written together
  double launch_ns = 0;                                          // before each op
  bool eager = false;    // each step of an op is a kernel of its own: eager_bytes()
  Lane inside, between;  // a node's GPUs, nodes
  // Compute takes so many times as long while a collective runs beside it.
  double contention = 1;
  std::map<std::string, OpCost> ops;  // measured, by kind_of(); all others by the rates above
  std::map<Verb, OpCost> verbs;       // measured inside a node: a call, and bytes of volume
  double cache_bytes = 0;             // the last one of a node; for what is measured
  std::string cpu;                    // that was measured; empty: figures were written down
  std::map<std::string, std::string> sources;  // by figure
};

// What a cell is to a cluster.
struct Placement {
  int ranks = 1;
  double cold_share = 0;    // cold_share_of() what its ranks hold
  bool rings_only = false;  // collectives are this program's own rings, and never trees
};

// Where time goes: what would have to be faster.
struct Cost {
  double matrix_ns = 0, memory_ns = 0, launch_ns = 0;    // of computing
  double inside_ns = 0, between_ns = 0, latency_ns = 0;  // of collectives
  double ns() const {
    return matrix_ns + memory_ns + launch_ns + inside_ns + between_ns + latency_ns;
  }
  Cost& operator+=(const Cost&);
};

// The part of a step's bytes that no cache still has, where so many bytes take turns in one: all
// but what fits. held_bytes: of all ranks that share the cache.
double cold_share_of(double held_bytes, double cache_bytes);

// Which ops have one cost: name, transposes, and the narrowest floating type in it,
// "matmul_tn/bf16".
std::string kind_of(const Op&);
// Bytes that an op must read and write in memory: what it adds to counts twice, scratch does not.
double traffic_bytes(const Op&);

// InputError where the cluster has no rate for the type of a product.
Cost cost_of(const Cluster&, const Op&, const Placement&);

// Bytes that each rank sends, whose parts are equal; payload: of the verb's whole array.
double volume_of(Verb, double payload, double ranks);

// payload: bytes of the verb's whole array. Nothing for one rank.
Cost collective_cost(const Cluster&, Verb, double payload, const Placement&);

}  // namespace shardmark
