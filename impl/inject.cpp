#include "impl/inject.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/error.hpp"

namespace shardmark {
namespace {

using Fields = std::map<std::string, std::string>;

Fields read(const std::string& text) {
  Fields f;
  const std::size_t colon = text.find(':');
  f["what"] = text.substr(0, colon);
  for (std::size_t at = colon; at != std::string::npos && at < text.size();) {
    const std::size_t comma = text.find(',', at + 1), equals = text.find('=', at + 1);
    if (equals == std::string::npos || equals > comma)
      throw InputError(fmt::format("--inject '{}': every field must be key=value", text));
    f[text.substr(at + 1, equals - at - 1)] = text.substr(equals + 1, comma - equals - 1);
    at = comma;
  }
  return f;
}

double number(const std::string& text, const Fields& f, const std::string& key, double otherwise) {
  const auto it = f.find(key);
  if (it == f.end()) return otherwise;
  char* end = nullptr;
  const double value = std::strtod(it->second.c_str(), &end);
  if (it->second.empty() || *end)
    throw InputError(fmt::format("--inject '{}': {} must be a number", text, key));
  return value;
}

Phase phase_of(const std::string& text, const std::string& wanted) {
  for (int p = 0; p < phases; ++p)
    if (name(static_cast<Phase>(p)) == wanted) return static_cast<Phase>(p);
  throw InputError(fmt::format("--inject '{}': there is no phase '{}'", text, wanted));
}

void take_and_touch(double bytes) {
  std::vector<std::unique_ptr<char[]>> taken;
  constexpr double piece = 64e6;
  for (double done = 0; done < bytes; done += piece) {
    taken.push_back(std::make_unique<char[]>(static_cast<std::size_t>(piece)));
    for (std::size_t i = 0; i < static_cast<std::size_t>(piece); i += 4096) taken.back()[i] = 1;
  }
}

}  // namespace

std::function<void(const Interval&)> injection(const std::string& text, int rank) {
  if (text.empty()) return {};
  const Fields f = read(text);
  const std::string& what = f.at("what");
  static const std::set<std::string> kinds = {"delay", "throw", "abort",   "kill",
                                              "stop",  "stuck", "allocate"};
  if (!kinds.contains(what))
    throw InputError(fmt::format(
        "--inject '{}': it may be delay, throw, abort, kill, stop, stuck or allocate", text));
  for (const auto& [key, value] : f)
    if (key != "what" && key != "rank" && key != "step" && key != "phase" && key != "ms" &&
        key != "bytes")
      throw InputError(fmt::format(
          "--inject '{}': the keys are rank, step, phase, ms and bytes, not {}", text, key));
  const int step = static_cast<int>(number(text, f, "step", 0));
  const auto ms = std::chrono::duration<double, std::milli>(number(text, f, "ms", 1));
  const double bytes = number(text, f, "bytes", 0);
  const Phase phase = phase_of(text, f.contains("phase") ? f.at("phase") : "backward");
  if (static_cast<int>(number(text, f, "rank", 0)) != rank) return {};
  if (what == "delay")
    return [ms, phase](const Interval& i) {
      if (i.step >= 0 && i.phase == phase) std::this_thread::sleep_for(ms);
    };
  return [what, step, bytes, rank, stopped = false](const Interval& i) mutable {
    if (i.step != step || i.phase != Phase::backward) return;
    if (what == "throw") throw Error(fmt::format("injected: rank {} throws", rank));
    if (what == "abort") std::abort();
    if (what == "kill") ::raise(SIGKILL);
    // The whole process, once: whoever wakes it wants to hear of it.
    if (what == "stop" && !std::exchange(stopped, true)) ::kill(::getpid(), SIGSTOP);
    if (what == "allocate") take_and_touch(bytes);
    while (what == "stuck") std::this_thread::sleep_for(std::chrono::seconds(1));
  };
}

}  // namespace shardmark
