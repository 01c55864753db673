// Which rows does a run come to? See summary.hpp.
#include "bench/summary.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "bench/registry.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

double median_step(const json& record) { return record["time"]["median"]["step_ns"].get<double>(); }

void choose(Row& row) {
  if (row.ok.empty()) return;
  std::stable_sort(row.ok.begin(), row.ok.end(),
                   [](const json* a, const json* b) { return median_step(*a) < median_step(*b); });
  row.shown = row.ok[(row.ok.size() - 1) / 2];
  row.low_ns = median_step(*row.ok.front());
  row.high_ns = median_step(*row.ok.back());
}

// The order in which the subject is learned; names that this build does not know come last, by
// alphabet.
void sort_rows(std::vector<Row>& rows) {
  const std::vector<std::string> ladder = strategy_names();
  const auto key = [&](const Row& row) {
    return std::tuple(row.overlap, std::find(ladder.begin(), ladder.end(), row.strategy),
                      row.strategy);
  };
  std::sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) { return key(a) < key(b); });
}

}  // namespace

double Row::step_ns() const { return shown ? median_step(*shown) : 0; }

const Row* Group::find(const std::string& strategy, bool overlap) const {
  for (const Row& row : rows)
    if (row.strategy == strategy && row.overlap == overlap) return &row;
  return nullptr;
}

bool Group::both_overlaps() const {
  return std::any_of(rows.begin(), rows.end(),
                     [&](const Row& r) { return r.overlap != rows.front().overlap; });
}

std::vector<Group> summarize(const std::vector<json>& records) {
  std::map<std::pair<std::string, int>, std::size_t> last;
  for (std::size_t i = 0; i < records.size(); ++i)
    last[{records[i]["cell"]["id"].get<std::string>(), records[i]["round"].get<int>()}] = i;

  std::vector<Group> groups;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const json& record = records[i];
    const json& cell = record["cell"];
    const std::string id = cell["id"];
    if (last[{id, record["round"].get<int>()}] != i) continue;
    json settings = cell;
    for (const char* key : {"id", "strategy", "overlap"}) settings.erase(key);

    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const Group& g) { return g.settings == settings; });
    if (group == groups.end()) group = groups.insert(groups.end(), Group{settings, {}});
    auto row = std::find_if(group->rows.begin(), group->rows.end(),
                            [&](const Row& r) { return r.id == id; });
    if (row == group->rows.end()) {
      row = group->rows.insert(group->rows.end(), Row{});
      row->strategy = cell["strategy"];
      row->id = id;
      row->overlap = cell["overlap"];
    }
    (record["status"] == "ok" ? row->ok : row->not_ok).push_back(&record);
  }
  for (Group& group : groups) {
    for (Row& row : group.rows) choose(row);
    sort_rows(group.rows);
  }
  // The first cell of a round is drawn by chance; a table must not be.
  std::stable_sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
    const auto key = [](const json& s) {
      return std::tuple(s["model"].get<std::string>(), s["ranks"].get<int>(), s["batch"].get<int>(),
                        s.dump());
    };
    return key(a.settings) < key(b.settings);
  });
  return groups;
}

bool indistinct(const Row& a, const Row& b) {
  if (a.ok.size() < 2 || b.ok.size() < 2) return false;
  return a.low_ns <= b.high_ns && b.low_ns <= a.high_ns;
}

std::size_t rounds_of(const std::vector<Group>& groups) {
  std::size_t most = 0;
  for (const Group& g : groups)
    for (const Row& r : g.rows) most = std::max(most, r.ok.size() + r.not_ok.size());
  return most;
}

std::set<std::size_t> interval_rounds(const std::vector<Group>& groups) {
  std::set<std::size_t> counts;
  for (const Group& g : groups)
    for (const Row& r : g.rows)
      if (r.ok.size() > 1) counts.insert(r.ok.size());
  return counts;
}

}  // namespace shardmark
