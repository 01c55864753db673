#pragma once
// How does one executed cell become a line of records.jsonl, and how is such a file read back? The
// format itself is results/schema.json. A line is written with one write() and synced; a torn one
// is never read back as a record.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace shardmark {

inline constexpr int schema_version = 1;  // as in results/schema.json

// A text inside of a record. Comparing JSON with a literal would make JSON of the literal first.
inline const std::string& text_at(const nlohmann::json& in, const char* key) {
  return in.at(key).get_ref<const std::string&>();
}
inline const std::string& id_at(const nlohmann::json& record) {
  return text_at(record.at("cell"), "id");
}

// What people call the model of a cell: its config's name, where it came from one.
std::string model_at(const nlohmann::json& cell);

// What a record tells of: a cell's training, or collectives alone. The key "kind" says so; a record
// without it is of a training.
inline constexpr const char* training_kind = "training";
inline constexpr const char* collectives_kind = "collectives";

struct Records {
  std::vector<nlohmann::json> records;
  std::vector<std::string> warnings;  // a torn last line that was ignored
  std::uintmax_t good_bytes = 0;      // of the file, up to the end of its last record
};

// Reads FOLDER/records.jsonl; a folder without one has no records. Throws InputError: a line in the
// middle that is no record (named by its number), a record of another schema version or kind.
Records read_records(const std::filesystem::path& folder, const std::string& kind = training_kind);
// The same for the text of such a file, wherever it came from; file: its name, for sentences.
Records records_in(const std::string& text, const std::filesystem::path& file,
                   const std::string& kind = training_kind);

// The last record of each cell and round: a cell that --resume ran again is there twice.
std::vector<nlohmann::json> latest(const std::vector<nlohmann::json>& records);

// The record of this cell whose median step is the (lower) median over rounds, or else its last
// failed one; null where the records have no such cell.
const nlohmann::json* representative(const std::vector<nlohmann::json>& records,
                                     const std::string& id);

// Of all cells, each once, in the order of the records.
std::vector<std::string> ids_in(const std::vector<nlohmann::json>& records);
// The one of these ids that a person means: all of it, or a beginning that no other one shares.
// Throws InputError with the flag that named it, where it was looked for, and what there is.
std::string named_cell(const std::string& flag, const std::string& cell,
                       const std::vector<std::string>& ids, const std::string& where);

// Appends to FOLDER/records.jsonl; cuts a torn last line off first.
class RecordWriter {
 public:
  // Throws InputError where it cannot be written, or where another run is writing to it.
  explicit RecordWriter(const std::filesystem::path& folder,
                        const std::string& kind = training_kind);
  ~RecordWriter();
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;
  // Throws Error where the line could not be written whole; the file then ends where it ended
  // before.
  void append(const nlohmann::json& record);

 private:
  std::filesystem::path file_;
  int descriptor_ = -1;
};

}  // namespace shardmark
