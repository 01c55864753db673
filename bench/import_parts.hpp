#pragma once
// Who reads which part of a strategy config? What the parts tell each other on the way.
#include "bench/import_keys.hpp"

namespace shardmark {

// The element types of a config, once they are known.
struct ImportTypes {
  std::optional<std::string> precision, wire;  // fp32, bf16, fp16; wire: gradients travel in it
  double gradient_bytes() const;               // of an element on its way
  bool two_bytes() const { return precision && *precision != "fp32"; }
};

// What "zero_optimization" says, resolved.
struct ZeroPlan {
  int stage = 0;
  bool overlap = false, reduce_scatter = true, multi_rank = true, contiguous = true;
  // Elements; nothing where "auto" has no source.
  std::optional<std::int64_t> bucket = 500'000'000;
  std::optional<std::int64_t> persistence = 100'000;  // parameters of at most so many stay whole
  std::int64_t live = 1'000'000'000;                  // elements gathered at once
  std::int64_t reuse = 1'000'000'000;  // what is needed again within these is not released
};

void import_deepspeed(ImportKeys& root, const ImportFacts&);
void import_accelerate(ImportKeys& root, const ImportFacts&);
// What stands beside "fsdp_config".
struct FsdpPlace {
  ImportTypes types;
  std::optional<std::int64_t> ranks, replicas;  // replicas: groups that each hold a whole copy
  std::int64_t machines = 1, micro_steps = 1;
};
// FSDP of PyTorch, as Accelerate names its options.
void import_fsdp(ImportKeys fsdp, const ImportFacts&, const FsdpPlace&);
// Replicas of what is sharded, which cells do not have.
void lack_replicas(ImportKeys&, const std::string& key, const ImportFacts&, std::int64_t ranks,
                   std::int64_t replicas);

// fp16, bf16 and how gradients travel.
ImportTypes import_types(ImportKeys& root, const ImportFacts&);
ZeroPlan import_zero(ImportKeys& root, const ImportFacts&, const ImportTypes&);
// train_batch_size = train_micro_batch_size_per_gpu x gradient_accumulation_steps x ranks; returns
// the micro-steps where they are known.
std::optional<std::int64_t> import_batches(ImportKeys& root, const ImportFacts&);
void note_deepspeed(const ZeroPlan&, const ImportFacts&, const ImportTypes&,
                    std::optional<std::int64_t> micro_steps, Imported&);

// The keys of "zero_optimization": elsewhere they would be passed over in silence.
const std::vector<std::string>& zero_keys();

std::string as_text(double number);         // "1000", "0.5", as flags take it
std::string mebibytes(double bytes);        // "954 MiB"
std::string elements(std::int64_t number);  // "500,000,000"

}  // namespace shardmark
