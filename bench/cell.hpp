#pragma once
// What is one configuration, with no default left implicit, and what is it called? A cell goes to
// its own process as JSON and comes back inside of its record.
#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "impl/architecture.hpp"
#include "impl/train.hpp"

namespace shardmark {

// What is only predicted may have more ranks than any machine runs.
inline constexpr std::int64_t most_predicted_ranks = 100'000;

struct Cell {
  std::string model = "gpt-nano";
  std::string strategy = "ddp";
  std::string device = "cpu";
  std::string comm = "thread";         // or mpi: ranks are processes; or nccl: either
  std::string collectives = "memory";  // or ring, library, nccl
  std::string link = "none";           // an emulated one, as link_text.hpp writes it
  // Who starts ranks that are processes: mpirun (as this program does it), a command with {ranks}
  // in it, or given: a launcher had started this program as that many ranks. none: threads.
  std::string launcher = "none";
  std::string interface;  // whose counters are read; empty: nobody's
  std::string network;    // the user's words for it
  std::int64_t ranks = 2, threads_per_rank = 1;
  bool overlap = true;
  std::string all_reduce = "composed";
  std::int64_t batch = 4, accumulate = 1, sequence = 256;
  std::int64_t warmup = 2, steps = 10;
  double clip = 1.0;  // 0: off
  double lr = 1e-3;
  std::uint64_t seed = 1;
  std::vector<std::string> data;           // empty: the built-in corpus
  std::uint64_t bucket_bytes = 4'000'000;  // 0: a bucket a unit
  std::int64_t buckets = 2;
  std::int64_t prefetch = 1;       // zero3: units gathered ahead
  bool keep_last = true;           // zero3: gathered once at the turn to backward
  std::int64_t persist_below = 0;  // zero3: parameters of fewer elements stay whole
  // Of parameters, gradients and activations, or bf16, fp16; tf32: fp32 with products of GPUs that
  // round their operands.
  std::string precision = "fp32";
  std::string reduce_dtype = "fp32";   // that gradients travel in
  double loss_scale = 0;               // the first one, and the good steps in a row that double it:
  std::int64_t loss_scale_window = 0;  // 0 and 0 wherever nothing is scaled, which is all but fp16
  std::string recompute = "none";      // or unit: activations are computed again for backward
  std::vector<std::string> freeze;     // patterns of the names of parameters that do not learn
  std::string vocab = "own";           // the model's; of a config.json config (its) or bytes (256)
  std::string config;                  // its name; empty: the model came from none
  std::uint64_t memory_limit_bytes = 0;  // 0: none
  double timeout_s = 600, comm_timeout_s = 60;
  std::string inject;  // a fault on purpose, for tests
  bool trace = false;  // its steps are written down for other programs: no time of it counts
  std::string profile = "none";  // or cupti: it records what GPUs do, and no time counts either
  bool operator==(const Cell&) const = default;
};

// model/strategy/nN/overlap-on, then whatever differs from the defaults: two different cells never
// share one.
std::string id_of(const Cell&);

// Ranks are processes, which a launcher starts; else threads of one.
bool of_processes(const Cell&);

// What a cell has where nobody asked for something else, by its comm and link.
std::string usual_collectives(const Cell&);
std::string usual_launcher(const Cell&);
// The same by its precision.
std::string usual_reduce_dtype(const Cell&);
double usual_loss_scale(const Cell&);
std::int64_t usual_loss_scale_window(const Cell&);

nlohmann::json to_json(const Cell&);
// Throws InputError: a key that is missing, unknown or of the wrong type.
Cell cell_from_json(const nlohmann::json&);

// The bytes that are trained on, and what the record says about them.
struct Text {
  std::string name;
  std::vector<std::uint8_t> bytes;
  std::uint64_t hash = 0;
  std::uint8_t largest() const { return bytes.empty() ? 0 : *std::ranges::max_element(bytes); }
};
// All files one after another; the built-in corpus where there are none. Throws InputError:
// missing, empty, unreadable.
Text load_text(const std::vector<std::string>& files);

Training training_of(const Cell&, std::vector<std::uint8_t> corpus);
// The same with patterns of parameter names matched against this architecture.
Training training_of(const Cell&, std::vector<std::uint8_t> corpus, const Architecture&);

// Throws InputError with a sentence where the cell cannot be trained: unknown names, shapes that do
// not divide, too little data, a text with bytes beyond the vocabulary. corpus_bytes, largest_byte:
// of its corpus.
void validate(const Cell&, std::size_t corpus_bytes, std::uint8_t largest_byte = 0);
// A bucket is at least 8 elements a rank. Throws InputError where that makes more than `most`.
void check_segments(const Cell&, std::size_t parameters, std::size_t most);
// Throws InputError: the model is neither a preset nor a form.
void check_model(const Cell&);

// Precision, the type of the reduction and loss scaling fit together.
void check_precision(const Cell&);
// Why gradients of this precision cannot travel in this type, one sentence; empty: they can.
std::string wire_misfit(const Cell&);
// fp32, bf16 or fp16.
DType dtype_named(const std::string&);
std::string type_word(DType);  // the same word, of one of these
// By parameter number: which of these names match one of the patterns, as a shell matches files;
// empty without patterns. Throws InputError: a pattern that matches nothing, or nothing left that
// learns.
std::vector<bool> frozen_by(const std::vector<std::string>& patterns, const Architecture&);
// Device, communicator and precision fit together, and the device is there.
void check_device(const Cell&);
// How ranks are started fits together: what validate() asks of comm, launcher, interface and
// network.
void check_launch(const Cell&);
// A cell may say none and given, a user may not: one is no launcher, the other is nobody's choice.
void check_typed_launcher(const std::string&);

// More compute and communication threads than cores. Until it has run, a cell is taken to have all
// of its ranks here; where it ran, its ranks say how many shared which cores.
bool oversubscribed(const Cell&, unsigned cores);
bool oversubscribed(const Cell&, unsigned cores, std::int64_t ranks_here);

}  // namespace shardmark
