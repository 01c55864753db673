#pragma once
// Who sees to it that a launcher (mpirun, srun, a script) leaves nothing behind? A process between
// it and the run, which outlives both: it ends the launcher when the run ends or asks for it,
// then every process that the launcher left, and removes the folders that were made for it.
#include <string>
#include <vector>

namespace shardmark {

// Exit code where the launcher could not be started at all; what the system says of it is the
// only line on standard error, behind this.
inline constexpr int exit_no_launcher = 127;
inline constexpr const char* no_launcher_text = "the launcher cannot be started: ";
// Where it had to be ended, since somebody asked for it.
inline constexpr int exit_asked_to_end = 128 + 15;
// How long a launcher may take to clean up once it is asked to end.
inline constexpr int launcher_grace_s = 3;

// How long the guard may take to end all of that: who asked it to waits no longer.
inline constexpr double guard_grace_s = 6;

// The hidden command `shardmark launch WHERE SESSION SHARED LAUNCHER...`: see launcher.hpp for what
// stands before the launcher. Standard input, output and error are the launcher's. Returns its exit
// code (128 + signal where one ended it).
int guard(const std::vector<std::string>& arguments);

}  // namespace shardmark
