#include "bench/strategy_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "bench/import.hpp"
#include "bench/text.hpp"

namespace shardmark {

namespace {

using Lines = std::vector<Imported::Line>;

bool is_one_of(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// What values in a file follow from.
const std::vector<std::string>& facts_flags() {
  static const std::vector<std::string> all = {"--model",      "--ranks",     "--batch",
                                               "--accumulate", "--precision", "--reduce-dtype"};
  return all;
}

std::vector<Given> one_of_each(const Given& typed) {
  std::vector<Given> all = {typed};
  for (const std::string& flag : facts_flags()) {
    const auto it = typed.find(flag);
    if (it == typed.end()) continue;
    const std::string text = join(it->second, ",");
    std::vector<Given> more;
    for (const Given& line : all)
      for (const std::string& value : flag == "--model" ? split_models(text) : split(text, ','))
        (more.emplace_back(line))[flag] = {value};
    if (more.size() > 10'000)
      throw InputError(
          "the comma lists beside --strategy-config multiply into more than 10000 readings of it; "
          "give fewer values.");
    all = std::move(more);
  }
  return all;
}

// Models are read once.
class Facts {
 public:
  ImportFacts of(const Given& line) {
    Draft d;
    d.predicts = true;
    for (const CellFlag& flag : cell_flags())
      if (line.contains(flag.name) && is_one_of(facts_flags(), flag.name))
        flag.set(d, flag.name, line.at(flag.name).front());
    auto known = known_.find(d.cell.model);
    if (known == known_.end())
      known = known_.emplace(d.cell.model, facts_of_model(d.cell.model)).first;
    ImportFacts facts = known->second;
    if (line.contains("--ranks")) facts.ranks = d.cell.ranks;
    if (line.contains("--batch")) facts.batch = d.cell.batch;
    if (line.contains("--accumulate")) facts.accumulate = d.cell.accumulate;
    if (line.contains("--precision")) facts.precision = d.cell.precision;
    facts.wire = d.reduce_dtype;
    facts.read = [](const std::string& file) { return read_config("deepspeed_config_file", file); };
    return facts;
  }

 private:
  std::map<std::string, ImportFacts> known_;
};

// What nobody says is what a cell has anyway, and the file is read with that: so its sizes agree.
Imported read_with_defaults(const std::string& text, const std::string& file, ImportFacts facts,
                            std::vector<std::string>& taken) {
  Imported first = import_strategy(text, file, facts);
  const auto open = [&](const char* flag, auto& fact, const auto& usual) {
    if (first.given.contains(flag) || fact) return;
    fact = usual;
    taken.push_back(fmt::format("{} {}", flag, usual));
  };
  const Cell usual;
  open("--ranks", facts.ranks, usual.ranks);
  open("--accumulate", facts.accumulate, usual.accumulate);
  open("--precision", facts.precision, usual.precision);
  return taken.empty() ? first : import_strategy(text, file, facts);
}

bool same(const std::string& a, const std::string& b) {
  const auto number = [](const std::string& text) {
    double value = 0;
    const auto r = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = r.ec == std::errc() && r.ptr == text.data() + text.size();
    return whole ? std::optional(value) : std::nullopt;
  };
  return a == b || (number(a) && number(a) == number(b));
}

[[noreturn]] void refuse(const std::string& flag, const std::string& typed, const std::string& file,
                         const std::string& says) {
  throw InputError(fmt::format("{} is \"{}\", but {} says {}; leave {} away, or change the file.",
                               flag, typed, file, says, flag));
}

// All ranks' batch, where the file says a rank's.
void check_global_batch(const std::string& typed, const Given& given, const std::string& file) {
  const auto number = [&](const char* flag, std::int64_t usual) {
    const auto it = given.find(flag);
    return it == given.end() ? usual : whole_number(flag, it->second.front(), 1, 1'000'000'000);
  };
  const std::int64_t batch = number("--batch", 1), steps = number("--accumulate", 1),
                     ranks = number("--ranks", 1);
  if (!same(typed, fmt::to_string(batch * steps * ranks)))
    refuse("--global-batch", typed, file,
           fmt::format("{}, a batch of {} x {} micro-steps x {} ranks", batch * steps * ranks,
                       batch, steps, ranks));
}

Given merged(const Imported& i, const Given& typed, const std::string& file,
             const std::vector<std::string>& without) {
  Given all = i.given;
  for (const std::string& flag : without) all.erase(flag);
  for (const auto& [flag, values] : typed) {
    if (flag == "--global-batch" && i.given.contains("--batch")) {
      check_global_batch(values.front(), i.given, file);
      continue;
    }
    const auto there = i.given.find(flag);
    const auto said = i.said.find(flag);
    const bool holds = there != i.given.end() && (said != i.said.end() || flag == "--strategy");
    if (holds && !same(join(values, " "), there->second.front()))
      refuse(flag, join(values, " "), file,
             there->second.front() +
                 (said == i.said.end() ? "" : fmt::format(" (\"{}\")", said->second)));
    all[flag] = values;
  }
  return all;
}

std::string listed(const Lines& lines, bool why) {
  std::vector<std::string> all;
  for (const Imported::Line& l : lines)
    all.push_back(why ? fmt::format("{} ({})", l.key, l.became) : l.key);
  return join(all, why ? "; " : ", ");
}

// Short: `shardmark import` says it key by key.
std::vector<std::string> summary(const Imported& i, const Given& merged, const Given& typed,
                                 const std::string& file, const std::vector<std::string>& taken) {
  Given own = merged;
  for (const auto& [flag, values] : typed) own.erase(flag);
  std::vector<std::string> all = {
      fmt::format("{} ({}) sets{}", file, i.kind, run_line(own).substr(run_line({}).size()))};
  if (!taken.empty())
    all.push_back(
        fmt::format("{}: nothing says {}, which is what is usual here", file, join(taken, ", ")));
  if (!i.left_open.empty())
    all.push_back(fmt::format("{}: left open: {}", file, listed(i.left_open, false)));
  if (!i.unsupported.empty())
    all.push_back(fmt::format("{}: unsupported: {}", file, listed(i.unsupported, true)));
  constexpr std::size_t few = 6;
  if (!i.ignored.empty())
    all.push_back(fmt::format(
        "{}: ignored: {}", file,
        i.ignored.size() > few ? fmt::format("{} keys that change nothing here", i.ignored.size())
                               : listed(i.ignored, false)));
  all.push_back(fmt::format(
      "{0}: key by key, and what the framework itself does otherwise: shardmark import {0}", file));
  return all;
}

}  // namespace

std::vector<Given> with_strategy_config(const std::string& file, const Given& typed,
                                        const std::vector<std::string>& without,
                                        std::vector<std::string>* notes) {
  if (file.empty()) return {typed};
  const std::string text = read_config("--strategy-config", file);
  Facts facts;
  std::vector<Given> all;
  for (const Given& line : one_of_each(typed)) {
    std::vector<std::string> taken;
    const Imported i = read_with_defaults(text, file, facts.of(line), taken);
    all.push_back(merged(i, line, file, without));
    if (!notes) continue;
    for (const std::string& note : summary(i, all.back(), line, file, taken))
      if (!is_one_of(*notes, note)) notes->push_back(note);
  }
  return all;
}

}  // namespace shardmark
