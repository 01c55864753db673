// How does a launcher start the ranks of a cell as processes? See launcher.hpp.
#include "bench/launcher.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <regex>
#include <thread>

#include "bench/guard.hpp"
#include "bench/text.hpp"
#include "kernels/cpu/cores.hpp"
#include "kernels/error.hpp"

namespace shardmark {

namespace {

std::string replaced(std::string text, std::string_view what, const std::string& with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; at += with.size())
    text.replace(at, what.size(), with);
  return text;
}

// Standard error as one line a line, without the rulers and blanks that Open MPI draws around.
std::vector<std::string> telling_lines(const std::string& errors) {
  static const std::regex says_nothing(
      "^(-{20,}|Primary job +terminated normally.*|a non-zero exit code.*|"
      ".*FORCE-TERMINATE AT.*|An internal error has occurred in ORTE:|"
      "This is something that should be reported to the developers\\.)$");
  std::vector<std::string> lines;
  for (const std::string& line : split(errors, '\n'))
    if (const std::string t = trimmed(line); !t.empty() && !std::regex_match(t, says_nothing))
      lines.push_back(t);
  return lines;
}

// Names that nobody else has or could guess.
LaunchFolders folders_for(Where where) {
  if (where != Where::one_host) return {};
  std::random_device random;
  const std::string name = fmt::format("shardmark-{:08x}{:08x}", random(), random());
  std::error_code error;
  const std::filesystem::path temporary = std::filesystem::temp_directory_path(error);
  return {error ? std::string() : (temporary / name).string(), "/dev/shm/" + name};
}

// Behind a guard that was killed ranks may still end, and so write.
void sweep(const LaunchFolders& folders) {
  constexpr int tries = 200;
  for (const std::string& folder : {folders.session, folders.shared}) {
    std::error_code error;
    for (int i = 0; i < tries && !folder.empty(); ++i) {
      std::filesystem::remove_all(folder, error);
      if (!error && !std::filesystem::exists(folder, error)) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
}

}  // namespace

bool built_in(const std::string& launcher) { return launcher == "mpirun" || launcher == "given"; }

const char* text_of(Where where) {
  switch (where) {
    case Where::unknown:
      return "unknown";
    case Where::one_host:
      return "one_host";
    case Where::several_hosts:
      return "several_hosts";
  }
  return "";
}

bool in_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  for (const std::string& folder : split(path ? path : "", ':'))
    if (const auto file = std::filesystem::path(folder.empty() ? "." : folder) / program;
        ::access(file.c_str(), X_OK) == 0)
      return true;
  return false;
}

std::string launcher_says(const std::string& errors) {
  const auto lines = telling_lines(errors);
  // The first line of a message says what is wrong, the others explain it at length.
  std::string line = lines.empty() ? "" : lines.front();
  while (line.ends_with('.')) line.pop_back();
  return line;
}

std::vector<std::string> launcher_words(const Launch& l) {
  const std::string number = fmt::to_string(l.ranks);
  if (built_in(l.launcher)) {
    std::vector<std::string> all = {"mpirun", "-n", number, "--oversubscribe"};
    // Each rank has cores of its own: as many as it has threads, else one for all of them.
    if (l.bound && l.threads > 1 && l.ranks * l.threads <= usable_cores())
      all.insert(all.end(), {"--map-by", fmt::format("slot:PE={}", l.threads)});
    const bool bound = l.bound && (l.ranks * l.threads <= usable_cores() ||
                                   (l.ranks <= usable_cores() && l.threads <= 2));
    all.insert(all.end(), {"--bind-to", bound ? "core:overload-allowed" : "none"});
    return all;
  }
  std::vector<std::string> all;
  try {
    all = words(l.launcher);
  } catch (const InputError& e) {
    throw InputError(fmt::format("--launcher {}: {}.", l.launcher, e.what()));
  }
  for (std::string& word : all) word = replaced(word, "{ranks}", number);
  return all;
}

std::vector<std::string> launch_arguments(const Launch& l, Where where,
                                          const LaunchFolders& folders,
                                          const std::vector<std::string>& command) {
  std::vector<std::string> all = {"shardmark", "launch", text_of(where), folders.session,
                                  folders.shared};
  for (const std::string& word : launcher_words(l)) all.push_back(word);
  // Its own path, not /proc/self/exe: what starts it is the launcher.
  all.push_back(std::filesystem::read_symlink("/proc/self/exe").string());
  all.insert(all.end(), command.begin(), command.end());
  return all;
}

ProcessEnd run_launched(const Launch& l, Where where, const std::vector<std::string>& command,
                        const std::string& input, double timeout_s, Interrupts& interrupts) {
  const LaunchFolders folders = folders_for(where);
  // Memory is not watched from here: the ranks may be on other hosts, and each limits itself.
  ProcessEnd end = run_self(launch_arguments(l, where, folders, command), input,
                            {timeout_s, 0, guard_grace_s}, interrupts);
  sweep(folders);
  return end;
}

std::map<std::string, std::string> mpi_settings(const std::string& where,
                                                const LaunchFolders& folders) {
  const bool one_host = where == text_of(Where::one_host);
  std::map<std::string, std::string> set = {
      {"pml", "ob1"},
      {"btl", one_host ? "self,vader" : "self,vader,tcp"},
      {"mpi_yield_when_idle", "1"},  // ranks that spin on shared cores halve a link
      {"btl_tcp_eager_limit", "1048576"},
      {"btl_tcp_rndv_eager_limit", "1048576"},
      {"btl_tcp_max_send_size", "1048576"},
      {"btl_base_warn_component_unused", "0"},
      {"hwloc_base_mem_bind_failure_action", "silent"}};
  if (!folders.session.empty()) set["orte_tmpdir_base"] = folders.session;
  if (!folders.shared.empty()) set["btl_vader_backing_directory"] = folders.shared;
  std::map<std::string, std::string> out;
  for (const auto& [name, value] : set) out["OMPI_MCA_" + name] = value;
  if (::geteuid() == 0)
    for (const char* name : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"})
      out[name] = "1";
  return out;
}

}  // namespace shardmark
