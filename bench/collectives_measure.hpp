#pragma once
// How long does a collective take, and is its result right? Every call is timed on its own, from a
// barrier to the end on the slowest rank, and its result is checked element by element.
#include <nlohmann/json.hpp>
#include <vector>

#include "bench/collectives_cell.hpp"
#include "impl/comm/world.hpp"

namespace shardmark {

// What one rank measures with. The queues of the device are one: no hand-over is timed.
struct MeasuringRank {
  World& world;
  Device& device;
  std::vector<Communicator*> algorithms;  // in the order of cell.collectives
};

// One verb on one size by one algorithm, over all ranks.
struct MeasuredCalls {
  std::size_t verb, size, algorithm;    // indices into the cell
  std::vector<std::int64_t> time_ns{};  // a timed call each, the slowest rank's
  std::uint64_t wrong = 0;              // elements, on all ranks, in warm-up calls as well
};

struct Measured {
  std::vector<MeasuredCalls> calls;  // in the order verb, size, algorithm
  // A streaming copy on all ranks at once, in turn with the calls: what the memory can do. Empty
  // where no algorithm reads its peers' memory, or where a cache may hold the arrays.
  std::vector<std::int64_t> copy_ns{};
  std::uint64_t copy_traffic_bytes = 0;  // read and written by all ranks in one copy
};

// From this many bytes of all ranks' arrays on no cache holds them, so that memory is the limit.
inline constexpr std::uint64_t uncached_bytes = 128 << 20;

// All ranks call it, and all get the same.
Measured measure_collectives(const CollectivesCell&, const MeasuringRank&);

// The section "collectives" of the record.
nlohmann::json collectives_section(const CollectivesCell&, const Measured&);

}  // namespace shardmark
