#pragma once
// What do attention and its gradient share? The sizes of a tile, the scores of a tile, and who may
// see whom.
#include "table.hpp"
#include "tile.hpp"

namespace shardmark::cpu::SHARDMARK_ISA {

inline constexpr std::size_t tile_queries = attention_tile, tile_keys = attention_tile;
inline constexpr int query_vectors = static_cast<int>(tile_queries) / lanes;

SHARDMARK_INLINE std::size_t at_most(std::size_t a, std::size_t b) { return a < b ? a : b; }
SHARDMARK_INLINE std::size_t up(std::size_t a, std::size_t multiple) {
  return (a + multiple - 1) / multiple * multiple;
}

inline constexpr Lanes numbers = lane_by_lane([](int i) { return i; });

// A query sees no key behind it: there, `hidden`. Of the queries [query, query + lanes).
SHARDMARK_INLINE Floats mask(Floats x, std::size_t key, std::size_t query, Floats hidden) {
  const Ints at = numbers;
  return at >= static_cast<std::int32_t>(key) - static_cast<std::int32_t>(query) ? x : hidden;
}

// to(key, query) = or += sum over d of keys(key, d) queries(d, query). Vectors of queries that all
// come before a block of keys are left out; what is left there is masked later.
template <int part>
SHARDMARK_INLINE void scores(const float* keys, const float* queries, float* to, std::size_t key,
                             std::size_t count, std::size_t query, std::size_t depth, bool adds) {
  for (std::size_t j = 0; j < count; j += block_rows) {
    const std::size_t before = key + j > query ? key + j - query : 0;
    block_row<part, 1, static_cast<int>(tile_queries)>(
        depth, keys + j * part, queries, to + j * tile_queries, tile_queries, adds,
        static_cast<int>(before) / lanes, query_vectors);
  }
}

template <int ld, class T>
SHARDMARK_INLINE void store_rows(T* to, const float* from, std::size_t stride, std::size_t rows,
                                 std::size_t columns) {
  for (std::size_t r = 0; r < rows; ++r, to += stride, from += ld) {
    std::size_t c = 0;
    for (; c + lanes <= columns; c += lanes) store(to + c, load(from + c));
    for (; c < columns; ++c) store_one(to + c, from[c]);
  }
}

}  // namespace shardmark::cpu::SHARDMARK_ISA
