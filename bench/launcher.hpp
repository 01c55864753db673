#pragma once
// How does a launcher start the ranks of a cell as processes? Which words it is called with, which
// settings of the MPI library go with it, and whether it can do that at all, asked before a run
// writes anything.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bench/process.hpp"

namespace shardmark {

// Where the ranks are: one host has shared memory, and no need of a network.
enum class Where { unknown, one_host, several_hosts };
const char* text_of(Where);

// What a process shares with those of the same system: its kernel since it started, and the folders
// that it sees. Empty where the system does not say.
std::string system_name();
// By rank: the names of hosts, and system_name(); own: of the process that starts the launcher.
// One host has one name, and is this one: memory and folders are shared with whoever sweeps them.
Where where_are(const std::vector<std::string>& hosts, const std::vector<std::string>& systems,
                const std::string& own);

// What is to be started: as many processes, each with so many threads that compute. launcher:
// "mpirun" or "given": as this program does it; else a command with {ranks} in it.
struct Launch {
  std::string launcher = "mpirun";
  std::int64_t ranks = 1;
  std::int64_t threads = 1;  // a rank computes and communicates with
  std::string interface {};  // that every host must have; empty: none
  bool bound = true;         // to cores, where they suffice; else the system places each thread
};

// For what the library keeps on disk and in shared memory of this host; empty: there are none. The
// guard makes and removes them; so does whoever started it, should the guard itself be killed.
struct LaunchFolders {
  std::string session, shared;
};

// Would a shell find it?
bool in_path(const std::string& program);

// Is it mpirun, as this program starts it? Else it is a command of the user's.
bool built_in(const std::string& launcher);

// The launcher's own words. Throws InputError where a quotation mark is never closed.
std::vector<std::string> launcher_words(const Launch&);

// What run_self() is given to run this program's command as those ranks under a guard (guard.hpp).
std::vector<std::string> launch_arguments(const Launch&, Where, const LaunchFolders&,
                                          const std::vector<std::string>& command);

// Runs it to its end; input comes to rank 0. Whatever happens, no process of it is left.
ProcessEnd run_launched(const Launch&, Where, const std::vector<std::string>& command,
                        const std::string& input, double timeout_s, Interrupts&);

// Environment for the launcher. where: text_of().
std::map<std::string, std::string> mpi_settings(const std::string& where, const LaunchFolders&);

// Starts the most ranks of each launcher once. Returns where they are, by launcher; nothing where
// it was interrupted. Throws InputError with the one thing that keeps it from working.
std::map<std::string, Where> preflight(const std::vector<Launch>&, Interrupts&);

// What went wrong, in the launcher's own words: the line of its standard error that says most.
std::string launcher_says(const std::string& errors);

// The hidden command `shardmark hello`: every rank starts MPI, and the first one prints where all
// are.
int hello(const std::string& interface);

}  // namespace shardmark
