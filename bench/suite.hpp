#pragma once
// Which cells does a line of flags mean, and which does a suite? A suite is a text file: a line is
// the flags of `shardmark run`, comma lists multiply into cells, # starts a comment, and a line
// that begins with "run:" holds flags of the whole run.
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/cell.hpp"

namespace shardmark {

// One line being resolved: the batch follows from global_batch once ranks are known, collectives
// and launcher from comm and link, the type of the reduction and loss scaling from the precision,
// the form of a model from its config.json.
struct Draft {
  Cell cell;
  // Nothing will run: there may be more ranks, and models that cannot be trained here.
  bool predicts = false;
  std::optional<std::int64_t> global_batch;
  // Where they were asked for.
  std::optional<std::string> comm, collectives, launcher, reduce_dtype, vocab;
  std::optional<double> loss_scale;
  std::optional<std::int64_t> loss_scale_window;
};

struct CellFlag {
  enum class List { commas, models, links, none } list;
  const char* name;   // --ranks
  const char* value;  // N, as --help shows it
  const char* help;   // empty: hidden from --help
  void (*set)(Draft&, const std::string& flag, const std::string& value);  // throws InputError
};
const std::vector<CellFlag>& cell_flags();

// What was given, by flag name, unparsed; --data has one entry a file.
using Given = std::map<std::string, std::vector<std::string>>;

// All combinations, the first flag of cell_flags() varying slowest; without --strategy, all of
// them. world: as how many ranks a launcher has started this program; notes: gets a sentence where
// combinations that cannot be are left out. Throws InputError.
std::vector<Cell> cells_of(const Given&, std::optional<int> world = mpi::launched(),
                           std::vector<std::string>* notes = nullptr);
// Cells that are only predicted: up to 100,000 ranks; a config.json stays the name of its file.
std::vector<Cell> predicted_cells_of(const Given&, std::vector<std::string>* notes = nullptr);

struct RunFlags {
  std::int64_t rounds = 5;
  std::uint64_t order_seed = 1;
};

struct Suite {
  std::string name;
  RunFlags run;
  std::vector<Cell> cells;
  std::vector<std::string> notes;  // what was removed: duplicates, and what cannot be
};

// override_with: flags of the command line, which replace the same flag in every line. Throws
// InputError naming name and line.
Suite parse_suite(const std::string& name, const std::string& text, const Given& override_with);
// The name of a suite that the binary carries, or a file, whose name has a / or ends in .suite.
// Throws InputError where it is neither.
Suite load_suite(const std::string& file_or_name, const Given& override_with);

// Removes cells that are there twice, with a note each.
void remove_duplicates(Suite&);
// Every cell can be trained: throws InputError otherwise, before anything has run.
void validate(const std::vector<Cell>&);

}  // namespace shardmark
