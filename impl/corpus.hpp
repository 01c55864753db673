#pragma once
// Which bytes does a rank see in which step? A function of the seed and the number of the sample
// alone: N ranks with batch B see together what one rank with batch N B sees.
#include <cstdint>
#include <span>
#include <vector>

#include "impl/models/model.hpp"

namespace shardmark {

class Corpus {
 public:
  struct Shape {
    std::size_t batch = 1, sequence = 1;
    int ranks = 1, rank = 0, accumulate = 1, steps = 1;
    std::uint64_t seed = 1;
  };
  // bytes: at least sequence + 1.
  Corpus(std::span<const std::uint8_t> bytes, const Shape&);
  Batch batch(int step) const;  // stays valid as long as the corpus does

 private:
  int accumulate_;
  std::vector<std::int32_t> tokens_, targets_;  // (steps, accumulate, batch, sequence)
  std::vector<MicroBatch> micros_;
};

}  // namespace shardmark
