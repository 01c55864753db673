#pragma once
// How far is the run? On a terminal one line that is rewritten, otherwise a plain line for every
// cell that ends; always on standard error, so that standard output holds the table alone.
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace shardmark {

class Progress {
 public:
  // ahead: the ids of the cells still to be run, in order.
  Progress(std::vector<std::string> ahead, std::int64_t rounds);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void starts(const std::string& id, std::int64_t round);
  void ended(const nlohmann::json& record);
  void say(const std::string& sentence);

  // Of what lies ahead: each cell as long as it took so far, one that has not run yet as long as
  // the average; 0: unknown.
  std::int64_t left_ns() const;

 private:
  struct Taken {
    std::int64_t total_ns = 0, times = 0;
    void add(std::int64_t ns) { total_ns += ns, ++times; }
  };
  void clear_line();

  std::vector<std::string> ahead_;
  std::size_t done_ = 0;
  std::int64_t rounds_;
  std::map<std::string, Taken> by_cell_;
  Taken all_;
  bool terminal_;
};

std::string duration_text(std::int64_t ns);  // "1m05s"

}  // namespace shardmark
