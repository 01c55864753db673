#pragma once
// What are the parameters now? Read out of a strategy's state, whole or cut; collective, for the
// host.
#include <functional>

#include "impl/rank.hpp"
#include "impl/state.hpp"

namespace shardmark {

// Calls see(number, values) for every parameter that has elements, home by home, so that only one
// home is whole at a time. What this gathers goes through the communicator: read its ledger before.
void export_parameters(Rank&, const Layout&, const State& parameters,
                       const std::function<void(int, ConstView)>& see);

// FNV-1a over the 32-bit words of f32 values.
std::uint64_t hash_of(std::span<const float> values);
std::uint64_t hash_of(std::span<const std::uint64_t> hashes);

}  // namespace shardmark
