#pragma once
// What did others measure, and as which cell is it predicted? Rows of results/published/, a CSV
// whose columns are named in its README.md.
#include <string>
#include <vector>

#include "bench/cell.hpp"

namespace shardmark {

struct PublishedRow {
  std::string source, model, gpu;  // gpu: a100_40gb, a100_80gb or h100_80gb
  std::string sharding;            // FULL_SHARD or SHARD_GRAD_OP, as FSDP says it
  bool pure = false;               // gradients travel in bf16, else in f32
  bool checkpointed = false;       // activations, a block each
  std::int64_t gpus = 0, sequence = 0, batch = 0, accumulate = 0;
  std::int64_t parameters = 0, layers = 0, width = 0, heads = 0, vocabulary = 0;
  double tokens_per_s = 0;  // all GPUs
  double mfu = 0;           // as printed there, a share
};

// Throws InputError: a column that is missing, or a value that is not what its column holds.
std::vector<PublishedRow> read_published(const std::string& csv, const std::string& file);

Cell cell_of(const PublishedRow&);
std::string preset_of(const PublishedRow&);        // of cluster_of()
std::string machine_type_of(const PublishedRow&);  // a100, whatever its memory, or h100

// Model FLOPs of a token as the source counts them: 6P, and 12 layers * width * sequence for
// attention, no half of it masked.
double model_flops_of(const PublishedRow&);

}  // namespace shardmark
