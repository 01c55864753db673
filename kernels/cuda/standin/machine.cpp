#include "machine.hpp"

#include <cstdlib>
#include <stdexcept>

#include "runtime.hpp"

namespace shardmark::standin {
namespace {

void set(Machine& m, const std::string& key, const std::string& value) {
  if (key == "gpus") {
    m.gpus = std::stoi(value);
  } else if (key == "first") {
    m.first = std::stoi(value);
  } else if (key == "memory") {
    m.memory = std::stoull(value);
  } else if (key == "late_us") {
    m.late_us = std::stoi(value);
  } else if (key == "queue") {
    m.queue = std::stoi(value);
  } else if (key == "major") {
    m.major = std::stoi(value);
  } else if (key == "driver") {
    m.driver = std::stoi(value);
  } else if (key == "drift_ppm") {
    m.drift_ppm = std::stod(value);
  } else if (key == "peers" && value == "none") {
    m.peers = false;
  } else if (key == "memory_waits") {
    m.memory_waits = value == "1";
  } else if (key == "cupti") {
    m.cupti = value;
  } else if (key == "error" && value == "no_device") {
    m.error = cudaErrorNoDevice;
  } else if (key == "error" && value == "old_driver") {
    m.error = cudaErrorInsufficientDriver;
  } else {
    throw std::invalid_argument("SHARDMARK_STANDIN knows no " + key + "=" + value);
  }
}

void read(Machine& m) {
  const char* from = std::getenv("SHARDMARK_STANDIN");
  std::string rest = from ? from : "";
  while (!rest.empty()) {
    const std::string one = rest.substr(0, rest.find(','));
    rest = one.size() < rest.size() ? rest.substr(one.size() + 1) : "";
    set(m, one.substr(0, one.find('=')), one.substr(std::min(one.size(), one.find('=') + 1)));
  }
  m.used.resize(static_cast<std::size_t>(m.gpus));
  m.host_functions = std::make_unique<std::mutex[]>(m.used.size());
}

}  // namespace

Machine& machine() {
  // Never destroyed: streams of other threads may still end when the process does.
  static Machine* const one = [] {
    auto* m = new Machine;
    read(*m);
    return m;
  }();
  return *one;
}

int& current_gpu() {
  thread_local int gpu = 0;
  return gpu;
}

void fail(const std::string& sentence) {
  Machine& m = machine();
  const std::lock_guard lock(m.mutex);
  if (m.sticky == cudaSuccess) m.failure = sentence;
  m.sticky = cudaErrorLaunchFailure;
}

}  // namespace shardmark::standin
