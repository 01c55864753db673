#pragma once
// What is one measurement of collectives? All that runs in one process or one MPI world: one
// communicator, one number of ranks, one link; verbs, sizes and algorithms are interleaved in it.
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "impl/comm/communicator.hpp"

namespace shardmark {

struct CollectivesCell {
  std::string comm = "thread";
  std::int64_t ranks = 2;
  std::string link = "none";
  std::vector<std::string> collectives;  // memory, ring, library: those that are compared
  std::vector<std::string> verbs;
  std::vector<std::uint64_t> sizes_bytes;  // rising
  std::int64_t repeats = 5, warmup = 2;    // repeats: of the largest sizes; see timed_calls()
  std::uint64_t seed = 1;                  // of the order of calls
  double timeout_s = 600, comm_timeout_s = 60;
  std::string launcher = "none", network;  // as in a cell of training
  bool operator==(const CollectivesCell&) const = default;
};

std::string id_of(const CollectivesCell&);
nlohmann::json to_json(const CollectivesCell&);
// Is this the JSON of such a cell, and not of a training's?
bool is_collectives_cell(const nlohmann::json&);
// Throws InputError: a key that is missing, unknown or of the wrong type.
CollectivesCell collectives_cell_from_json(const nlohmann::json&);

inline constexpr std::uint64_t most_collective_bytes = 1u << 30;

// Those that a communicator can run on a link, the first one the usual one.
std::vector<std::string> possible_collectives(const std::string& comm, const std::string& link);
const std::vector<std::string>& collective_verbs();  // their names, in the order of tables

// How often a verb on so many bytes is timed: repeats from 16 MiB on, and twice, 4 and 8 times that
// from 1 MiB, from 64 KiB and below.
std::int64_t timed_calls(std::int64_t repeats, std::uint64_t size_bytes);

Verb verb_named(const std::string&);                // throws InputError
Collectives collectives_named(const std::string&);  // throws InputError

// A verb on so many bytes has this many elements of f32: any count for all_reduce, a multiple of N
// for the two others.
std::size_t elements_of(Verb, std::uint64_t size_bytes, std::int64_t ranks);

// As typed, by flag: --verb, --size, --ranks, --comm, --collectives, --link, --repeats, --seed,
// --timeout, --comm-timeout, --launcher, --network.
using CollectivesFlags = std::map<std::string, std::string>;
// One cell for each communicator, number of ranks and link. Throws InputError.
std::vector<CollectivesCell> collectives_cells(const CollectivesFlags&);

// "4B,1KiB,1MiB" or "4B..64MiB", which goes by factors of 4 and ends exactly there.
std::vector<std::uint64_t> sizes_in(const std::string& flag, const std::string& text);

}  // namespace shardmark
