#pragma once
// Which timeline would it have been if every interval had begun as early as its events allow? An
// ideal to hold the real one against: nobody waits for a peer, for a core or for the host.
#include "timeline.hpp"

namespace shardmark {

// Every interval keeps its lane, its place in it and its length, less its skew: waiting for another
// rank is not ideal. It begins when the one before it in its lane and all that it comes after have
// ended. The first begins at 0.
Timeline replay(const Timeline&);

}  // namespace shardmark
