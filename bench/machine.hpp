#pragma once
// What machine and what build made a record? Facts that explain a number, read from the system; a
// fact that cannot be had is null, with the reason in <key>_reason.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace shardmark {

// The sources this program was built from. Empty and nullopt where they were no git checkout.
struct Revision {
  std::string commit;         // 40 hex digits
  std::optional<bool> dirty;  // tracked files differed from the commit
  std::string short_commit() const { return commit.empty() ? "unknown" : commit.substr(0, 10); }
};
Revision revision();
std::string version_text();  // "0.1.0 (3b74622)"

// root: where /proc and /sys are looked for; another folder in tests.
nlohmann::json machine(const std::filesystem::path& root = "/");

// Its processor's name; "unknown" where it has none.
std::string cpu_in(const nlohmann::json& machine);

}  // namespace shardmark
