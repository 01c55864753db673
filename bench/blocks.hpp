#pragma once
// Which columns does the table have? One function a block: time, communication, overlap, rates,
// bytes, traffic.
#include <functional>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/checks.hpp"
#include "bench/summary.hpp"
#include "bench/units.hpp"

namespace shardmark {

// Sentences below the table, each with the small number that stands in the rows it concerns.
class Notes {
 public:
  std::string mark(const std::string& sentence);  // "¹"; the same number for the same sentence
  const std::vector<std::string>& sentences() const { return sentences_; }
  static std::string number(std::size_t);  // in superscript digits

 private:
  std::vector<std::string> sentences_;
};

// Columns under headers. The first `labels` columns are repeated where the rest does not fit beside
// each other.
struct Block {
  std::vector<std::string> header;
  std::size_t labels = 1;
  std::vector<std::vector<std::string>> rows;
  std::string text(std::size_t columns) const;
};

using Cells = std::vector<std::string>;
inline constexpr const char* missing = "–";

// Decimals that show about four digits of the largest value of a column, and the same for all
// others in it.
int decimals_for(double largest);
std::string fixed(double value, int decimals);
std::string ratio(double value, double base);  // "–" where there is nothing to compare with
std::string crowded_mark(const Row&);          // "*" where threads outnumbered cores, else nothing
// The marks stand behind the last label, where they need no column of their own.
Cells labels(const Row&, bool with_overlap, const std::string& marks);
Cells header(const std::string& title, bool with_overlap, const Cells& rest);
// Why a check did not hold in some round: a mark a check.
std::string check_marks(const Row&, std::initializer_list<const char*> checks, Notes&);
// A number that the record may lack; then the reason is noted, and its mark added to `marks`.
std::string number_or_why(const nlohmann::json& in, const char* key, Notes&, std::string& marks,
                          const std::function<std::string(double)>& written);

// A part of the median step, such as "forward", that no record lacks; and the decimals in which
// this group's times are written.
double part_ms(const Row&, const std::string& part);
int decimals_of_ms(const Group&);
// Which of the record's measured steps changed nothing, counted from the first of them.
std::vector<std::size_t> skipped_steps(const nlohmann::json& record);
// The witness that is furthest from the accounting: interface, transport; empty where nobody
// counted.
std::string witness_of(const nlohmann::json& record);

// Measured bytes of these tags, of rank 0.
double held_bytes(const Row&, const std::vector<std::string>& tags);
// What the best witness saw leave rank 0 in a step; none where nobody counted.
std::optional<double> moved_a_step(const nlohmann::json& record);
// A step's transfers: of all steps and rounds but skipped steps, the median; none where nobody
// knows how long they were. Steps are few and a transfer is short: one step alone would say less.
std::optional<double> transfer_ms(const Row&);

// One unit for all bytes of a block, by its largest value.
struct ByteScale {
  DecimalUnit unit;
  int decimals = 0;
  explicit ByteScale(double largest);
  std::string operator()(double bytes) const;
};

// Each is empty where the group has nothing to show in it.
std::string time_block(const Group&, Notes&, std::size_t columns);
std::string communication_block(const Group&, Notes&, std::size_t columns);
std::string overlap_block(const Group&, Notes&, std::size_t columns);
std::string rates_block(const Group&, const std::vector<Finding>&, Notes&, std::size_t columns);
std::string bytes_block(const Group&, Notes&, std::size_t columns);
std::string traffic_block(const Group&, Notes&, std::size_t columns);

}  // namespace shardmark
