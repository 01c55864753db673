// What did others measure, and as which cell is it predicted? See published.hpp.
#include "bench/published.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "bench/text.hpp"
#include "kernels/error.hpp"

namespace shardmark {
namespace {

// One line of the file, by the names in its first.
class Line {
 public:
  Line(const std::vector<std::string>& names, const std::string& line, std::string where)
      : where_(std::move(where)) {
    const std::vector<std::string> values = split(line, ',');
    if (values.size() != names.size())
      throw InputError(fmt::format("{} has {} values, but the first line names {}.", where_,
                                   values.size(), names.size()));
    for (std::size_t i = 0; i < names.size(); ++i) values_[names[i]] = values[i];
  }

  const std::string& text(const std::string& column) const {
    const auto at = values_.find(column);
    if (at == values_.end())
      throw InputError(fmt::format("{} has no column \"{}\".", where_, column));
    return at->second;
  }
  std::int64_t count(const std::string& column) const {
    return whole_number(named(column), text(column), 1, std::int64_t{1} << 50);
  }
  double number(const std::string& column) const {
    return real_number(named(column), text(column), 0, 1e18, true);
  }
  // yes or the other one.
  bool is(const std::string& column, const std::string& yes, const std::string& no) const {
    return one_of(column, {yes, no}) == yes;
  }
  const std::string& one_of(const std::string& column,
                            const std::vector<std::string>& known) const {
    const std::string& is = text(column);
    if (std::find(known.begin(), known.end(), is) == known.end())
      throw InputError(
          fmt::format("{} is \"{}\", but must be {}.", named(column), is, join(known, " or ")));
    return is;
  }

 private:
  std::string named(const std::string& column) const { return where_ + ": " + column; }
  std::string where_;
  std::map<std::string, std::string> values_;
};

PublishedRow row_of(const Line& line) {
  PublishedRow r;
  r.source = line.text("source"), r.model = line.text("Model");
  r.gpu = line.one_of("GPU", {"a100_40gb", "a100_80gb", "h100_80gb"});
  r.sharding = line.one_of("Sharding Strategy", {"FULL_SHARD", "SHARD_GRAD_OP"});
  r.pure = line.is("MP Mode", "PURE", "DEFAULT");
  r.checkpointed = line.is("Activation Checkpointing", "True", "False");
  line.one_of("Activation CPUOffload", {"False"});
  r.gpus = line.count("# GPUs"), r.sequence = line.count("SeqLen (T)");
  r.batch = line.count("MicroBatchSize"), r.accumulate = line.count("GradAccum");
  r.parameters = line.count("NumParams"), r.layers = line.count("n_layers");
  r.width = line.count("d_model"), r.heads = line.count("n_heads");
  r.vocabulary = line.count("vocab");
  r.tokens_per_s = line.number("Throughput (T/s)"), r.mfu = line.number("MFU") / 100;
  return r;
}

}  // namespace

std::vector<PublishedRow> read_published(const std::string& csv, const std::string& file) {
  std::vector<std::string> lines = split(csv, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  if (lines.empty()) throw InputError(fmt::format("{} is empty.", file));
  const std::vector<std::string> names = split(lines[0], ',');
  std::vector<PublishedRow> rows;
  for (std::size_t i = 1; i < lines.size(); ++i)
    rows.push_back(row_of(Line(names, lines[i], fmt::format("{}, line {}", file, i + 1))));
  return rows;
}

// Both precisions compute and gather in bf16 beside f32 masters. SHARD_GRAD_OP keeps the weights
// from forward to backward: with one micro-batch that is ZeRO-2's traffic.
Cell cell_of(const PublishedRow& r) {
  Cell c;
  c.model = fmt::format("gpt:layers={},width={},heads={},vocabulary={}", r.layers, r.width, r.heads,
                        r.vocabulary);
  c.strategy = r.sharding == "FULL_SHARD" ? "zero3" : "zero2";
  c.ranks = r.gpus, c.sequence = r.sequence;
  c.batch = r.batch, c.accumulate = r.accumulate;
  c.precision = "bf16", c.reduce_dtype = r.pure ? "bf16" : "fp32";
  c.recompute = r.checkpointed ? "unit" : "none";
  c.bucket_bytes = 0;  // FSDP reduces a block at a time
  return c;
}

std::string preset_of(const PublishedRow& r) {
  if (r.gpu == "a100_40gb") return "a100-40gb";
  return machine_type_of(r);
}

std::string machine_type_of(const PublishedRow& r) { return r.gpu.substr(0, r.gpu.find('_')); }

double model_flops_of(const PublishedRow& r) {
  return 6.0 * static_cast<double>(r.parameters) + 12.0 * static_cast<double>(r.layers) *
                                                       static_cast<double>(r.width) *
                                                       static_cast<double>(r.sequence);
}

}  // namespace shardmark
