#include "impl/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "impl/eager.hpp"

namespace shardmark {
namespace {

bool is_floating(DType t) { return t == DType::f32 || t == DType::bf16 || t == DType::f16; }

DType narrowest(const Op& op) {
  const Access a = access_of(op);
  DType type = DType::f32;
  const auto see = [&type](const ConstView& v) {
    if (v && is_floating(v.dtype()) && size_of(v.dtype()) < size_of(type)) type = v.dtype();
  };
  for (const ConstView& v : a.reads) see(v);
  for (const View& v : a.writes) see(v);
  return type;
}

struct Bytes {
  template <class O>
  static double all(const O& o) {
    return o.access().bytes();
  }
  static double of(const ConstView& v) { return static_cast<double>(v.bytes()); }

  // What is updated in place is read and written.
  double operator()(const Add& o) const { return all(o) + of(o.to); }
  double operator()(const AdamW& o) const {
    return all(o) + of(o.weight) * (o.master ? 0 : 1) + of(o.master) + of(o.first) + of(o.second);
  }
  double operator()(const Matmul& o) const {
    return all(o) - of(o.scratch) + (o.adds ? of(o.c) : 0);
  }
  // Of a table only the rows that are looked up.
  double operator()(const Embed& o) const { return of(o.tokens) + 3 * of(o.out); }
  double operator()(const EmbedBackward& o) const { return of(o.tokens) + 3 * of(o.grad); }
  double operator()(const LayerNormBackward& o) const { return all(o) - of(o.scratch) + of(o.dx); }
  double operator()(const RmsNormBackward& o) const { return all(o) - of(o.scratch) + of(o.dx); }
  double operator()(const Rotary& o) const { return all(o) + of(o.x); }
  double operator()(const GeluBackward& o) const { return all(o) + of(o.grad); }
  double operator()(const AttentionBackward& o) const { return all(o) - of(o.scratch); }
  double operator()(const CrossEntropyBackward& o) const { return all(o) + of(o.logits); }
  template <class O>
  double operator()(const O& o) const {
    return all(o);
  }
};

// n - 1 rounds, in each of which every rank sends an n-th: a reduce-scatter or an all-gather.
struct Ring {
  double latency_ns = 0, moving_ns = 0;
  Ring(const Lane& lane, double payload, double n)
      : latency_ns((n - 1) * lane.latency_ns),
        moving_ns(payload * (n - 1) / n / lane.bytes_per_ns) {}
};

Cost inside_a_node(const Cluster& c, double payload, double n) {
  const Ring ring(c.inside, payload, n);
  Cost cost;
  cost.latency_ns = ring.latency_ns, cost.inside_ns = ring.moving_ns;
  return cost;
}

// What crosses a node's border, by all of its lanes; ranks fill nodes, so the last one may have
// fewer GPUs, and whatever goes around goes through it.
double crossing_of(const Cluster& c, int ranks) {
  const int rest = ranks % c.gpus_per_node;
  return c.between.bytes_per_ns * (rest > 0 ? rest : std::min(ranks, c.gpus_per_node));
}

bool is_bound_by_network(const Cluster& c, double crossing) {
  return c.gpus_per_node == 1 || crossing < c.inside.bytes_per_ns;
}

// A ring that crosses each node's border once, made once a GPU with another start: so every one of
// the node's lanes carries it.
Cost flat_ring(const Cluster& c, double payload, int ranks) {
  const double crossing = crossing_of(c, ranks);
  const bool network = is_bound_by_network(c, crossing);
  // Nobody is beside a GPU that is alone in its node.
  const double inside_ns = c.gpus_per_node == 1 ? 0 : c.inside.latency_ns;
  const Ring ring(
      {network ? crossing : c.inside.bytes_per_ns, std::max(inside_ns, c.between.latency_ns)},
      payload, ranks);
  Cost cost;
  cost.latency_ns = ring.latency_ns;
  (network ? cost.between_ns : cost.inside_ns) = ring.moving_ns;
  return cost;
}

// A node's GPUs first, each on all of the array; then GPUs of the same place in all nodes, each on
// its share.
Cost ring_of_rings(const Cluster& c, double payload, double local, double nodes) {
  Cost cost = inside_a_node(c, payload, local);
  const Ring across(c.between, payload / local, nodes);
  cost.latency_ns += across.latency_ns, cost.between_ns += across.moving_ns;
  return cost;
}

Cost cheaper(const Cost& a, const Cost& b) { return b.ns() < a.ns() ? b : a; }

// A reduce-scatter or an all-gather.
Cost one_way(const Cluster& c, double payload, int ranks) {
  const double n = ranks, local = std::min(ranks, c.gpus_per_node);
  if (ranks <= c.gpus_per_node) return inside_a_node(c, payload, n);
  const Cost flat = flat_ring(c, payload, ranks);
  // Rings of rings need nodes that are full.
  if (ranks % c.gpus_per_node != 0) return flat;
  return cheaper(flat, ring_of_rings(c, payload, local, n / local));
}

// Up and down again; in each of its halves every rank sends the array once.
Cost tree(const Cluster& c, double payload, int ranks) {
  const double local = std::min(ranks, c.gpus_per_node);
  const double nodes = std::ceil(static_cast<double>(ranks) / c.gpus_per_node);
  const double crossing = crossing_of(c, ranks);
  Cost cost;
  cost.latency_ns = 2 * (std::ceil(std::log2(local)) * c.inside.latency_ns +
                         std::ceil(std::log2(nodes)) * c.between.latency_ns);
  if (nodes > 1 && is_bound_by_network(c, crossing))
    cost.between_ns = 2 * payload / crossing;
  else
    cost.inside_ns = 2 * payload / c.inside.bytes_per_ns;
  return cost;
}

double byte_ns(const OpCost& cost, const Placement& p) {
  return cost.ns_per_byte + p.cold_share * cost.ns_per_cold_byte;
}

Cost measured(const OpCost& verb_cost, Verb verb, double payload, const Placement& p) {
  Cost cost;
  cost.latency_ns = verb_cost.launch_ns;
  cost.inside_ns = volume_of(verb, payload, p.ranks) * byte_ns(verb_cost, p);
  return cost;
}

bool is_attention(const Op& op) {
  return std::holds_alternative<Attention>(op) || std::holds_alternative<AttentionBackward>(op);
}

double rate_of(const Cluster& c, const Op& op) {
  const DType type = narrowest(op);
  if (is_attention(op))
    if (const auto own = c.attention_flops_per_ns.find(type); own != c.attention_flops_per_ns.end())
      return own->second;
  const auto rate = c.achieved_flops_per_ns.find(type);
  if (rate == c.achieved_flops_per_ns.end())
    throw InputError(
        fmt::format("cluster {} has no matrix rate for {}; give one, or train in another "
                    "--precision.",
                    c.name, name(type)));
  return rate->second;
}

// A roofline whose two sides add up: what a kernel reads before its products and writes behind them
// is not hidden by them. What was measured is fitted in the same form.
Cost by_rates(const Cluster& c, const Op& op, double work) {
  Cost cost;
  cost.launch_ns = c.launch_ns;
  if (work > 0) cost.matrix_ns = work / rate_of(c, op);
  const double bytes = traffic_bytes(op) + (c.eager ? eager_bytes(op) : 0);
  cost.memory_ns = bytes / c.memory_bytes_per_ns;
  return cost;
}

}  // namespace

Cost& Cost::operator+=(const Cost& o) {
  matrix_ns += o.matrix_ns, memory_ns += o.memory_ns, launch_ns += o.launch_ns;
  inside_ns += o.inside_ns, between_ns += o.between_ns, latency_ns += o.latency_ns;
  return *this;
}

double cold_share_of(double held_bytes, double cache_bytes) {
  return held_bytes > cache_bytes ? 1 - cache_bytes / held_bytes : 0;
}

std::string kind_of(const Op& op) {
  std::string kind(name(op));
  if (const auto* product = std::get_if<Matmul>(&op))
    kind += fmt::format("_{}{}", product->ta ? 't' : 'n', product->tb ? 't' : 'n');
  return fmt::format("{}/{}", kind, name(narrowest(op)));
}

double volume_of(Verb verb, double payload, double ranks) {
  return (verb == Verb::all_reduce ? 2 : 1) * payload * (ranks - 1) / ranks;
}

double traffic_bytes(const Op& op) { return std::visit(Bytes{}, op); }

Cost cost_of(const Cluster& c, const Op& op, const Placement& p) {
  if (const auto* transfer = std::get_if<Transfer>(&op))
    return collective_cost(c, transfer->carries.verb,
                           static_cast<double>(transfer->carries.bytes()), p);
  const double work = flops(op);
  if (c.ops.empty()) return by_rates(c, op, work);
  const auto known = c.ops.find(kind_of(op));
  if (known == c.ops.end()) return by_rates(c, op, work);
  Cost cost;
  cost.launch_ns = known->second.launch_ns;
  cost.matrix_ns = work * known->second.ns_per_flop;
  cost.memory_ns = traffic_bytes(op) * byte_ns(known->second, p);
  return cost;
}

Cost collective_cost(const Cluster& c, Verb verb, double payload, const Placement& p) {
  if (p.ranks < 2) return {};
  const auto known = c.verbs.find(verb);
  if (known != c.verbs.end() && p.ranks <= c.gpus_per_node)
    return measured(known->second, verb, payload, p);
  Cost cost = one_way(c, payload, p.ranks);
  if (verb != Verb::all_reduce) return cost;
  cost += Cost(cost);
  return p.rings_only ? cost : cheaper(cost, tree(c, payload, p.ranks));
}

}  // namespace shardmark
