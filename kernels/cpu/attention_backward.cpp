// What flows back through causal self-attention? Probabilities are computed again from the kept
// log-sum-exp, tile by tile (Dao et al. 2022, algorithm 4): with p the probabilities and g the
// gradient of the output, dv = p^T g, ds = p (g v^T - rowsum(g out)) / sqrt(head_dim), dq = ds k,
// dk = ds^T q. dk and dv are summed over the query heads of a group. Compiled once for each
// instruction set.
#include "attention_tile.hpp"
#include "kernels.hpp"
#include "vectors.hpp"

namespace shardmark::cpu::SHARDMARK_ISA {

namespace {

constexpr float log2_of_e = 1.442695041f;

// Sums of a gradient in f32: (parts, rows, part). Rows and columns that fill no tile are there, so
// that a block is always whole.
template <int part>
struct Sums {
  float* at;
  std::size_t rows;
  float* block(std::size_t row, std::size_t column) const {
    return at + column * rows + row * part;
  }
  template <class T>
  void put(T* to, std::size_t stride, std::size_t count, std::size_t columns) const {
    for (std::size_t d = 0; d < columns; d += part)
      store_rows<part>(to + d, block(0, d), stride, count, at_most(columns - d, part));
  }
};

// 64 queries of one head against every tile of keys that they see; `part` columns of the head at a
// time.
template <class T, int part>
class QueryTile {
 public:
  QueryTile(const AttentionGroup<T>& group, std::size_t head, std::size_t begin, Sums<part> dq,
            Sums<part> dk, Sums<part> dv)
      : group_(group),
        q_(group.q + begin * group.stride + head * group.head_dim),
        grad_(group.grad + begin * group.out_stride + head * group.head_dim),
        out_(group.out + begin * group.out_stride + head * group.head_dim),
        first_(head == 0),
        begin_(begin),
        count_(at_most(group.sequence - begin, tile_queries)),
        scale_(1.0f / __builtin_sqrtf(static_cast<float>(group.head_dim))),
        dq_(dq),
        dk_(dk),
        dv_(dv) {
    const float* lse = group.lse + head * group.sequence + begin;
    for (std::size_t q = 0; q < tile_queries; ++q) {
      lse_[q] = q < count_ ? lse[q] * log2_of_e : 0;
      product_[q] = q < count_ ? product_of_row(q) : 0;
    }
  }

  void run() {
    const std::size_t end = begin_ + count_;
    for (std::size_t key = 0; key < end; key += tile_keys) {
      const std::size_t keys = at_most(end - key, tile_keys);
      for (std::size_t d = 0; d < group_.head_dim; d += part) score(key, keys, d);
      softmax(key, keys);
      for (std::size_t d = 0; d < group_.head_dim; d += part) gather(key, keys, d);
    }
  }

 private:
  bool one_part() const { return group_.head_dim <= part; }

  float product_of_row(std::size_t query) const {
    const T *g = grad_ + query * group_.out_stride, *o = out_ + query * group_.out_stride;
    return sum_of_vectors(group_.head_dim, [&](std::size_t i, auto vector) {
      return vector.from(g + i) * vector.from(o + i);
    });
  }

  // Tiles of this part of the head; with one part, those of the queries stay.
  void load_keys(std::size_t key, std::size_t keys, std::size_t d, std::size_t columns) {
    load_rows<part>(keys_, group_.k + key * group_.stride + d, group_.stride, keys, columns,
                    up(keys, block_rows));
  }
  void load_queries(std::size_t d, std::size_t columns) {
    load_rows<part>(queries_, q_ + d, group_.stride, count_, columns, tile_queries);
    load_rows<part>(grads_, grad_ + d, group_.out_stride, count_, columns, tile_queries);
  }

  void score(std::size_t key, std::size_t keys, std::size_t d) {
    const std::size_t columns = at_most(group_.head_dim - d, part);
    load_keys(key, keys, d, columns);
    load_rows<part>(values_, group_.v + key * group_.stride + d, group_.stride, keys, columns,
                    up(keys, block_rows));
    if (key == 0 || !one_part()) {
      load_transposed<tile_queries>(queries_across_, q_ + d, group_.stride, count_, columns,
                                    tile_queries, scale_ * log2_of_e);
      load_transposed<tile_queries>(grads_across_, grad_ + d, group_.out_stride, count_, columns,
                                    tile_queries, 1.0f);
    }
    if (key == 0 && one_part()) load_queries(d, columns);
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
    const std::size_t columns = at_most(group_.head_dim - d, part);
    if (!one_part()) {
      load_keys(key, keys, d, columns);
      load_queries(d, columns);
    }
    const int vectors = static_cast<int>(up(columns, lanes) / lanes);
    for (std::size_t j = 0; j < keys; j += block_rows) {
      // Queries before these keys have probability 0; the first tile of queries that sees a key
      // sets its gradient.
      const std::size_t first = key + j > begin_ ? key + j - begin_ : 0;
      const std::size_t seen = count_ - at_most(first, count_);
      const bool adds = key + j < begin_ || !first_;
      block_row<static_cast<int>(tile_queries), 1, part>(
          seen, p_ + j * tile_queries + first, grads_ + first * part, dv_.block(key + j, d), part,
          adds, 0, vectors);
      block_row<static_cast<int>(tile_queries), 1, part>(
          seen, ds_ + j * tile_queries + first, queries_ + first * part, dk_.block(key + j, d),
          part, adds, 0, vectors);
    }
    for (std::size_t q = 0; q < count_; q += block_rows) {
      const std::size_t seen = at_most(begin_ + q + block_rows - key, keys);
      block_row<1, static_cast<int>(tile_queries), part>(seen, ds_ + q, keys_, dq_.block(q, d),
                                                         part, key > 0, 0, vectors);
    }
  }

  const AttentionGroup<T>& group_;
  const T *q_, *grad_, *out_;  // of these queries
  bool first_;                 // of its group
  std::size_t begin_, count_;
  float scale_;
  Sums<part> dq_, dk_, dv_;
  alignas(64) float lse_[tile_queries], product_[tile_queries];
  alignas(64) float queries_across_[part * tile_queries],
      grads_across_[part * tile_queries];                                         // (part, queries)
  alignas(64) float queries_[tile_queries * part], grads_[tile_queries * part];   // (queries, part)
  alignas(64) float keys_[tile_keys * part], values_[tile_keys * part];           // (keys, part)
  alignas(64) float p_[tile_keys * tile_queries], ds_[tile_keys * tile_queries];  // (keys, queries)
};

template <int part, class T>
void whole_group(const AttentionGroup<T>& group) {
  const std::size_t rows = up(group.sequence, tile_keys), columns = up(group.head_dim, part);
  const Sums<part> dk{group.sums, rows}, dv{dk.at + rows * columns, rows},
      dq{dv.at + rows * columns, tile_queries};
  for (std::size_t head = 0; head < group.heads; ++head) {
    for (std::size_t q = 0; q < group.sequence; q += tile_queries) {
      QueryTile<T, part>(group, head, q, dq, dk, dv).run();
      dq.put(group.dq + q * group.stride + head * group.head_dim, group.stride,
             at_most(group.sequence - q, tile_queries), group.head_dim);
    }
  }
  dk.put(group.dk, group.stride, group.sequence, group.head_dim);
  dv.put(group.dv, group.stride, group.sequence, group.head_dim);
}

}  // namespace

template <class T>
void attention_backward(const AttentionGroup<T>& group) {
  constexpr int narrow = attention_part(1), wide = attention_part(attention_tile);
  return attention_part(group.head_dim) == narrow ? whole_group<narrow>(group)
                                                  : whole_group<wide>(group);
}
template void attention_backward(const AttentionGroup<float>&);
template void attention_backward(const AttentionGroup<Bf16>&);
template void attention_backward(const AttentionGroup<F16>&);

}  // namespace shardmark::cpu::SHARDMARK_ISA
