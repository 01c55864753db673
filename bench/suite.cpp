// Which cells does a line of flags mean, and which does a suite? See suite.hpp.
#include "bench/suite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "bench/embedded.hpp"
#include "bench/link_text.hpp"
#include "bench/registry.hpp"
#include "bench/suite_lists.hpp"
#include "bench/text.hpp"
#include "impl/models/config.hpp"

namespace shardmark {

namespace {

std::vector<std::string> values_of(const CellFlag& flag, const std::vector<std::string>& given) {
  if (flag.list == CellFlag::List::none) return given;
  std::vector<std::string> values;
  for (const std::string& text : given)
    for (const std::string& value : flag.list == CellFlag::List::models  ? split_models(text)
                                    : flag.list == CellFlag::List::links ? split_links(text)
                                                                         : split(text, ',')) {
      if (value.empty())
        throw InputError(fmt::format("{} is \"{}\", which has an empty entry between its commas.",
                                     flag.name, text));
      if (std::string_view(flag.name) == "--strategy" && value == "all") {
        for (const std::string& name : strategy_names()) values.push_back(name);
      } else {
        values.push_back(value);
      }
    }
  return values;
}

// Where a launcher has started this program, its ranks are the ones that there are.
void resolve_in_world(const Draft& d, int world, Cell& cell) {
  const std::string started =
      fmt::format("a launcher has started this program as one of {} ranks", world);
  if (d.comm == "thread")
    throw InputError(fmt::format(
        "--comm is thread, but {}; leave --comm away, or run without the launcher.", started));
  if (d.launcher)
    throw InputError(
        fmt::format("--launcher is given, but {} already; leave --launcher away.", started));
  if (cell.ranks > world)
    throw InputError(fmt::format("--ranks is {}, but {}; give {} at most, or start more.",
                                 cell.ranks, started, world));
  cell.launcher = "given";
}

// What follows from comm and link: who makes the verbs, and who starts the ranks.
void resolve_transport(const Draft& d, std::optional<int> world, Cell& cell) {
  const char* of_world = cell.device == "cuda" ? "nccl" : "mpi";
  cell.comm = d.comm.value_or(world ? of_world : "thread");
  cell.collectives = d.collectives.value_or(usual_collectives(cell));
  cell.launcher = d.launcher.value_or(usual_launcher(cell));
  if (d.launcher) check_typed_launcher(*d.launcher);
  if (world) resolve_in_world(d, *world, cell);
}

void resolve_precision(const Draft& d, Cell& cell) {
  cell.reduce_dtype = d.reduce_dtype.value_or(usual_reduce_dtype(cell));
  cell.loss_scale = d.loss_scale.value_or(usual_loss_scale(cell));
  cell.loss_scale_window = d.loss_scale_window.value_or(usual_loss_scale_window(cell));
}

// The same is found for every cell.
void add_once(std::vector<std::string>* notes, const std::string& note) {
  if (notes && std::find(notes->begin(), notes->end(), note) == notes->end())
    notes->push_back(note);
}

// A config.json becomes the form that it describes, so that a cell needs no file to be run again.
// Most are called config.json: then their folder has the name.
void resolve_model(const Draft& d, Cell& cell, std::vector<std::string>* notes) {
  if (!is_config(cell.model)) {
    if (d.vocab) check_model(cell);
    if (d.vocab)
      throw InputError(
          fmt::format("--vocab {} is for --model FILE.json; --model {} says its own vocabulary.",
                      *d.vocab, cell.model));
    return;
  }
  const std::filesystem::path file = cell.model;
  const std::string folder = std::filesystem::absolute(file).parent_path().filename().string();
  cell.vocab = d.vocab.value_or("config");
  cell.config = file.stem() == "config" && !folder.empty() ? folder : file.stem().string();
  if (d.predicts && !d.vocab) return;
  std::vector<std::string> taken;
  cell.model =
      form_of_config(read_config("--model", file), cell.model, cell.vocab == "bytes", &taken);
  for (const std::string& note : taken) add_once(notes, file.string() + ": " + note + ".");
}

Cell resolved(const Draft& d, std::optional<int> world, std::vector<std::string>* notes) {
  Cell cell = d.cell;
  resolve_model(d, cell, notes);
  resolve_transport(d, world, cell);
  resolve_precision(d, cell);
  if (!d.global_batch) return cell;
  const std::int64_t shares = cell.ranks * cell.accumulate;
  if (*d.global_batch % shares != 0)
    throw InputError(
        fmt::format("--global-batch is {}, which {} ranks x {} micro-steps do not divide evenly; "
                    "give a multiple of {}.",
                    *d.global_batch, cell.ranks, cell.accumulate, shares));
  cell.batch = *d.global_batch / shares;
  return cell;
}

// Reads "--flag value value --flag value"; known: the flags that may stand here.
Given given_of(const std::vector<std::string>& all, const std::vector<std::string>& known) {
  Given given;
  std::string flag;
  for (std::string word : all) {
    std::string value;
    bool has_value = false;
    if (word.rfind("--", 0) == 0) {
      if (const std::size_t equals = word.find('='); equals != word.npos) {
        value = word.substr(equals + 1);
        word.resize(equals);
        has_value = true;
      }
      if (std::find(known.begin(), known.end(), word) == known.end())
        throw InputError(
            fmt::format("{} is no flag that can stand here{}", word, suggestion(word, known)));
      if (given.count(word)) throw InputError(fmt::format("{} is given twice.", word));
      flag = word;
      given[flag];
      if (has_value) given[flag].push_back(value);
    } else if (flag.empty()) {
      throw InputError(
          fmt::format("\"{}\" is no flag; a line is flags of `shardmark run`, such as "
                      "--model gpt-nano --ranks 2.",
                      word));
    } else if (!given[flag].empty() && flag != "--data") {
      throw InputError(fmt::format(
          "{} has a second value \"{}\"; separate values by commas, without blanks.", flag, word));
    } else {
      given[flag].push_back(word);
    }
  }
  for (const auto& [name, values] : given)
    if (values.empty()) throw InputError(fmt::format("{} has no value.", name));
  return given;
}

RunFlags run_flags_of(const std::vector<std::string>& all, RunFlags from) {
  for (const auto& [flag, values] : given_of(all, {"--rounds", "--order-seed"})) {
    if (flag == "--rounds") from.rounds = whole_number(flag, values[0], 1, 10'000);
    if (flag == "--order-seed")
      from.order_seed = static_cast<std::uint64_t>(whole_number(flag, values[0], 0, INT64_MAX));
  }
  return from;
}

}  // namespace

namespace {

std::vector<Cell> cells_from(const Draft& start, const Given& given, std::optional<int> world,
                             std::vector<std::string>* notes) {
  if (given.count("--batch") && given.count("--global-batch"))
    throw InputError("--batch and --global-batch are both given; give one of them.");
  std::vector<Draft> drafts(1, start);
  for (const CellFlag& flag : cell_flags()) {
    const auto it = given.find(flag.name);
    if (it == given.end() && std::string_view(flag.name) != "--strategy") continue;
    const auto values =
        values_of(flag, it == given.end() ? std::vector<std::string>{"all"} : it->second);
    if (!flag.set) {  // --data: one value that is a list
      for (Draft& d : drafts) d.cell.data = values;
      continue;
    }
    std::vector<Draft> more;
    for (const Draft& d : drafts)
      for (const std::string& value : values) flag.set(more.emplace_back(d), flag.name, value);
    if (more.size() > 100'000)
      throw InputError("the comma lists multiply into more than 100000 cells; give fewer values.");
    drafts = std::move(more);
  }
  keep_what_differs(drafts);
  scale_what_is_scaled(drafts);
  std::vector<Cell> cells;
  for (const Draft& d : drafts) cells.push_back(resolved(d, world, notes));
  leave_out_misfits(cells, notes);
  return cells;
}

}  // namespace

std::vector<Cell> cells_of(const Given& given, std::optional<int> world,
                           std::vector<std::string>* notes) {
  return cells_from({}, given, world, notes);
}

std::vector<Cell> predicted_cells_of(const Given& given, std::vector<std::string>* notes) {
  Draft start;
  start.predicts = true;
  return cells_from(start, given, std::nullopt, notes);
}

void validate(const std::vector<Cell>& cells) {
  // Each corpus is read once: its size and its largest byte.
  std::map<std::vector<std::string>, std::pair<std::size_t, std::uint8_t>> known;
  for (const Cell& cell : cells) {
    if (!known.contains(cell.data)) {
      const Text text = load_text(cell.data);
      known[cell.data] = {text.bytes.size(), text.largest()};
    }
    const auto [size, largest] = known[cell.data];
    validate(cell, size, largest);
  }
}

Suite parse_suite(const std::string& name, const std::string& text, const Given& override_with) {
  Suite suite{name, {}, {}, {}};
  std::vector<std::string> known;
  for (const CellFlag& flag : cell_flags()) known.emplace_back(flag.name);
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    try {
      std::vector<std::string> all = words(line);
      if (all.empty()) continue;
      if (all.front() == "run:") {
        all.erase(all.begin());
        suite.run = run_flags_of(all, suite.run);
        continue;
      }
      Given given = given_of(all, known);
      for (const auto& [flag, values] : override_with) {
        if (flag == "--batch") given.erase("--global-batch");
        if (flag == "--global-batch") given.erase("--batch");
        given[flag] = values;
      }
      std::vector<Cell> cells = cells_of(given, mpi::launched(), &suite.notes);
      validate(cells);
      std::move(cells.begin(), cells.end(), std::back_inserter(suite.cells));
    } catch (const InputError& e) {
      throw InputError(fmt::format("{}, line {}: {}", name, number, e.what()));
    }
  }
  if (suite.cells.empty())
    throw InputError(
        fmt::format("{}: the suite has no cells; a line is flags of `shardmark run`.", name));
  remove_duplicates(suite);
  return suite;
}

Suite load_suite(const std::string& file_or_name, const Given& override_with) {
  const auto carried = embedded_names(".suite");
  const std::filesystem::path path = file_or_name;
  // By its spelling alone: a file that is called default must not become the default.
  if (std::find(carried.begin(), carried.end(), file_or_name + ".suite") != carried.end())
    return parse_suite(file_or_name, std::string(embedded(file_or_name + ".suite")), override_with);
  if (file_or_name.find('/') == file_or_name.npos && path.extension() != ".suite") {
    std::vector<std::string> names;
    for (const std::string& n : carried) names.push_back(n.substr(0, n.size() - 6));
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored))
      throw InputError(
          fmt::format("--suite \"{}\" is no suite of this build ({}); write ./{} for the file.",
                      file_or_name, join(names, ", "), file_or_name));
    throw InputError(
        fmt::format("--suite \"{}\" is neither a file nor a suite of this build ({}){}",
                    file_or_name, join(names, ", "), suggestion(file_or_name, names)));
  }
  Suite suite = parse_suite(file_or_name, read_whole_file("--suite", path), override_with);
  suite.name = path.stem().string();
  return suite;
}

void remove_duplicates(Suite& suite) {
  std::set<std::string> seen;
  std::vector<Cell> once;
  for (Cell& cell : suite.cells) {
    const std::string id = id_of(cell);
    if (seen.insert(id).second) {
      once.push_back(std::move(cell));
    } else {
      suite.notes.push_back(fmt::format("{} is there more than once and runs once a round.", id));
    }
  }
  suite.cells = std::move(once);
}

}  // namespace shardmark
