// Which numbers go into a measured collective, and is what came out right? See
// collectives_inputs.hpp.
#include "bench/collectives_inputs.hpp"

namespace shardmark {

namespace {

// 1 to 16, and seldom the same for neighbours or in the next repetition: the leading bits of a
// multiple of 2^32 / golden ratio (Knuth, TAOCP 3, 6.4).
std::uint32_t base(std::size_t index, std::uint32_t salt) {
  return 1 + ((static_cast<std::uint32_t>(index) * 0x9E3779B1u + salt) >> 28);
}

std::uint32_t salt_of(const CheckedCall& c) { return c.repetition * 0x85EBCA6Bu; }

// Rank r gives (r + 1) times the base, so the sum is N (N + 1) / 2 times it: below 2^20 for 256
// ranks, and a rank that is counted twice or left out changes it.
std::uint32_t weight(int rank) { return static_cast<std::uint32_t>(rank) + 1; }

void write(std::span<float> to, std::size_t first, std::uint32_t salt, std::uint32_t times) {
  for (std::size_t i = 0; i < to.size(); ++i)
    to[i] = static_cast<float>(static_cast<std::int32_t>(base(first + i, salt) * times));
}

std::uint64_t differing(std::span<const float> is, std::size_t first, std::uint32_t salt,
                        std::uint32_t times) {
  std::uint32_t wrong = 0;  // an array has fewer elements than this can count
  for (std::size_t i = 0; i < is.size(); ++i) {
    const auto right = static_cast<float>(static_cast<std::int32_t>(base(first + i, salt) * times));
    wrong += is[i] == right ? 0u : 1u;
  }
  return wrong;
}

Range part(const CheckedCall& c, int rank, std::size_t elements) {
  const std::size_t each = elements / static_cast<std::size_t>(c.ranks);
  return {static_cast<std::size_t>(rank) * each, each};
}

}  // namespace

void fill_input(const CheckedCall& c, View whole) {
  const std::span<float> all = whole.host<float>();
  if (c.verb != Verb::all_gather) return write(all, 0, salt_of(c), weight(c.rank));
  for (float& x : all) x = -1;
  const Range mine = part(c, c.rank, all.size());
  write(all.subspan(mine.begin, mine.size), mine.begin, salt_of(c), weight(c.rank));
}

std::uint64_t wrong_elements(const CheckedCall& c, ConstView whole) {
  const std::span<const float> all = whole.host<float>();
  std::uint32_t sum = 0;
  for (int r = 0; r < c.ranks; ++r) sum += weight(r);
  const auto in = [&](Range r, std::uint32_t times) {
    return differing(all.subspan(r.begin, r.size), r.begin, salt_of(c), times);
  };
  if (c.verb == Verb::all_reduce) return in({0, all.size()}, sum);
  if (c.verb == Verb::reduce_scatter) return in(part(c, c.rank, all.size()), sum);
  std::uint64_t wrong = 0;
  for (int r = 0; r < c.ranks; ++r) wrong += in(part(c, r, all.size()), weight(r));
  return wrong;
}

}  // namespace shardmark
