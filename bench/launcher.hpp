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

// What is to be started: as many processes, each with so many threads that compute. launcher:
// "mpirun" or "given": as this program does it; else a command with {ranks} in it.
struct Launch {
  std::string launcher = "mpirun";
  std::int64_t ranks = 1;
  std::int64_t threads = 1;  // a rank computes and communicates with
  std::string interface;     // that every host must have; empty: none
};

// The launcher's own words. Throws InputError where a quotation mark is never closed.
std::vector<std::string> launcher_words(const Launch&);

// What run_self() is given to run this program's command as those ranks under a guard (guard.hpp).
std::vector<std::string> launch_arguments(const Launch&, Where,
                                          const std::vector<std::string>& command);

// Runs it to its end; input comes to rank 0. Whatever happens, no process of it is left.
ProcessEnd run_launched(const Launch&, Where, const std::vector<std::string>& command,
                        const std::string& input, double timeout_s, Interrupts&);

// Environment for the launcher. where: text_of(). session, shared: folders for what the library
// keeps on disk and in shared memory of this host; empty: there are none.
std::map<std::string, std::string> mpi_settings(const std::string& where,
                                                const std::string& session,
                                                const std::string& shared);

// Starts the most ranks of each launcher once. Returns where they are, by launcher; nothing where
// it was interrupted. Throws InputError with the one thing that keeps it from working.
std::map<std::string, Where> preflight(const std::vector<Launch>&, Interrupts&);

// What went wrong, in the launcher's own words: the line of its standard error that says most.
std::string launcher_says(const std::string& errors);

// The hidden command `shardmark hello`: every rank starts MPI, and the first one prints where all
// are.
int hello(const std::string& interface);

}  // namespace shardmark
