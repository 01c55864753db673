// How are the samples of the gate made? See gate_pairs.hpp.
#include "bench/gate_pairs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <random>
#include <sstream>

#include "bench/isolated.hpp"
#include "bench/record.hpp"
#include "bench/run_folder.hpp"
#include "bench/runner.hpp"
#include "bench/text.hpp"

namespace shardmark {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::int64_t sample_version = 1;

const char* name_of(GateStage stage) { return stage == GateStage::first ? "first" : "confirming"; }

// Passes of the two stages never share an order.
std::int64_t order_number(GateStage stage, std::size_t number) {
  return static_cast<std::int64_t>(2 * number + (stage == GateStage::first ? 0 : 1));
}

// Of a measured step that did train: the fastest, each of its slowest rank.
double shortest(const json& step_ns) {
  double least = 0;
  for (const json& step : step_ns)
    if (const double ns = step.get<double>(); least == 0 || ns < least) least = ns;
  return least;
}

}  // namespace

PairRunner::PairRunner(GateProgram programs, const fs::path& samples, std::uint64_t seed,
                       Interrupts& interrupts)
    : programs_(std::move(programs)),
      path_(samples),
      file_(samples, std::ios::app),
      seed_(seed),
      interrupts_(interrupts) {
  if (!file_) throw InputError(fmt::format("samples cannot be written to {}.", samples.string()));
}

bool PairRunner::pass(GateStage stage, std::size_t number, const std::vector<GateCell*>& cells) {
  for (const std::size_t i : order_of(cells.size(), seed_, order_number(stage, number))) {
    if (cells[i]->failure.empty()) pair(stage, number, i, *cells[i]);
    if (interrupts_.seen()) return false;
  }
  return true;
}

void PairRunner::pair(GateStage stage, std::size_t number, std::size_t index, GateCell& cell) {
  std::mt19937_64 coin(seed_ * 1'000'003 +
                       static_cast<std::uint64_t>(order_number(stage, number)) * 1'009 + index);
  coin.discard(8);
  const Role first = coin() >> 63 ? Role::head : Role::base;
  const Role second = first == Role::base ? Role::head : Role::base;
  const double a = sample(stage, number, cell, first, true);
  if (!cell.failure.empty() || interrupts_.seen()) return;
  const double b = sample(stage, number, cell, second, false);
  if (!cell.failure.empty() || interrupts_.seen()) return;
  const TimePair both = first == Role::base ? TimePair{a, b} : TimePair{b, a};
  (stage == GateStage::first ? cell.first : cell.confirming).push_back(both);
}

double PairRunner::sample(GateStage stage, std::size_t number, GateCell& cell, Role role,
                          bool ran_first) {
  const bool is_head = role == Role::head;
  json asked = is_head ? cell.head : cell.base;
  if (is_head && !cell.control && !programs_.inject.empty()) asked["inject"] = programs_.inject;
  const fs::path& program = is_head && !cell.control ? programs_.head : programs_.base;
  const double limit_s = asked.value("timeout_s", 600.0);
  json line = {{"sample_version", sample_version},
               {"cell", cell.id},
               {"stage", name_of(stage)},
               {"pair", number},
               {"role", is_head ? "head" : "base"},
               {"control", cell.control},
               {"oversubscribed", cell.crowded},
               {"ran_first", ran_first},
               {"started_utc", utc("%Y-%m-%dT%H:%M:%SZ")}};
  const ProcessEnd end =
      run_program(program, {"shardmark", "cell", "-"}, asked.dump(), {limit_s}, interrupts_);
  if (end.how == ProcessEnd::How::interrupted) return 0;
  Answer answer;
  const json said = json::parse(end.output, nullptr, false);
  if (end.how == ProcessEnd::How::timed_out)
    answer.failure = fmt::format("it took longer than {} s and was ended", limit_s);
  else if (end.exit_code == 0 && said.is_object() && said.contains("sections"))
    answer.sections = said["sections"];
  else if (said.is_object() && said.contains("failure"))
    answer.failure = text_at(said, "failure");
  else
    answer.failure = end.signal != 0 ? "it was ended by " + signal_text(end.signal)
                                     : "its process ended without an answer";
  double ns = 0;
  if (answer.failure.empty()) {
    line["step_ns"] = answer.sections.at("time").at("step_ns");
    ns = shortest(line["step_ns"]);
  } else {
    line["failure"] = cell.failure = answer.failure;
    cell.base_failed = !is_head || cell.control;
  }
  line["wall_ns"] = end.wall_ns;
  file_ << line.dump() << std::endl;
  require(file_.good(), fmt::format("samples cannot be written to {}.", path_.string()));
  return ns;
}

std::vector<GateCell> read_samples(const fs::path& file) {
  const std::string text = read_whole_file("--samples", file);
  std::vector<GateCell> cells;
  std::map<std::pair<std::string, bool>, std::size_t> known;
  std::map<std::string, double> waiting;  // half of a pair
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    try {
      const json s = json::parse(line);
      if (s.at("sample_version") != sample_version) throw InputError("of another version");
      if (s.contains("failure")) continue;
      const std::string id = text_at(s, "cell");
      const bool control = s.at("control"), is_head = text_at(s, "role") == "head";
      const auto [at, fresh] = known.try_emplace({id, control}, cells.size());
      if (fresh) cells.push_back({id, {}, {}, s.at("oversubscribed"), control});
      const std::string key = fmt::format("{}\n{}\n{}\n{}", id, control, text_at(s, "stage"),
                                          s.at("pair").get<std::size_t>());
      const double ns = shortest(s.at("step_ns"));
      const auto [half, alone] = waiting.try_emplace(key, ns);
      if (alone) continue;
      cells[at->second].first.push_back(is_head ? TimePair{half->second, ns}
                                                : TimePair{ns, half->second});
    } catch (const std::exception& e) {
      throw InputError(fmt::format("--samples: line {} of {} is no sample of the gate: {}.", number,
                                   file.string(), e.what()));
    }
  }
  if (cells.empty())
    throw InputError(fmt::format("--samples: {} holds no sample of the gate.", file.string()));
  return cells;
}

}  // namespace shardmark
