#include "impl/inject.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <thread>
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
  if (what != "delay" && what != "throw" && what != "abort" && what != "stuck" &&
      what != "allocate")
    throw InputError(
        fmt::format("--inject '{}': it may be delay, throw, abort, stuck or allocate", text));
  const int step = static_cast<int>(number(text, f, "step", 0));
  if (static_cast<int>(number(text, f, "rank", 0)) != rank) return {};
  if (what == "delay") {
    const auto ms = std::chrono::duration<double, std::milli>(number(text, f, "ms", 1));
    const std::string phase = f.contains("phase") ? f.at("phase") : "backward";
    return [ms, phase](const Interval& i) {
      if (i.step >= 0 && name(i.phase) == phase) std::this_thread::sleep_for(ms);
    };
  }
  const double bytes = number(text, f, "bytes", 0);
  return [what, step, bytes, rank](const Interval& i) {
    if (i.step != step || i.phase != Phase::backward) return;
    if (what == "throw") throw Error(fmt::format("injected: rank {} throws", rank));
    if (what == "abort") std::abort();
    if (what == "allocate") take_and_touch(bytes);
    while (what == "stuck") std::this_thread::sleep_for(std::chrono::seconds(1));
  };
}

}  // namespace shardmark
