// What can a flag of a cell be, and what does it set? One row a flag; the order of the rows is the
// order in which comma lists multiply and in which --help shows them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "bench/link_text.hpp"
#include "bench/suite.hpp"
#include "bench/text.hpp"

namespace shardmark {

namespace {

using Set = void (*)(Draft&, const std::string&, const std::string&);

template <auto Member, std::int64_t Least, std::int64_t Most>
constexpr Set whole = [](Draft& d, const std::string& flag, const std::string& value) {
  d.cell.*Member = whole_number(flag, value, Least, Most);
};

void set_one_of(std::string& to, const std::string& flag, const std::string& value,
                const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), value) == known.end())
    throw InputError(fmt::format("{} \"{}\" is unknown; it may be {}{}", flag, value,
                                 join(known, " or "), suggestion(value, known)));
  to = value;
}

constexpr const char* element_types[] = {"fp32", "bf16", "fp16"};

void set_element_type(std::string& to, const std::string& flag, const std::string& value) {
  set_one_of(to, flag, value, {std::begin(element_types), std::end(element_types)});
}

void set_seconds(double& to, const std::string& flag, const std::string& value) {
  to = real_number(flag, value, 0, 1e6, true);
}

// Other scales would round what they scale.
void set_power_of_two(double& to, const std::string& flag, const std::string& value) {
  to = real_number(flag, value, 1, 16'777'216);
  int exponent = 0;
  if (std::frexp(to, &exponent) != 0.5)
    throw InputError(fmt::format("{} is \"{}\", but must be a power of two, such as {} or {}.",
                                 flag, value, std::ldexp(0.5, exponent),
                                 std::ldexp(1.0, exponent)));
}

// Patterns as a shell has them: a comma between [ and ] is one of the characters there. A pattern
// that is there twice says nothing more.
std::vector<std::string> patterns_of(const std::string& flag, const std::string& value) {
  std::vector<std::string> once;
  std::string inside = value;
  for (std::size_t at = 0; (at = inside.find('[', at)) != inside.npos; ++at)
    for (const std::size_t end = inside.find(']', at + 2); end != inside.npos && at < end; ++at)
      if (inside[at] == ',') inside[at] = '\0';
  for (std::string pattern : split(inside, ',')) {
    std::replace(pattern.begin(), pattern.end(), '\0', ',');
    if (pattern.empty())
      throw InputError(
          fmt::format("{} is \"{}\", which has an empty entry between its commas.", flag, value));
    if (std::find(once.begin(), once.end(), pattern) == once.end()) once.push_back(pattern);
  }
  return once;
}

constexpr auto commas = CellFlag::List::commas;

std::vector<CellFlag> shape_flags() {
  return {
      {CellFlag::List::models, "--model", "NAME",
       "a preset, a form such as mlp:layers=3,width=512, or a Hugging Face config FILE.json; "
       "dropout is not applied",
       [](Draft& d, const std::string&, const std::string& v) { d.cell.model = v; }},
      {commas, "--strategy", "NAME", "how state is spread over ranks, or all (the default)",
       [](Draft& d, const std::string&, const std::string& v) { d.cell.strategy = v; }},
      {commas, "--ranks", "N",
       "ranks, 1 to 256: threads of one process, or with --comm mpi processes",
       [](Draft& d, const std::string& flag, const std::string& value) {
         d.cell.ranks = whole_number(flag, value, 1, d.predicts ? most_predicted_ranks : 256);
       }},
      {commas, "--threads-per-rank", "N", "threads that each rank computes with",
       whole<&Cell::threads_per_rank, 1, 256>},
      {commas, "--batch", "N", "sequences a rank and micro-step",
       whole<&Cell::batch, 1, 1'000'000>},
      {commas, "--global-batch", "N", "sequences of all ranks a step, instead of --batch",
       [](Draft& d, const std::string& f, const std::string& v) {
         d.global_batch = whole_number(f, v, 1, 1'000'000'000);
       }},
      {commas, "--accumulate", "K", "micro-steps a step", whole<&Cell::accumulate, 1, 10'000>},
      {commas, "--sequence", "N", "tokens (bytes of text) a sequence",
       whole<&Cell::sequence, 1, 1'000'000>},
      {commas, "--steps", "N", "measured steps", whole<&Cell::steps, 1, 1'000'000>},
      {commas, "--warmup", "N", "steps made first and dropped, at least 2",
       whole<&Cell::warmup, 2, 1'000'000>},
  };
}

std::vector<CellFlag> training_flags() {
  return {
      {commas, "--clip", "NORM", "clip the global gradient norm to this; 0: do not",
       [](Draft& d, const std::string& f, const std::string& v) {
         d.cell.clip = real_number(f, v, 0, 1e30);
       }},
      {commas, "--lr", "RATE", "learning rate of AdamW",
       [](Draft& d, const std::string& f, const std::string& v) {
         d.cell.lr = real_number(f, v, 0, 1e3);
       }},
      {commas, "--seed", "N", "of the initial weights and of the batches",
       [](Draft& d, const std::string& f, const std::string& v) {
         d.cell.seed = static_cast<std::uint64_t>(
             whole_number(f, v, 0, std::numeric_limits<std::int64_t>::max()));
       }},
      {CellFlag::List::none, "--data", "FILE", "text files to train on, any bytes", nullptr},
      {commas, "--bucket-mb", "MB", "gradient bytes (1e6) of one collective; 0: a layer's",
       [](Draft& d, const std::string& f, const std::string& v) {
         const double megabytes = real_number(f, v, 0, 1e6);
         d.cell.bucket_bytes = static_cast<std::uint64_t>(megabytes * 1e6 + 0.5);
         if (megabytes > 0 && d.cell.bucket_bytes < 4)
           throw InputError(fmt::format(
               "{} is \"{}\", but must be 0 (a layer's) or at least 0.000004 (one element).", f,
               v));
       }},
      {commas, "--buckets", "N", "whole gradients alive at once in zero2 and zero3",
       whole<&Cell::buckets, 1, 10'000>},
      {commas, "--overlap", "on|off", "communicate on a queue of its own, beside computing",
       [](Draft& d, const std::string& f, const std::string& v) {
         d.cell.overlap = on_or_off(f, v);
       }},
      {commas, "--all-reduce", "HOW", "composed (reduce-scatter, all-gather) or direct",
       [](Draft& d, const std::string& f, const std::string& v) {
         set_one_of(d.cell.all_reduce, f, v, {"composed", "direct"});
       }},
  };
}

std::vector<CellFlag> precision_flags() {
  return {
      {commas, "--precision", "TYPE",
       "of parameters, gradients and activations: fp32, bf16 or fp16, where Adam's weights stay "
       "fp32; tf32: fp32 with products of GPUs' tensor cores",
       [](Draft& d, const std::string& f, const std::string& v) {
         set_one_of(d.cell.precision, f, v, {"fp32", "bf16", "fp16", "tf32"});
       }},
      {commas, "--reduce-dtype", "TYPE", "that gradients travel in; without it the --precision's",
       [](Draft& d, const std::string& f, const std::string& v) {
         set_element_type(d.reduce_dtype.emplace(), f, v);
       }},
      {commas, "--loss-scale", "SCALE",
       "fp16: what the loss is multiplied by at first; an overflow halves it; without it 65536",
       [](Draft& d, const std::string& f, const std::string& v) {
         set_power_of_two(d.loss_scale.emplace(), f, v);
       }},
      {commas, "--loss-scale-window", "N",
       "fp16: steps without an overflow that double the loss scale; without it 2000",
       [](Draft& d, const std::string& f, const std::string& v) {
         d.loss_scale_window = whole_number(f, v, 1, 1'000'000'000);
       }},
      {commas, "--recompute", "WHAT",
       "none: activations stay for backward; unit: a unit's are computed again there",
       [](Draft& d, const std::string& f, const std::string& v) {
         set_one_of(d.cell.recompute, f, v, {"none", "unit"});
       }},
      {CellFlag::List::none, "--freeze", "NAMES",
       "parameters that do not learn, as patterns in one value: 'wte*,h0.*'",
       [](Draft& d, const std::string& f, const std::string& v) {
         d.cell.freeze = patterns_of(f, v);
       }},
      {commas, "--vocab", "WHOSE",
       "of a --model FILE.json: config (its own, the default) or bytes (256)",
       [](Draft& d, const std::string& f, const std::string& v) {
         set_one_of(d.vocab.emplace(), f, v, {"config", "bytes"});
       }},
  };
}

std::vector<CellFlag> transport_flags() {
  return {
      {commas, "--comm", "NAME",
       "what carries: thread (ranks of one process), mpi (processes, on one host or many), or nccl "
       "(GPUs)",
       [](Draft& d, const std::string& f, const std::string& v) {
         set_one_of(d.comm.emplace(), f, v, {"thread", "mpi", "nccl"});
       }},
      {commas, "--collectives", "HOW",
       "memory (read from each other's), ring (our own, of messages) or library (MPI's); without "
       "it memory for threads without a --link, else ring; nccl with --comm nccl",
       [](Draft& d, const std::string& f, const std::string& v) {
         set_one_of(d.collectives.emplace(), f, v, {"memory", "ring", "library", "nccl"});
       }},
      {CellFlag::List::links, "--link", "RATE[,LATENCY]",
       "a wire that each rank pretends to have: 1gbit, 500mbit or 10gbit,50us; none: as fast as "
       "it goes",
       [](Draft& d, const std::string& f, const std::string& v) {
         d.cell.link = canonical_link(f, v);
       }},
      {commas, "--prefetch", "N", "units whose weights zero3 gathers ahead",
       whole<&Cell::prefetch, 0, 1'000>},
      {commas, "--keep-last", "on|off",
       "zero3: what backward needs at once stays gathered at the turn from forward",
       [](Draft& d, const std::string& f, const std::string& v) {
         d.cell.keep_last = on_or_off(f, v);
       }},
      {commas, "--persist-below", "N", "zero3: parameters of fewer elements stay whole",
       whole<&Cell::persist_below, 0, 1'000'000'000'000>},
      {CellFlag::List::none, "--launcher", "COMMAND",
       "what starts the ranks of --comm mpi, such as 'srun -n {ranks}'; without it mpirun",
       [](Draft& d, const std::string&, const std::string& v) { d.launcher = v; }},
      {CellFlag::List::none, "--interface", "NAME",
       "a network interface of every host, whose counters witness what ranks of --comm mpi send",
       [](Draft& d, const std::string&, const std::string& v) { d.cell.interface = v; }},
      {CellFlag::List::none, "--network", "WORDS", "what the network is, for records and tables",
       [](Draft& d, const std::string&, const std::string& v) { d.cell.network = v; }},
  };
}

std::vector<CellFlag> limit_flags() {
  return {
      {commas, "--device", "NAME",
       "what computes: cpu, or cuda (GPUs; `shardmark list` says whether)",
       [](Draft& d, const std::string& f, const std::string& v) {
         set_one_of(d.cell.device, f, v, {"cpu", "cuda"});
       }},
      {commas, "--memory-limit", "SIZE", "of a process of the cell, such as 8GB or 8GiB, or none",
       [](Draft& d, const std::string& f, const std::string& v) {
         d.cell.memory_limit_bytes = v == "none" ? 0 : byte_count(f, v);
       }},
      {commas, "--timeout", "SECONDS", "a cell that takes longer is ended and recorded as failed",
       [](Draft& d, const std::string& f, const std::string& v) {
         set_seconds(d.cell.timeout_s, f, v);
       }},
      {commas, "--comm-timeout", "SECONDS", "a rank that waits longer for another fails the cell",
       [](Draft& d, const std::string& f, const std::string& v) {
         set_seconds(d.cell.comm_timeout_s, f, v);
       }},
      {CellFlag::List::none, "--inject", "FAULT", "",
       [](Draft& d, const std::string&, const std::string& v) { d.cell.inject = v; }},
  };
}

}  // namespace

const std::vector<CellFlag>& cell_flags() {
  static const std::vector<CellFlag> all = [] {
    std::vector<CellFlag> flags = shape_flags();
    for (auto&& more : {training_flags(), precision_flags(), transport_flags(), limit_flags()})
      flags.insert(flags.end(), more.begin(), more.end());
    return flags;
  }();
  return all;
}

}  // namespace shardmark
