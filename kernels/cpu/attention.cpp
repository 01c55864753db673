// What does causal self-attention compute, without ever holding the T x T matrix? Online softmax
// over tiles of keys (Milakov and Gimelshein 2018; Dao et al. 2022). Scores are kept transposed,
// keys down and queries across: then K and V are read as they stand, and the softmax of a query
// runs along its lane. Compiled once for each instruction set.
#include "attention_tile.hpp"
#include "kernels.hpp"

namespace shardmark::cpu::SHARDMARK_ISA {

namespace {

// 64 queries of one head; `part` columns of the head at a time, and `parts` parts of the output,
// from column `from` on.
template <class T, int part, int parts>
class QueryTile {
 public:
  QueryTile(const AttentionHead<T>& head, std::size_t begin, std::size_t from)
      : head_(head),
        begin_(begin),
        count_(at_most(head.sequence - begin, tile_queries)),
        from_(from),
        width_(at_most(head.head_dim - from, part * parts)) {
    for (int v = 0; v < query_vectors; ++v) {
      most_[v] = all(-__builtin_inff());
      total_[v] = Floats{};
    }
  }

  void run() {
    const std::size_t end = begin_ + count_;
    for (std::size_t key = 0; key < end; key += tile_keys) {
      const std::size_t keys = at_most(end - key, tile_keys);
      score(key, keys);
      softmax(key, keys);
      gather(key, keys);
    }
    finish();
  }

 private:
  void score(std::size_t key, std::size_t keys) {
    for (std::size_t d = 0; d < head_.head_dim; d += part) {
      const std::size_t columns = at_most(head_.head_dim - d, part);
      if (key == 0 || head_.head_dim > part) {
        const float scale = 1.442695041f / __builtin_sqrtf(static_cast<float>(head_.head_dim));
        load_transposed<tile_queries>(queries_, head_.q + begin_ * head_.stride + d, head_.stride,
                                      count_, columns, tile_queries, scale);
      }
      load_rows<part>(keys_, head_.k + key * head_.stride + d, head_.stride, keys, columns,
                      up(keys, block_rows));
      scores<part>(keys_, queries_, scores_, key, keys, begin_, columns, d > 0);
    }
  }

  // scores_ becomes the probabilities, not yet divided by their sum; what was summed before shrinks
  // by rescale_.
  void softmax(std::size_t key, std::size_t keys) {
    const bool diagonal = key + keys > begin_ + 1;
    const Exp2 exp2;
    for (int v = 0; v < query_vectors; ++v) {
      float* s = scores_ + v * lanes;
      if (diagonal) hide(s, key, keys, begin_ + v * lanes);
      const Floats top = maximum(most_[v], largest_of_each(s, keys));
      const Floats rescale = exp2.below(most_[v] - top);
      total_[v] = total_[v] * rescale + powers(exp2, s, keys, top);
      most_[v] = top;
      store(rescale_ + v * lanes, rescale);
    }
  }
  static void hide(float* s, std::size_t key, std::size_t keys, std::size_t query) {
    for (std::size_t j = key < query ? query - key : 0; j < keys; ++j) {
      float* at = s + j * tile_queries;
      store(at, mask(load(at), key + j, query, all(-__builtin_inff())));
    }
  }
  static Floats largest_of_each(const float* s, std::size_t keys) {
    Floats a = load(s), b = a;
    std::size_t j = 1;
    for (; j + 2 <= keys; j += 2) {
      a = maximum(a, load(s + j * tile_queries));
      b = maximum(b, load(s + (j + 1) * tile_queries));
    }
    return maximum(b, j < keys ? maximum(a, load(s + j * tile_queries)) : a);
  }
  // 2^(s - top) in place, and their sum.
  static Floats powers(const Exp2& exp2, float* s, std::size_t keys, Floats top) {
    Floats a = Floats{}, b = Floats{};
    std::size_t j = 0;
    for (; j + 2 <= keys; j += 2, s += 2 * tile_queries) {
      const Floats x = exp2.below(load(s) - top), y = exp2.below(load(s + tile_queries) - top);
      store(s, x);
      store(s + tile_queries, y);
      a += x;
      b += y;
    }
    if (j < keys) {
      const Floats x = exp2.below(load(s) - top);
      store(s, x);
      a += x;
    }
    return a + b;
  }

  void gather(std::size_t key, std::size_t keys) {
    for (std::size_t d = 0; d < width_; d += part) {
      const std::size_t columns = at_most(width_ - d, part);
      load_rows<part>(values_, head_.v + key * head_.stride + from_ + d, head_.stride, keys,
                      columns, keys);
      float* out = out_ + d * tile_queries;
      if (key > 0) scale_rows(out, rescale_, columns);
      const int vectors = static_cast<int>(up(columns, lanes) / lanes);
      for (std::size_t q = 0; q < count_; q += block_rows) {
        const std::size_t seen =
            at_most(begin_ + q + block_rows - key, keys);  // later keys have probability 0
        block_row<1, tile_queries, part>(seen, scores_ + q, values_, out + q * part, part, key > 0,
                                         0, vectors);
      }
    }
  }

  void finish() {
    alignas(64) float inverses[tile_queries];
    for (int v = 0; v < query_vectors; ++v) {
      store(inverses + v * lanes, 1.0f / total_[v]);
      const Floats lse = most_[v] * 0.6931471806f + log(total_[v]);
      const std::size_t q = static_cast<std::size_t>(v * lanes);
      if (q < count_) store_first(head_.lse + begin_ + q, lse, at_most(count_ - q, lanes));
    }
    for (std::size_t d = 0; d < width_; d += part) {
      const std::size_t columns = at_most(width_ - d, part);
      float* out = out_ + d * tile_queries;
      scale_rows(out, inverses, columns);
      store_rows<part>(head_.out + begin_ * head_.out_stride + from_ + d, out, head_.out_stride,
                       count_, columns);
    }
  }

  void scale_rows(float* out, const float* by, std::size_t columns) {
    for (std::size_t q = 0; q < count_; ++q) {
      const Floats f = all(by[q]);
      float* row = out + q * part;
      for (std::size_t c = 0; c < columns; c += lanes) store(row + c, load(row + c) * f);
    }
  }

  const AttentionHead<T>& head_;
  std::size_t begin_, count_, from_, width_;
  Floats most_[query_vectors], total_[query_vectors];
  alignas(64) float rescale_[tile_queries];
  alignas(64) float queries_[part * tile_queries];      // (part, queries)
  alignas(64) float keys_[tile_keys * part];            // (keys, part)
  alignas(64) float values_[tile_keys * part];          // (keys, part)
  alignas(64) float scores_[tile_keys * tile_queries];  // (keys, queries)
  alignas(64) float out_[parts * tile_queries * part];  // (parts, queries, part)
};

}  // namespace

template <class T>
void attention(const AttentionHead<T>& head) {
  constexpr int parts = 4;
  for (std::size_t q = 0; q < head.sequence; q += tile_queries) {
    if (head.head_dim <= 32) {
      QueryTile<T, 32, 1>(head, q, 0).run();
    } else if (head.head_dim <= 64) {
      QueryTile<T, 64, 1>(head, q, 0).run();
    } else {
      // The sums of the output are f32 until they are whole. Of a head wider than fits, the
      // probabilities are computed again for the columns behind.
      for (std::size_t from = 0; from < head.head_dim; from += 64 * parts)
        QueryTile<T, 64, parts>(head, q, from).run();
    }
  }
}
template void attention(const AttentionHead<float>&);
template void attention(const AttentionHead<Bf16>&);
template void attention(const AttentionHead<F16>&);

}  // namespace shardmark::cpu::SHARDMARK_ISA
