// How does a launcher start the ranks of a cell as processes? See launcher.hpp.
#include "bench/launcher.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>

#include "bench/guard.hpp"
#include "bench/text.hpp"
#include "impl/comm/interface.hpp"
#include "impl/comm/mpi.hpp"
#include "kernels/cpu/cores.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

constexpr double preflight_s = 30;

bool built_in(const std::string& launcher) { return launcher == "mpirun" || launcher == "given"; }

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

// What launchers say, and what it means here; $1: what the message names.
struct Known {
  const char* message;
  const char* sentence;
};
constexpr Known known[] = {
    {"not enough slots available",
     "there are not enough slots for so many ranks; give more (slots= in its hostfile, or "
     "--oversubscribe)"},
    {"Could not resolve hostname ([^: ]+)",
     "the host name $1 does not resolve; correct it, or give the host's address"},
    {"could not access\\s+or execute an executable:\\s+Executable: (\\S+)\\s+Node: (\\S+)",
     "there is no $1 on host $2; put shardmark there, at the same path"},
    {"unable to open the hostfile:\\s+(\\S+)", "its hostfile $1 cannot be opened"},
    {"Permission denied \\(([^)]*)\\)",
     "ssh to one of its hosts was refused ($1); a login without a password is needed"},
    {"plm_rsh_agent: (.*)",
     "there is no $1 to reach other hosts by; install an ssh client (openssh-client)"},
    {"option was asked to run as root|running mpirun as root|run as root",
     "it refuses to run as root; set OMPI_ALLOW_RUN_AS_ROOT=1 and "
     "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"},
};

std::string meaning_of(const std::string& errors) {
  for (const Known& k : known) {
    std::smatch match;
    if (std::regex_search(errors, match, std::regex(k.message))) return match.format(k.sentence);
  }
  return launcher_says(errors);
}

// The answers of `shardmark hello`: one object a world.
std::vector<json> hellos(const std::string& output) {
  std::vector<json> all;
  for (const std::string& line : split(output, '\n')) {
    json said = json::parse(line, nullptr, false);
    if (said.is_object() && said.contains("hosts")) all.push_back(std::move(said));
  }
  return all;
}

std::string why_not(const Launch& l, const ProcessEnd& end, const std::vector<json>& said) {
  const auto ranks = static_cast<std::size_t>(l.ranks);
  if (end.how == ProcessEnd::How::timed_out)
    return fmt::format("it did not start them within {} s{}", preflight_s,
                       end.errors.empty() ? "" : ": " + meaning_of(end.errors));
  const std::size_t missing = end.errors.find(no_launcher_text);
  if (missing != end.errors.npos && built_in(l.launcher))
    return "there is no mpirun in PATH; install Open MPI (openmpi-bin), or name another launcher, "
           "such as --launcher \"srun -n {ranks}\"";
  if (missing != end.errors.npos) return launcher_says(end.errors.substr(missing));
  if (said.size() > 1)
    return fmt::format(
        "it started {} processes that do not know of each other: it belongs to another MPI "
        "library than the one that shardmark was built with ({})",
        said.size(), mpi::library());
  if (said.size() == 1 && said[0]["hosts"].size() != ranks)
    return fmt::format("it started {}; --launcher must start as many as {{ranks}} says",
                       said[0]["hosts"].size());
  if (end.how == ProcessEnd::How::exited && end.exit_code == 0 && said.size() == 1) return "";
  const std::string says = meaning_of(end.errors);
  if (!says.empty()) return says;
  return end.exit_code == 0 ? "it ended well, but did not start the command that stands behind it"
                            : fmt::format("it ended with exit code {} and no word", end.exit_code);
}

Where ask(const Launch& l, Interrupts& interrupts) {
  const ProcessEnd end =
      run_launched(l, Where::unknown, {"hello", l.interface}, "", preflight_s, interrupts);
  const auto said = hellos(end.output);
  if (end.how == ProcessEnd::How::interrupted) return Where::unknown;
  if (const std::string why = why_not(l, end, said); !why.empty())
    throw InputError(fmt::format(
        "{} cannot start {} rank{}: {}.",
        built_in(l.launcher) ? "--comm mpi: mpirun" : "--launcher \"" + l.launcher + "\"", l.ranks,
        l.ranks == 1 ? "" : "s", why));
  for (const json& host : said[0]["lacking"])
    if (host != "")
      throw InputError(fmt::format(
          "--interface {}: host {} has no network interface of that name; `ip link` lists them.",
          l.interface, host.get<std::string>()));
  const json& hosts = said[0]["hosts"];
  const bool one =
      std::all_of(hosts.begin(), hosts.end(), [&](const json& host) { return host == hosts[0]; });
  return one ? Where::one_host : Where::several_hosts;
}

}  // namespace

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
    if (l.threads > 1 && l.ranks * l.threads <= usable_cores())
      all.insert(all.end(), {"--map-by", fmt::format("slot:PE={}", l.threads)});
    const bool bound =
        l.ranks * l.threads <= usable_cores() || (l.ranks <= usable_cores() && l.threads <= 2);
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
                                          const std::vector<std::string>& command) {
  std::vector<std::string> all = {"shardmark", "launch", text_of(where)};
  for (const std::string& word : launcher_words(l)) all.push_back(word);
  // Its own path, not /proc/self/exe: what starts it is the launcher.
  all.push_back(std::filesystem::read_symlink("/proc/self/exe").string());
  all.insert(all.end(), command.begin(), command.end());
  return all;
}

ProcessEnd run_launched(const Launch& l, Where where, const std::vector<std::string>& command,
                        const std::string& input, double timeout_s, Interrupts& interrupts) {
  // Memory is not watched from here: the ranks may be on other hosts, and each limits itself.
  return run_self(launch_arguments(l, where, command), input, {timeout_s, 0, launcher_grace_s + 2},
                  interrupts);
}

std::map<std::string, std::string> mpi_settings(const std::string& where,
                                                const std::string& session,
                                                const std::string& shared) {
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
  if (!session.empty()) set["orte_tmpdir_base"] = session;
  if (!shared.empty()) set["btl_vader_backing_directory"] = shared;
  std::map<std::string, std::string> out;
  for (const auto& [name, value] : set) out["OMPI_MCA_" + name] = value;
  if (::geteuid() == 0)
    for (const char* name : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"})
      out[name] = "1";
  return out;
}

std::map<std::string, Where> preflight(const std::vector<Launch>& launches,
                                       Interrupts& interrupts) {
  std::map<std::string, Launch> largest;
  for (const Launch& l : launches) {
    const auto at = largest.try_emplace(l.launcher, l).first;
    if (l.ranks > at->second.ranks) at->second = l;
  }
  if (!largest.empty() && !mpi::built())
    throw InputError(
        fmt::format("--comm mpi: shardmark was built without MPI; {}.", mpi::library()));
  std::map<std::string, Where> where;
  for (const auto& [launcher, launch] : largest)
    if (!interrupts.seen()) where[launcher] = ask(launch, interrupts);
  return where;
}

int hello(const std::string& interface) {
  die_with_parent();
  mpi::Session session;
  const auto all = session.group(session.size(), preflight_s, [](const Failure&) {});
  const bool lacks = !interface.empty() && !interface_exists(interface);
  const json said = {{"hosts", all->gather(host_name())},
                     {"lacking", all->gather(lacks ? host_name() : "")}};
  if (session.rank() == 0) fmt::print("{}\n", said.dump());
  return 0;
}

}  // namespace shardmark
