// What do two programs make of one suite? See gate_sides.hpp.
#include "bench/gate_sides.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "bench/compare.hpp"
#include "bench/embedded.hpp"
#include "bench/record.hpp"
#include "bench/text.hpp"
#include "kernels/error.hpp"

namespace shardmark {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// A rank that waits for good fails its cell soon, and a program that never ends is ended.
constexpr const char *cell_limit = "60", *comm_limit = "20";
constexpr double run_limit_s = 300, grace_s = 10;

bool run_side(const std::string& which, const fs::path& program, const fs::path& suite,
              const fs::path& folder, Interrupts& interrupts) {
  const ProcessEnd end =
      run_program(program,
                  {"shardmark", "run", "--suite", suite, "--rounds", "1", "--out", folder,
                   "--timeout", cell_limit, "--comm-timeout", comm_limit},
                  "", {run_limit_s, 0, grace_s}, interrupts);
  if (interrupts.seen()) return false;
  std::string said = trimmed(end.errors);
  if (const std::size_t line = said.rfind('\n'); line != said.npos) said = said.substr(line + 1);
  if (end.how == ProcessEnd::How::timed_out)
    throw Error(fmt::format("{} did not come to the end of {} within {} s.", which,
                            suite.filename().string(), run_limit_s));
  if (end.how == ProcessEnd::How::crashed)
    throw Error(fmt::format("{} was ended by {}.", which, signal_text(end.signal)));
  if (end.exit_code == 2)
    throw InputError(fmt::format("{} does not take {}: {}{}", which, suite.filename().string(),
                                 said,
                                 which == "base" ? " (a base that is too old for the suite cannot "
                                                   "be compared by it)"
                                                 : ""));
  if (!fs::exists(folder / "records.jsonl"))
    throw Error(
        fmt::format("{} left no records of {}: {}", which, suite.filename().string(), said));
  return true;
}

std::map<std::string, json> ended_cells(const fs::path& folder) {
  std::map<std::string, json> out;
  for (const json& r : latest(read_records(folder).records))
    if (text_at(r, "status") == "ok") out[id_at(r)] = r;
  return out;
}

}  // namespace

std::string suite_text(const std::string& flag, const std::string& file_or_name) {
  const auto carried = embedded_names(".suite");
  if (std::find(carried.begin(), carried.end(), file_or_name + ".suite") != carried.end())
    return std::string(embedded(file_or_name + ".suite"));
  return read_whole_file(flag, file_or_name);
}

bool run_base(const GateProgram& programs, const fs::path& suite, const fs::path& folder,
              Interrupts& interrupts) {
  return run_side("base", programs.base, suite, folder, interrupts);
}

bool run_sides(const GateProgram& programs, const fs::path& suite, const GateFolders& folders,
               Interrupts& interrupts) {
  return run_base(programs, suite, folders.base, interrupts) &&
         run_side("head", programs.head, suite, folders.head, interrupts);
}

std::vector<GateCell> timed_cells(const GateFolders& folders) {
  const auto base = ended_cells(folders.base), head = ended_cells(folders.head);
  std::vector<GateCell> cells;
  for (const auto& [id, record] : base) {
    const auto other = head.find(id);
    if (other == head.end()) continue;
    cells.push_back({without_time_limits(id), record.at("cell"), other->second.at("cell"),
                     record.at("oversubscribed")});
  }
  const auto calm =
      std::find_if(cells.begin(), cells.end(), [](const auto& c) { return !c.crowded; });
  if (cells.empty()) return cells;
  GateCell control = calm == cells.end() ? cells.front() : *calm;
  control.head = control.base;
  control.control = true;
  cells.push_back(control);
  return cells;
}

}  // namespace shardmark
