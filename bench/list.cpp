// What can this build run? See list.hpp.
#include "bench/list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "bench/units.hpp"
#include "impl/models/registry.hpp"
#include "impl/strategies/strategy.hpp"
#include "kernels/cpu/math.hpp"

namespace shardmark {

namespace {

constexpr std::size_t usual_sequence = 256;

void models(Grid& grid) {
  grid.row({fmt::format("models (--model), parameters counted at --sequence {}", usual_sequence)});
  for (const Preset& p : presets())
    grid.row(
        {"  " + p.name,
         grouped(static_cast<double>(make_architecture(p.form, usual_sequence).parameter_count())),
         fmt::format("{}; short for {}", p.summary, p.form)});
  for (const FreeForm& f : free_forms()) grid.row({"  " + f.pattern + "  " + f.summary});
}

void strategies_in_order(Grid& grid) {
  std::vector<const std::pair<const std::string, StrategyEntry>*> all;
  for (const auto& s : strategies()) all.push_back(&s);
  std::sort(all.begin(), all.end(),
            [](auto* a, auto* b) { return a->second.rank < b->second.rank; });
  grid.row({"strategies (--strategy)"});
  for (const auto* s : all) grid.row({"  " + s->first, "", s->second.summary});
}

std::string nvidia_driver() {
  std::error_code ignored;
  return std::filesystem::exists("/proc/driver/nvidia/version", ignored)
             ? "an NVIDIA driver is loaded here"
             : "and no NVIDIA driver is loaded here";
}

}  // namespace

std::string list_text() {
  Grid grid(3);
  models(grid);
  grid.row({""});
  strategies_in_order(grid);
  grid.row({""});
  grid.row({"devices"});
  grid.row({"  cpu", "here",
            fmt::format("kernels for {}, matrix products by {}", cpu::instruction_set(),
                        cpu::matrix_library() == "plain" ? "plain loops" : cpu::matrix_library())});
  grid.row({"  dry", "in tests",
            "no memory and no arithmetic: counts bytes and calls, checks the order of accesses"});
  grid.row({"  cuda", "absent", "this version has no CUDA kernels; " + nvidia_driver()});
  grid.row({""});
  grid.row({"communicators"});
  grid.row({"  thread", "here",
            "ranks are threads of one process; sums in rank order, bit for bit repeatable"});
  grid.row({"  dry", "in tests", "counts volumes for any number of ranks"});
  grid.row({"  mpi", "absent", "this version runs ranks as threads only"});
  grid.row({"  nccl", "absent", "needs the cuda device"});
  return grid.text();
}

int list() {
  fmt::print("{}", list_text());
  return 0;
}

}  // namespace shardmark
