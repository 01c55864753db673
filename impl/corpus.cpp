#include "impl/corpus.hpp"

namespace shardmark {
namespace {

// SplitMix64 (Steele, Lea and Flood 2014): one well-mixed number from a counter.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

ConstView view(const std::int32_t* at, std::size_t size) {
  return {reinterpret_cast<std::uintptr_t>(at), size, DType::i32, Space::host};
}

}  // namespace

Corpus::Corpus(std::span<const std::uint8_t> bytes, const Shape& s) : accumulate_(s.accumulate) {
  require(bytes.size() > s.sequence, "the corpus is shorter than one sequence");
  const auto micros = static_cast<std::size_t>(s.steps) * static_cast<std::size_t>(s.accumulate);
  const std::size_t rows = s.batch * s.sequence;
  tokens_.reserve(micros * rows);
  targets_.reserve(micros * rows);
  for (std::size_t m = 0; m < micros; ++m)
    for (std::size_t b = 0; b < s.batch; ++b) {
      const std::size_t sample =
          (m * static_cast<std::size_t>(s.ranks) + static_cast<std::size_t>(s.rank)) * s.batch + b;
      const std::size_t from = mixed(mixed(s.seed) + sample) % (bytes.size() - s.sequence);
      tokens_.insert(tokens_.end(), bytes.begin() + static_cast<std::ptrdiff_t>(from),
                     bytes.begin() + static_cast<std::ptrdiff_t>(from + s.sequence));
      targets_.insert(targets_.end(), bytes.begin() + static_cast<std::ptrdiff_t>(from + 1),
                      bytes.begin() + static_cast<std::ptrdiff_t>(from + 1 + s.sequence));
    }
  for (std::size_t m = 0; m < micros; ++m)
    micros_.push_back(
        {view(tokens_.data() + m * rows, rows), view(targets_.data() + m * rows, rows)});
}

Batch Corpus::batch(int step) const {
  const auto k = static_cast<std::size_t>(accumulate_), s = static_cast<std::size_t>(step);
  return {s, std::span(micros_).subspan(s * k, k)};
}

}  // namespace shardmark
