#pragma once
// What happens where a launcher started `shardmark run` itself, as many ranks? Rank 0 plans, writes
// and prints as ever, and tells the others which cell comes next; a cell's ranks are the first ones
// of that world, and the rest sleep. A rank that fails takes the whole job with it.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/cell.hpp"
#include "bench/rank_watch.hpp"
#include "bench/runner.hpp"
#include "impl/comm/mpi.hpp"

namespace shardmark {

class GivenWorld final : public CellRunner {
 public:
  GivenWorld();
  int rank() const { return session_.rank(); }
  int size() const { return session_.size(); }

  // Ranks 1 and up: takes part in what rank 0 tells, until it tells the end. Returns the exit code.
  int follow();
  // Rank 0, as the last thing.
  void end(int exit_code);

  // Rank 0. Throws InputError where a cell cannot run here.
  void check(const std::vector<Cell>&) const;
  std::optional<Ended> run(const Cell&, const Attempt&) override;
  bool isolates() const override { return false; }
  int cores() const override { return cores_; }
  int interrupted_by() override { return 0; }  // a signal ends the process: rank_watch.hpp

 private:
  nlohmann::json take_part(const nlohmann::json& order);

  RankWatch watch_;  // before MPI is started
  mpi::Session session_;
  int cores_ = 1;
};

}  // namespace shardmark
