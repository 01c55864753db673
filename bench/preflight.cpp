// Can a launcher start ranks at all, and where are they? Asked once before a run writes anything;
// what a launcher says when it cannot is put into one sentence. See launcher.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "bench/guard.hpp"
#include "bench/launcher.hpp"
#include "bench/text.hpp"
#include "impl/comm/interface.hpp"
#include "impl/comm/mpi.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

constexpr double preflight_s = 30;

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
  return where_are(said[0]["hosts"], said[0]["systems"], system_name());
}

}  // namespace

std::string system_name() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string boot;
  std::error_code error;
  const auto mounts = std::filesystem::read_symlink("/proc/self/ns/mnt", error);
  if (!(in >> boot) || error) return "";
  return boot + " " + mounts.string();
}

Where where_are(const std::vector<std::string>& hosts, const std::vector<std::string>& systems,
                const std::string& own) {
  const auto all = [](const std::vector<std::string>& names, const std::string& name) {
    return std::count(names.begin(), names.end(), name) == std::ssize(names);
  };
  const bool one = !hosts.empty() && all(hosts, hosts[0]) && !own.empty() && all(systems, own);
  return one ? Where::one_host : Where::several_hosts;
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
                     {"systems", all->gather(system_name())},
                     {"lacking", all->gather(lacks ? host_name() : "")}};
  if (session.rank() == 0) fmt::print("{}\n", said.dump());
  return 0;
}

}  // namespace shardmark
