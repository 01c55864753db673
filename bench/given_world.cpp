// What happens where a launcher started `shardmark run` itself, as many ranks? See given_world.hpp.
#include "bench/given_world.hpp"

#include <fmt/format.h>

#include <atomic>

#include "bench/execute.hpp"
#include "bench/last_words.hpp"
#include "impl/comm/interface.hpp"
#include "profilers/timeline.hpp"

namespace shardmark {

using nlohmann::json;

GivenWorld::GivenWorld() {
  constexpr double patience_s = 60;
  const auto all = session_.group(session_.size(), patience_s, [](const Failure& f) {
    fmt::print(stderr, "shardmark: {}\n", failure_text(f));
  });
  cores_ = all->cores_on_this_host();
}

void GivenWorld::check(const std::vector<Cell>& cells) const {
  for (const Cell& c : cells) {
    if (!of_processes(c))
      throw InputError(
          fmt::format("the cell {} has --comm {}, which does not run in a world that a launcher "
                      "gave; start shardmark run without one.",
                      id_of(c), c.comm));
    if (c.ranks > size())
      throw InputError(
          fmt::format("--ranks {} is more than the {} that the launcher started; start as many, "
                      "or ask for fewer.",
                      c.ranks, size()));
    if (!c.interface.empty()) sent_by(c.interface);
  }
}

std::optional<Ended> GivenWorld::run(const Cell& cell, const Attempt& attempt) {
  const json order = {{"cell", to_json(cell)},
                      {"folder", std::filesystem::absolute(attempt.folder).string()},
                      {"round", attempt.round}};
  session_.tell(order.dump());
  const std::int64_t begin = now_ns();
  json sections = take_part(order);
  return Ended{std::move(sections), "", now_ns() - begin};
}

int GivenWorld::follow() {
  for (;;) {
    const json order = json::parse(session_.listen());
    if (order.contains("end")) return order["end"];
    take_part(order);
  }
}

void GivenWorld::end(int exit_code) { session_.tell(json{{"end", exit_code}}.dump()); }

json GivenWorld::take_part(const json& order) {
  const Cell cell = cell_from_json(order["cell"]);
  if (rank() >= cell.ranks) return nullptr;
  const std::filesystem::path folder = order["folder"].get<std::string>();
  const auto keep = [id = id_of(cell), folder, round = order["round"].get<std::int64_t>()](
                        const json& line) { keep_last_words(folder, id, round, line); };
  std::atomic<bool> told{false};
  const auto go_on = [&cell, &told, folder] {
    if (told.exchange(true)) return;
    fmt::print(stderr, "shardmark: the job ends in {}; go on behind it with --resume {}\n",
               id_of(cell), folder.string());
  };
  // Asked to end; how to go on is said once, by the rank that prints everything.
  const auto say = [this, keep, go_on](const json& line) {
    keep(line);
    if (rank() == 0) go_on();
  };
  const auto job_ends = [&](const std::string& why) {
    keep({{"failure", why}, {"rank", rank()}});
    fmt::print(stderr, "shardmark: {}\n", why);
    if (rank() == 0) go_on();
  };
  const auto failed = [&](const Failure& f) { job_ends(failure_text(f)); };
  const auto late = [&] {
    job_ends(
        fmt::format("it took longer than its --timeout of {} s and was ended", cell.timeout_s));
    session_.abort(1);
  };
  try {
    const auto group = session_.group(static_cast<int>(cell.ranks), cell.comm_timeout_s, failed);
    // One rank looks at the clock for all.
    const auto watching = watch_.watch(*group, say, rank() == 0 ? cell.timeout_s : 0, late);
    return trained(cell, *group, false);
  } catch (const std::exception& e) {
    failed({rank(), fmt::format("this cell: {}", e.what())});
    session_.abort(1);
  }
}

}  // namespace shardmark
