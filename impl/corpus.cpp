#include "impl/corpus.hpp"

#include "kernels/counter_random.hpp"

namespace shardmark {
namespace {

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
      const std::size_t from =
          scramble(scramble(s.seed + golden) + golden * (sample + 1)) % (bytes.size() - s.sequence);
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
