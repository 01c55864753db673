#pragma once
// What does work cost on machines that are not here? Compute by roofline, op by op; collectives by
// latency and bandwidth (Hockney 1994), the better of a flat ring, a ring of rings over nodes and,
// for an all-reduce, a tree (Thakur, Rabenseifner and Gropp 2005, sections 3 and 4).
#include <map>
#include <string>

#include "kernels/op.hpp"

namespace shardmark {

// One direction of what one GPU can use of it.
struct Lane {
  double bytes_per_ns = 0, latency_ns = 0;  // GB/s
};

struct Cluster {
  std::string name;
  int gpus_per_node = 1;
  double memory_bytes = 0;  // of one GPU
  // Of matrix products, by their type; a TFLOP/s is 1000.
  std::map<DType, double> peak_flops_per_ns, achieved_flops_per_ns;
  double memory_bytes_per_ns = 0;  // read and written together
  double launch_ns = 0;            // before each op
  Lane inside, between;            // a node's GPUs, nodes
  // Compute takes so many times as long while a collective runs beside it.
  double contention = 1;
  std::map<std::string, std::string> sources;  // by figure
};

// Without collectives: those are the next one's. InputError where the cluster has no rate for the
// type of the product.
double op_ns(const Cluster&, const Op&);

// payload: bytes of the verb's whole array. Nothing for one rank.
double collective_ns(const Cluster&, Verb, double payload, int ranks);

}  // namespace shardmark
