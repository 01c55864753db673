#pragma once
// How does anything here say that something is wrong? One sentence, thrown.
#include <stdexcept>
#include <string>

namespace shardmark {

// The user's input is wrong: exit 2.
class InputError : public std::runtime_error {
  using runtime_error::runtime_error;
};
[[noreturn]] inline void refuse(const std::string& sentence) { throw InputError(sentence); }
// Something broke while running, or an invariant of ours does not hold: exit 1.
class Error : public std::runtime_error {
  using runtime_error::runtime_error;
};

inline void require(bool ok, const char* sentence) {
  if (!ok) throw Error(sentence);
}
inline void require(bool ok, const std::string& sentence) {
  if (!ok) throw Error(sentence);
}

}  // namespace shardmark
