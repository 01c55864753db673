#pragma once
// How is one cell run apart from everything else, and what came of it? Its ranks are threads of
// one new process, or processes that a launcher starts; however they end, this process goes on.
#include <nlohmann/json.hpp>
#include <string>

#include "bench/cell.hpp"
#include "bench/launcher.hpp"
#include "bench/process.hpp"
#include "bench/runner.hpp"
#include "kernels/cpu/cores.hpp"

namespace shardmark {

// What the end of a cell's process says: the sections of its record, or why it failed.
struct Answer {
  nlohmann::json sections;  // an object, or null
  std::string failure;      // empty: none
};
Answer answer_of(const Cell&, const ProcessEnd&);

// Of ranks that a launcher started; output: what all of them printed.
Answer answer_of_ranks(std::int64_t ranks, double timeout_s, const ProcessEnd&);

class IsolatedCells final : public CellRunner {
 public:
  // Throws InputError where a launcher does not work.
  explicit IsolatedCells(const std::vector<Cell>&);
  bool ready() { return interrupted_by() == 0; }
  std::optional<Ended> run(const Cell&, const Attempt&) override;
  bool isolates() const override { return true; }
  int cores() const override { return usable_cores(); }
  int interrupted_by() override { return interrupts_.seen() ? interrupts_.signal() : 0; }

 private:
  ProcessEnd process(const Cell&);
  Interrupts interrupts_;
  std::map<std::string, Where> where_;  // the ranks are, by launcher
};

}  // namespace shardmark
