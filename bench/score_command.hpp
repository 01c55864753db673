#pragma once
// What does `shardmark score` do with what is typed, and what can be typed behind it?
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace shardmark {

struct ScoreArguments {
  std::vector<std::string> runs;
  std::string cluster, link, format;  // as typed; empty: not given
};

CLI::App* add_score(CLI::App&, ScoreArguments&);
std::vector<std::string> score_flag_names();

// Returns 0, or 1 where nothing could be scored. Throws InputError.
int score_command(const ScoreArguments&);

}  // namespace shardmark
