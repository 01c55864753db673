#include "bench/exercises/trial.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/blocks.hpp"
#include "bench/checks.hpp"
#include "bench/record.hpp"
#include "bench/run_folder.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

void check(const std::vector<json>& records, const std::string& folder) {
  for (const json& r : records)
    if (text_at(r, "status") != "ok")
      throw Error(fmt::format("{} {}: {}; the records are in {}", id_at(r), text_at(r, "status"),
                              text_at(r, "reason"), folder));
  std::vector<Finding> found = failed_checks(records);
  if (found.empty()) found = cross_checks(records);
  if (!found.empty())
    throw Error(fmt::format("{} of {} is false: {}; the records are in {}", found[0].check,
                            found[0].cell, found[0].sentence, folder));
}

}  // namespace

Trial::Trial(std::vector<json> records, std::string folder)
    : records_(std::move(records)), folder_(std::move(folder)) {
  require(!records_.empty(), "an exercise has no records");
  check(records_, folder_);
  groups_ = summarize(records_);
}

const Row& Trial::row(const json& settings) const {
  const Row* found = nullptr;
  for (const Group& group : groups_)
    for (const Row& row : group.rows) {
      const json& cell = row.shown->at("cell");
      const auto& items = settings.items();
      if (!std::all_of(items.begin(), items.end(),
                       [&](const auto& i) { return cell.at(i.key()) == i.value(); }))
        continue;
      require(!found, fmt::format("an exercise has several cells with {}", settings.dump()));
      found = &row;
    }
  require(found, fmt::format("an exercise has no cell with {}", settings.dump()));
  return *found;
}

std::string Trial::about() const {
  const json& machine = records_.front().at("machine");
  return fmt::format("{} records in {}; {}, {} cores.", records_.size(), folder_,
                     text_at(machine, "cpu"), machine.at("cores_usable").dump());
}

bool Trial::crowded() const {
  return std::any_of(records_.begin(), records_.end(),
                     [](const json& r) { return r.at("oversubscribed").get<bool>(); });
}

std::optional<Trial> run_trial(const std::string& name, CellRunner& runner,
                               const Smaller& smaller) {
  Suite suite = load_suite(name, smaller.flags);
  suite.run.rounds = smaller.rounds.value_or(suite.run.rounds);
  RunFolder folder = create_run(std::nullopt, suite);
  if (execute(suite, folder, runner).interrupted_by != 0) return std::nullopt;
  return Trial(latest(read_records(folder.path).records), folder.path.string());
}

double called(const Row& row, const char* key, std::initializer_list<const char*> verbs) {
  double total = 0;
  for (const json& call : row.shown->at("traffic").at("called"))
    if (text_at(call, "dtype") != "f64" &&
        std::find(verbs.begin(), verbs.end(), text_at(call, "verb")) != verbs.end())
      total += call.at(key).get<double>();
  return total;
}

double parameters_of(const Row& row) {
  return row.shown->at("bytes").at("parameters").get<double>();
}

double state_bytes_of(const Row& row) {
  return row.shown->at("bytes").at("model_state").at("measured_bytes").get<double>();
}

std::string interval_ms(const Row& row, int decimals) {
  const auto ms = [&](double ns) { return fixed(ns * 1e-6, decimals); };
  return row.ok.size() < 2
             ? ms(row.step_ns())
             : fmt::format("{} ({}..{})", ms(row.step_ns()), ms(row.low_ns), ms(row.high_ns));
}

double link_rate(const Row& row) {
  const json& link = row.shown->at("emulated_link");
  return link.is_null() ? 0 : link.at("rate_bytes_per_second").get<double>();
}

}  // namespace shardmark
