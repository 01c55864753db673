#pragma once
// What is one rank given? Everything it may use of the outside, passed down; there are no globals.
#include "impl/comm/communicator.hpp"
#include "impl/comm/world.hpp"

namespace shardmark {

struct Rank {
  World& world;
  Communicator& comm;
  Device& device;
};

}  // namespace shardmark
