// What flows back through causal self-attention? Probabilities are computed again from the kept
// log-sum-exp, tile by tile (Dao et al. 2022, algorithm 4): with p the probabilities and g the
// gradient of the output, dv = p^T g, ds = p (g v^T - rowsum(g out)) / sqrt(head_dim), dq = ds k,
// dk = ds^T q. Compiled once for each instruction set.
#include "attention_tile.hpp"
#include "kernels.hpp"

namespace shardmark::cpu::SHARDMARK_ISA {

namespace {

constexpr float log2_of_e = 1.442695041f;

// 64 queries of one head against every tile of keys that they see; `part` columns of the head at a
// time.
template <int part>
class QueryTile {
 public:
  QueryTile(const AttentionHead& head, std::size_t begin)
      : head_(head),
        begin_(begin),
        count_(at_most(head.sequence - begin, tile_queries)),
        scale_(1.0f / __builtin_sqrtf(static_cast<float>(head.head_dim))) {
    for (std::size_t q = 0; q < tile_queries; ++q) {
      lse_[q] = q < count_ ? head.lse[begin + q] * log2_of_e : 0;
      product_[q] = q < count_ ? product_of_row(begin + q) : 0;
    }
  }

  void run() {
    const std::size_t end = begin_ + count_;
    for (std::size_t key = 0; key < end; key += tile_keys) {
      const std::size_t keys = at_most(end - key, tile_keys);
      for (std::size_t d = 0; d < head_.head_dim; d += part) score(key, keys, d);
      softmax(key, keys);
      for (std::size_t d = 0; d < head_.head_dim; d += part) gather(key, keys, d);
    }
  }

 private:
  bool one_part() const { return head_.head_dim <= part; }

  float product_of_row(std::size_t query) const {
    const float *g = head_.grad + query * head_.out_stride,
                *o = head_.out + query * head_.out_stride;
    Floats s = Floats{};
    std::size_t i = 0;
    for (; i + lanes <= head_.head_dim; i += lanes) s += load(g + i) * load(o + i);
    float rest = 0;
    for (; i < head_.head_dim; ++i) rest += g[i] * o[i];
    return sum(s) + rest;
  }

  // Tiles of this part of the head; with one part, those of the queries stay.
  void load_part(std::size_t key, std::size_t keys, std::size_t d, std::size_t columns) {
    const std::size_t from = key * head_.stride + d, padded = up(keys, block_rows);
    load_rows<part>(keys_, head_.k + from, head_.stride, keys, columns, padded);
    load_rows<part>(values_, head_.v + from, head_.stride, keys, columns, padded);
    if (key > 0 && one_part()) return;
    const float *q = head_.q + begin_ * head_.stride + d,
                *g = head_.grad + begin_ * head_.out_stride + d;
    load_transposed<tile_queries>(queries_across_, q, head_.stride, count_, columns, tile_queries,
                                  scale_ * log2_of_e);
    load_transposed<tile_queries>(grads_across_, g, head_.out_stride, count_, columns, tile_queries,
                                  1.0f);
    load_rows<part>(queries_, q, head_.stride, count_, columns, tile_queries);
    load_rows<part>(grads_, g, head_.out_stride, count_, columns, tile_queries);
  }

  void score(std::size_t key, std::size_t keys, std::size_t d) {
    const std::size_t columns = at_most(head_.head_dim - d, part);
    load_part(key, keys, d, columns);
    scores<part>(keys_, queries_across_, p_, key, keys, begin_, columns, d > 0);
    scores<part>(values_, grads_across_, ds_, key, keys, begin_, columns, d > 0);
  }

  void softmax(std::size_t key, std::size_t keys) {
    const bool diagonal = key + keys > begin_ + 1;
    const Exp2 exp2;
    for (std::size_t j = 0; j < up(keys, block_rows); ++j) {
      for (int v = 0; v < query_vectors; ++v) {
        float *p = p_ + j * tile_queries + v * lanes, *ds = ds_ + j * tile_queries + v * lanes;
        Floats s = load(p), g = load(ds);
        if (diagonal) {
          s = mask(s, key + j, begin_ + v * lanes, all(-__builtin_inff()));
          g = mask(g, key + j, begin_ + v * lanes, Floats{});
        }
        const Floats probability = exp2.below(s - load(lse_ + v * lanes));
        store(p, probability);
        store(ds, probability * (g - load(product_ + v * lanes)) * scale_);
      }
    }
  }

  void gather(std::size_t key, std::size_t keys, std::size_t d) {
    const std::size_t columns = at_most(head_.head_dim - d, part);
    if (!one_part()) load_part(key, keys, d, columns);
    for (std::size_t j = 0; j < keys; j += block_rows) {
      // Queries before these keys have probability 0; the first tile of queries that sees a key
      // sets its gradient.
      const std::size_t first = key + j > begin_ ? key + j - begin_ : 0,
                        rows = at_most(keys - j, block_rows);
      const std::size_t seen = count_ - at_most(first, count_), to = (key + j) * head_.stride + d;
      const bool adds = key + j < begin_;
      into<static_cast<int>(tile_queries), 1>(seen, p_ + j * tile_queries + first,
                                              grads_ + first * part, head_.dv + to, rows, columns,
                                              adds);
      into<static_cast<int>(tile_queries), 1>(seen, ds_ + j * tile_queries + first,
                                              queries_ + first * part, head_.dk + to, rows, columns,
                                              adds);
    }
    for (std::size_t q = 0; q < count_; q += block_rows) {
      const std::size_t seen = at_most(begin_ + q + block_rows - key, keys),
                        rows = at_most(count_ - q, block_rows);
      into<1, static_cast<int>(tile_queries)>(
          seen, ds_ + q, keys_, head_.dq + (begin_ + q) * head_.stride + d, rows, columns, key > 0);
    }
  }

  // A block of rows into the gradient, directly where it is whole.
  template <int row, int step>
  SHARDMARK_INLINE void into(std::size_t depth, const float* a, const float* b, float* to,
                             std::size_t rows, std::size_t columns, bool adds) {
    const int vectors = static_cast<int>(up(columns, lanes) / lanes);
    if (rows == block_rows && columns % lanes == 0) {
      block_row<row, step, part>(depth, a, b, to, head_.stride, adds, 0, vectors);
      return;
    }
    alignas(64) float edge[block_rows * part];
    if (adds) load_rows<part>(edge, to, head_.stride, rows, columns, block_rows);
    block_row<row, step, part>(depth, a, b, edge, part, adds, 0, vectors);
    store_rows<part>(to, edge, head_.stride, rows, columns);
  }

  const AttentionHead& head_;
  std::size_t begin_, count_;
  float scale_;
  alignas(64) float lse_[tile_queries], product_[tile_queries];
  alignas(64) float queries_across_[part * tile_queries],
      grads_across_[part * tile_queries];                                         // (part, queries)
  alignas(64) float queries_[tile_queries * part], grads_[tile_queries * part];   // (queries, part)
  alignas(64) float keys_[tile_keys * part], values_[tile_keys * part];           // (keys, part)
  alignas(64) float p_[tile_keys * tile_queries], ds_[tile_keys * tile_queries];  // (keys, queries)
};

}  // namespace

void attention_backward(const AttentionHead& head) {
  for (std::size_t q = 0; q < head.sequence; q += tile_queries) {
    if (head.head_dim <= 32) {
      QueryTile<32>(head, q).run();
    } else {
      QueryTile<64>(head, q).run();
    }
  }
}

}  // namespace shardmark::cpu::SHARDMARK_ISA
