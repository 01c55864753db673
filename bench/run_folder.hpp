#pragma once
// Where does a run put its records, and how is it found again? A folder with records.jsonl and
// run.json (what was asked for:
// --resume goes on from it); results/latest points to the newest one.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "bench/record.hpp"
#include "bench/suite.hpp"

namespace shardmark {

inline constexpr const char* latest_run = "results/latest";

std::string utc(const char* format);        // strftime's
std::string new_run_id(std::string suite);  // <utc>-<suite>-<commit>, fit for a folder's name

struct RunFolder {
  std::filesystem::path path;
  std::string id;
  std::unique_ptr<RecordWriter> writer;  // holds the lock: one run at a time is in a folder
};

// out: as given, else results/runs/<id>. Creates it. Throws InputError where it cannot be written,
// holds a run already, or another one is starting in it.
RunFolder create_run(const std::optional<std::filesystem::path>& out, const Suite&);

// The same for a run of another kind, which is not gone on with. plan: run.json, but for its id.
RunFolder create_run(const std::optional<std::filesystem::path>& out, const std::string& name,
                     const std::string& kind, nlohmann::json plan);

// What run.json says; its cells are resolved. Throws InputError where there is no run.
Suite planned(const std::filesystem::path& folder);
// The same folder again, to go on in. Throws InputError where there is no run, or it still runs.
RunFolder open_run(const std::filesystem::path& folder);

// Points results/latest to the folder, atomically; a file or folder of that name that is no link is
// left alone.
void link_latest(const std::filesystem::path& folder);

}  // namespace shardmark
