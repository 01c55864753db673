#pragma once
// Which records can the tests of the table show? One complete example, and copies of it whose bytes
// and volumes are what the textbook says for a strategy, worked out here from P and N and never by
// the program.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace shardmark::example {

inline constexpr std::uint64_t parameters = 694272;  // P of the example

// The first record of testdata/records.jsonl: gpt-nano by ddp on two ranks.
nlohmann::json record();
std::vector<nlohmann::json> all_records();

// strategy: one of the ladder; step_ms is split into parts that add up to it.
nlohmann::json record_of(const std::string& strategy, bool overlap, int round, double step_ms,
                         int ranks = 2);
// Sets the parts of the median step, in whole microseconds, so that they add up to step_ms exactly.
void set_step(nlohmann::json& record, double step_ms, double communication_ms, double hidden_ms);
// The same on four hosts under MPI, with an interface that counted; and through an emulated link.
nlohmann::json mpi_record(const std::string& strategy, bool overlap, int round, double step_ms);
nlohmann::json linked_record(const std::string& strategy, bool overlap, int round, double step_ms);
void set_failed(nlohmann::json& record, const std::string& status, const std::string& reason);

// Six strategies, overlap off and on, three rounds.
std::vector<nlohmann::json> ladder();

// Of a table's text: its lines; whether a part is in it; the words of the row that starts with
// `label` in the block that starts with `block` (≈ is no word).
using Words = std::vector<std::string>;
Words lines_of(const std::string& text);
bool has(const std::string& text, const std::string& part);
Words row(const std::string& text, const std::string& block, const std::string& label);

std::string read(const std::string& name);  // a file of testdata/
// Equal to the golden file? With SHARDMARK_UPDATE_GOLDEN set, writes it instead.
void expect_golden(const std::string& name, const std::string& text);

}  // namespace shardmark::example
