#pragma once
// What can this build run: models, strategies, devices, communicators, and why is an absent one
// absent?
#include <string>

namespace shardmark {

std::string list_text();

// The command: prints to standard output, returns the exit code.
int list();

}  // namespace shardmark
