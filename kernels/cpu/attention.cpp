// What does causal self-attention compute, without ever holding the T x T matrix? Online softmax
// over tiles of keys (Milakov and Gimelshein 2018; Dao et al. 2022). Scores are kept transposed,
// keys down and queries across: then K and V are read as they stand, and the softmax of a query
// runs along its lane. Compiled once for each instruction set.
#include "attention_tile.hpp"
#include "kernels.hpp"

namespace shardmark::cpu::SHARDMARK_ISA {

namespace {

// 32 queries of one head; `part` columns of the head at a time.
template <int part>
class QueryTile {
 public:
  QueryTile(const AttentionHead& head, std::size_t begin)
      : head_(head), begin_(begin), count_(at_most(head.sequence - begin, tile_queries)) {
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
    for (int v = 0; v < query_vectors; ++v) {
      float* s = scores_ + v * lanes;
      Floats most[2] = {most_[v], most_[v]};
      for (std::size_t j = 0; j < keys; ++j) {
        if (diagonal) {
          const Floats seen =
              mask(load(s + j * tile_queries), key + j, begin_ + v * lanes, all(-__builtin_inff()));
          store(s + j * tile_queries, seen);
        }
        most[j % 2] = maximum(most[j % 2], load(s + j * tile_queries));
      }
      const Floats top = maximum(most[0], most[1]);
      const Floats rescale = exp2(most_[v] - top);
      Floats sums[2] = {total_[v] * rescale, Floats{}};
      for (std::size_t j = 0; j < keys; ++j) {
        const Floats p = exp2(load(s + j * tile_queries) - top);
        store(s + j * tile_queries, p);
        sums[j % 2] += p;
      }
      most_[v] = top;
      total_[v] = sums[0] + sums[1];
      store(rescale_ + v * lanes, rescale);
    }
  }

  void gather(std::size_t key, std::size_t keys) {
    for (std::size_t d = 0; d < head_.head_dim; d += part) {
      const std::size_t columns = at_most(head_.head_dim - d, part);
      load_rows<part>(values_, head_.v + key * head_.stride + d, head_.stride, keys, columns, keys);
      if (key > 0 && head_.head_dim > part) fetch(d, columns);
      if (key > 0) scale_rows(rescale_, columns);
      const int vectors = static_cast<int>(up(columns, lanes) / lanes);
      for (std::size_t q = 0; q < count_; q += block_rows) {
        const std::size_t seen =
            at_most(begin_ + q + block_rows - key, keys);  // later keys have probability 0
        block_row<1, tile_queries, part>(seen, scores_ + q, values_, out_ + q * part, part, key > 0,
                                         0, vectors);
      }
      if (head_.head_dim > part) put(d, columns);
    }
  }

  void finish() {
    alignas(64) float inverse[tile_queries], total[tile_queries], most[tile_queries];
    for (int v = 0; v < query_vectors; ++v) {
      store(inverse + v * lanes, 1.0f / total_[v]);
      store(total + v * lanes, total_[v]);
      store(most + v * lanes, most_[v]);
    }
    for (std::size_t d = 0; d < head_.head_dim; d += part) {
      const std::size_t columns = at_most(head_.head_dim - d, part);
      if (head_.head_dim > part) fetch(d, columns);
      scale_rows(inverse, columns);
      put(d, columns);
    }
    for (std::size_t q = 0; q < count_; ++q) {
      head_.lse_written[begin_ + q] = most[q] * 0.6931471806f + __builtin_logf(total[q]);
    }
  }

  void scale_rows(const float* by, std::size_t columns) {
    for (std::size_t q = 0; q < count_; ++q) {
      const Floats f = all(by[q]);
      float* row = out_ + q * part;
      for (std::size_t c = 0; c < columns; c += lanes) store(row + c, load(row + c) * f);
    }
  }
  // A head wider than one part keeps its sums in `out` itself between tiles of keys.
  void fetch(std::size_t d, std::size_t columns) {
    load_rows<part>(out_, head_.out_written + begin_ * head_.out_stride + d, head_.out_stride,
                    count_, columns, count_);
  }
  void put(std::size_t d, std::size_t columns) {
    store_rows<part>(head_.out_written + begin_ * head_.out_stride + d, out_, head_.out_stride,
                     count_, columns);
  }

  const AttentionHead& head_;
  std::size_t begin_, count_;
  Floats most_[query_vectors], total_[query_vectors];
  alignas(64) float rescale_[tile_queries];
  alignas(64) float queries_[part * tile_queries];      // (part, queries)
  alignas(64) float keys_[tile_keys * part];            // (keys, part)
  alignas(64) float values_[tile_keys * part];          // (keys, part)
  alignas(64) float scores_[tile_keys * tile_queries];  // (keys, queries)
  alignas(64) float out_[tile_queries * part];          // (queries, part)
};

}  // namespace

void attention(const AttentionHead& head) {
  for (std::size_t q = 0; q < head.sequence; q += tile_queries) {
    if (head.head_dim <= 32) {
      QueryTile<32>(head, q).run();
    } else {
      QueryTile<64>(head, q).run();
    }
  }
}

}  // namespace shardmark::cpu::SHARDMARK_ISA
