// What can be trained, and what does a cell ask of the training? See cell.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "bench/cell.hpp"
#include "bench/collectives_cell.hpp"
#include "bench/embedded.hpp"
#include "bench/link_text.hpp"
#include "bench/registry.hpp"
#include "bench/text.hpp"
#include "impl/comm/ring.hpp"
#include "impl/inject.hpp"
#include "impl/models/registry.hpp"

namespace shardmark {

namespace {

std::string text_in_words(const Cell& c) {
  return c.data.empty() ? "the built-in corpus" : "--data " + join(c.data, " ");
}

// Tokens are bytes: one beyond the vocabulary has no row in the embedding.
void check_vocabulary(const Cell& c, std::uint8_t largest_byte) {
  const std::size_t vocabulary =
      std::visit([](const auto& shape) { return shape.vocabulary; },
                 shape_of(c.model, static_cast<std::size_t>(c.sequence)));
  if (largest_byte >= vocabulary)
    throw InputError(fmt::format(
        "{} has byte {}, but the vocabulary of --model {} is {}; give {}a model with at least {}.",
        text_in_words(c), largest_byte, c.config.empty() ? c.model : c.config, vocabulary,
        c.config.empty() ? "" : "--vocab bytes, or ", largest_byte + 1));
}

// A sentence about a model, as one about the flag that named it; a form that was made from a file
// is nothing that somebody typed.
std::string of_flag(const Cell& c, std::string sentence) {
  if (!sentence.starts_with("model '")) return sentence;
  const std::size_t end = sentence.find("': ");
  if (c.config.empty() || end == sentence.npos) return "--" + sentence;
  sentence = sentence.substr(end + 3);
  for (const auto& [figure, key] :
       {std::pair("positions is", "max_position_embeddings (or n_positions) is"),
        std::pair("window is", "sliding_window is")})
    if (sentence.starts_with(figure)) sentence.replace(0, std::string(figure).size(), key);
  return fmt::format("--model {}: {}", c.config, sentence);
}

Precision precision_of(const Cell& c) {
  LossScaling scaling;
  scaling.initial = static_cast<float>(c.loss_scale);
  scaling.window = static_cast<int>(c.loss_scale_window);
  return precision_in(dtype_named(c.precision), dtype_named(c.reduce_dtype), scaling);
}

// Which of the ways to carry bytes fit together? One sentence each.
void check_transport(const Cell& c) {
  const bool mpi = c.comm == "mpi", linked = c.link != "none";
  if (c.collectives == "memory" && mpi)
    refuse(
        "--collectives memory is for ranks that are threads of one process; with --comm mpi it "
        "may be ring or library.");
  if (c.collectives == "memory" && linked)
    refuse(
        fmt::format("--collectives memory sends no messages, so that --link {} would slow "
                    "nothing down; with a link it must be ring.",
                    c.link));
  if (c.collectives == "library" && !mpi)
    refuse(
        "--collectives library calls the collectives of the MPI library, which needs --comm mpi; "
        "thread ranks have memory and ring.");
  if (c.collectives == "library" && linked)
    refuse(
        fmt::format("--collectives library sends past --link {}, which slows our own messages "
                    "down; with a link it must be ring.",
                    c.link));
  if (c.all_reduce == "direct" && c.collectives != "memory")
    refuse(
        fmt::format("--all-reduce direct is there for --collectives memory alone; with {} leave "
                    "it away.",
                    c.collectives));
}

// A chunk on the wire is nobody's failure.
void check_link(const Cell& c) {
  const auto link = link_of("a cell's \"link\"", c.link);
  if (!link) return;
  const double chunk = static_cast<double>(RingOptions().chunk_bytes);
  const double seconds =
      (chunk / link->bytes_per_ns + static_cast<double>(link->latency_ns)) * 1e-9;
  if (2 * seconds > c.comm_timeout_s)
    refuse(
        fmt::format("--link {} carries a chunk of {} bytes in {:.3g} s, but a rank waits no longer "
                    "than --comm-timeout {}; give at least {:.0f}, or a faster link.",
                    c.link, chunk, seconds, c.comm_timeout_s, std::ceil(2 * seconds)));
}

}  // namespace

void check_segments(const Cell& c, std::size_t parameters, std::size_t most) {
  if (c.bucket_bytes == 0) return;
  const std::size_t least = 8 * static_cast<std::size_t>(c.ranks);
  const std::size_t segments =
      parameters /
      std::max(least, std::size_t{c.bucket_bytes} / size_of(dtype_named(c.reduce_dtype)));
  if (segments > most)
    throw InputError(fmt::format(
        "--bucket-mb is {}, which cuts the {} parameters of --model {} into {} buckets, but there "
        "may be at most {}; give a larger one.",
        static_cast<double>(c.bucket_bytes) * 1e-6, parameters, c.model, segments, most));
}

void check_launch(const Cell& c) {
  const bool mpi = of_processes(c);
  if (!mpi && c.launcher != "none")
    refuse(fmt::format(
        "--launcher \"{}\" starts ranks that are processes, which needs --comm mpi or nccl.",
        c.launcher));
  if (mpi && c.launcher != "mpirun" && c.launcher != "given" &&
      c.launcher.find("{ranks}") == std::string::npos)
    refuse(
        fmt::format("--launcher \"{}\" does not say where the number of ranks goes; put "
                    "{{ranks}} there: 'srun -n {{ranks}}'.",
                    c.launcher));
  if (!mpi && !c.interface.empty())
    refuse(
        fmt::format("--interface {} would count nothing: what thread ranks send never leaves "
                    "their process; it needs --comm mpi.",
                    c.interface));
  if (c.interface.find_first_of("/, \t\n") != std::string::npos || c.interface == "." ||
      c.interface == "..")
    refuse(
        fmt::format("--interface \"{}\" is no name of a network interface, such as eth0; "
                    "`ip link` lists them.",
                    c.interface));
  if (mpi && !mpi::built())
    refuse(fmt::format("--comm is {}{}, but this build has no MPI library: {}.", c.comm,
                       c.comm == "mpi" ? "" : " with a --launcher", mpi::library()));
  for (const char ch : c.network + c.launcher)
    if (static_cast<unsigned char>(ch) < ' ')
      refuse("--network and --launcher are one line of text each, without control characters.");
}

void check_typed_launcher(const std::string& launcher) {
  if (launcher == "none" || launcher == "given")
    refuse(
        fmt::format("--launcher is \"{}\", but must be a command with {{ranks}} in it, such as "
                    "'srun -n {{ranks}}', or mpirun.",
                    launcher));
}

Text load_text(const std::vector<std::string>& files) {
  Text corpus{"built-in", {}, 0};
  std::string all;
  if (files.empty()) {
    all = embedded("corpus.txt");
  } else {
    std::vector<std::string> names;
    for (const std::string& f : files) {
      const std::string text = read_whole_file("--data", f);
      if (text.empty())
        throw InputError(fmt::format("--data: {} is empty; give a file with some text in it.", f));
      names.push_back(std::filesystem::path(f).filename().string());
      all += text;
    }
    corpus.name = join(names, "+");
  }
  corpus.hash = fnv1a64(all);
  corpus.bytes.assign(all.begin(), all.end());
  return corpus;
}

Training training_of(const Cell& c, std::vector<std::uint8_t> corpus) {
  if (c.freeze.empty()) return training_of(c, std::move(corpus), Architecture{});
  return training_of(c, std::move(corpus),
                     make_architecture(c.model, static_cast<std::size_t>(c.sequence),
                                       static_cast<std::size_t>(c.batch)));
}

Training training_of(const Cell& c, std::vector<std::uint8_t> corpus, const Architecture& a) {
  Training t;
  t.model = c.model;
  t.strategy = c.strategy;
  t.ranks = static_cast<int>(c.ranks);
  t.batch = static_cast<std::size_t>(c.batch);
  t.sequence = static_cast<std::size_t>(c.sequence);
  t.warmup = static_cast<int>(c.warmup);
  t.steps = static_cast<int>(c.steps);
  t.seed = c.seed;
  t.overlap = c.overlap;
  t.threads_per_rank = static_cast<int>(c.threads_per_rank);
  t.comm_timeout_s = c.comm_timeout_s;
  t.options.precision = precision_of(c);
  t.options.recompute = c.recompute == "unit" ? Recompute::unit : Recompute::none;
  if (!c.freeze.empty()) t.options.frozen = frozen_by(c.freeze, a);
  t.options.accumulate = static_cast<int>(c.accumulate);
  t.options.buckets = static_cast<int>(c.buckets);
  t.options.bucket_elements = c.bucket_bytes / size_of(t.options.precision.wire);
  t.options.clip = c.clip;
  t.options.adam.lr = static_cast<float>(c.lr);
  t.options.all_reduce =
      c.all_reduce == "direct" ? Options::AllReduce::direct : Options::AllReduce::composed;
  t.device = c.device == "cuda" ? DeviceKind::cuda : DeviceKind::cpu;
  t.tf32 = c.precision == "tf32";
  t.options.collectives = collectives_named(c.collectives);
  t.options.prefetch = static_cast<int>(c.prefetch);
  t.options.keep_last = c.keep_last;
  t.options.persist_below = static_cast<std::size_t>(c.persist_below);
  t.link = link_of("--link", c.link);
  t.interface = c.interface;
  t.counted_steps = c.interface.empty() ? 0 : 3;
  t.corpus = std::move(corpus);
  t.inject = c.inject;
  t.trace = c.trace;
  t.profile = c.profile != "none";
  return t;
}

void check_model(const Cell& c) {
  const auto models = model_names();
  if (c.model.find(':') != c.model.npos ||
      std::find(models.begin(), models.end(), c.model) != models.end())
    return;
  const std::filesystem::path config = std::filesystem::path(c.model) / "config.json";
  std::error_code ignored;
  if (std::filesystem::exists(config, ignored))
    throw InputError(fmt::format("--model \"{}\" is a folder; its model is --model {}.", c.model,
                                 config.string()));
  throw InputError(
      fmt::format("--model \"{}\" is unknown; known are {} and free forms such as "
                  "gpt:layers=4,width=256,heads=8{}",
                  c.model, join(models, ", "), suggestion(c.model, models)));
}

void validate(const Cell& c, std::size_t corpus_bytes, std::uint8_t largest_byte) {
  const auto strategies_known = strategy_names();
  if (std::find(strategies_known.begin(), strategies_known.end(), c.strategy) ==
      strategies_known.end())
    throw InputError(fmt::format("--strategy \"{}\" is unknown; known are all, {}{}", c.strategy,
                                 join(strategies_known, ", "),
                                 suggestion(c.strategy, strategies_known)));
  check_model(c);
  const auto needed = static_cast<std::size_t>(c.sequence) + 1;
  if (corpus_bytes < needed)
    throw InputError(
        fmt::format("{} has {} bytes, but a sequence of {} needs at least {}: give more text or a "
                    "shorter --sequence.",
                    text_in_words(c), corpus_bytes, c.sequence, needed));
  injection(c.inject, -1);
  check_precision(c);
  check_device(c);
  check_transport(c);
  check_link(c);
  check_launch(c);
  try {
    check_vocabulary(c, largest_byte);
    check_segments(c,
                   make_architecture(c.model, static_cast<std::size_t>(c.sequence),
                                     static_cast<std::size_t>(c.batch))
                       .parameter_count(),
                   1'000'000);  // each is described in memory
  } catch (const InputError& e) {
    throw InputError(of_flag(c, e.what()));
  }
  claims_of(training_of(c, std::vector<std::uint8_t>(needed)));
}

bool oversubscribed(const Cell& c, unsigned cores, std::int64_t ranks_here) {
  // A rank on a GPU has one thread, which enqueues.
  const bool own_queue = c.overlap && c.ranks > 1 && c.device == "cpu";
  const std::int64_t threads = ranks_here * (c.threads_per_rank + (own_queue ? 1 : 0));
  return threads > static_cast<std::int64_t>(cores);
}

bool oversubscribed(const Cell& c, unsigned cores) { return oversubscribed(c, cores, c.ranks); }

}  // namespace shardmark
