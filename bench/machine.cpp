// What machine and what build made a record? See machine.hpp.
#include "bench/machine.hpp"

#include <fmt/format.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <CLI/Version.hpp>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "bench/machine_gpus.hpp"
#include "bench/revision.hpp"  // written by the build: bench/revision.cmake
#include "impl/comm/mpi.hpp"
#include "impl/comm/nccl.hpp"
#include "kernels/cpu/cores.hpp"
#include "kernels/cpu/math.hpp"
#include "kernels/cuda/device.hpp"

namespace shardmark {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// Empty where the file is missing or cannot be read; without the newline at the end.
std::string read_text(const fs::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  if (in) text << in.rdbuf();
  std::string all = text.str();
  while (!all.empty() && (all.back() == '\n' || all.back() == '\0')) all.pop_back();
  return all;
}

// The value of the first line "key : value".
std::string field(const std::string& text, std::string_view key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    std::string left = line.substr(0, colon);
    left.erase(left.find_last_not_of(" \t") + 1);
    if (left != key) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> all;
  for (std::string w; in >> w;) all.push_back(w);
  return all;
}

// "48K", "2048 kB", "33792K": kernel files count in 1024s. Empty: 0.
std::uint64_t kernel_bytes(const std::string& text) {
  std::istringstream in(text);
  std::uint64_t number = 0;
  std::string unit;
  if (!(in >> number)) return 0;
  in >> unit;
  if (unit == "K" || unit == "kB" || unit == "KB") return number << 10;
  if (unit == "M") return number << 20;
  if (unit == "G") return number << 30;
  return number;
}

void set(json& to, const std::string& key, json value, const std::string& why_not) {
  const bool missing = value.is_null() || (value.is_string() && value.get<std::string>().empty());
  to[key] = missing ? json(nullptr) : std::move(value);
  if (missing) to[key + "_reason"] = why_not;
}

json cpu_model(const fs::path& root, const std::string& cpuinfo) {
  for (const char* key : {"model name", "Model", "Hardware", "cpu model"})
    if (std::string found = field(cpuinfo, key); !found.empty()) return found;
  const std::string implementer = field(cpuinfo, "CPU implementer"),
                    part = field(cpuinfo, "CPU part");
  if (!part.empty()) return fmt::format("arm implementer {} part {}", implementer, part);
  if (std::string tree = read_text(root / "proc/device-tree/model"); !tree.empty()) return tree;
  return nullptr;
}

// "0-3,8": how many.
int count_list(const std::string& list) {
  int count = 0;
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, ',');) {
    int first = 0, last = 0;
    const int fields = std::sscanf(part.c_str(), "%d-%d", &first, &last);
    if (fields >= 1) count += fields == 2 ? last - first + 1 : 1;
  }
  return count;
}

json caches(const fs::path& cpu0) {
  json all = json::array();
  for (int i = 0; i < 16; ++i) {
    const fs::path dir = cpu0 / "cache" / fmt::format("index{}", i);
    const std::string level = read_text(dir / "level");
    const std::uint64_t bytes = kernel_bytes(read_text(dir / "size"));
    if (level.empty() || bytes == 0) continue;
    std::string type = read_text(dir / "type");
    std::transform(type.begin(), type.end(), type.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    all.push_back({{"level", std::atoi(level.c_str())},
                   {"type", type},
                   {"size_bytes", bytes},
                   {"shared_by_cores", count_list(read_text(dir / "shared_cpu_list"))}});
  }
  return all.empty() ? json(nullptr) : all;
}

// Those that change how fast our kernels or oneDNN's can be.
json cpu_flags(const std::string& cpuinfo) {
  constexpr std::string_view interesting[] = {
      "sse4_2",   "avx",         "avx2",        "fma",         "f16c",     "avx_vnni", "avx512f",
      "avx512bw", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_bf16", "asimd",
      "asimdhp",  "asimddp",     "sve",         "sve2",        "bf16",     "i8mm"};
  std::string line = field(cpuinfo, "flags");
  if (line.empty()) line = field(cpuinfo, "Features");
  const std::vector<std::string> have = words(line);
  json found = json::array();
  for (const std::string_view flag : interesting)
    if (std::find(have.begin(), have.end(), flag) != have.end()) found.push_back(flag);
  return have.empty() ? json(nullptr) : found;
}

json steal_share(const fs::path& root) {
  std::ifstream in(root / "proc/stat");
  std::string name;
  if (!(in >> name) || name != "cpu") return nullptr;
  // user nice system idle iowait irq softirq steal; guest time is part of user already
  double sum = 0, value = 0;
  for (int i = 0; i < 8; ++i) {
    if (!(in >> value)) return nullptr;
    sum += value;
  }
  return sum > 0 ? json(value / sum) : json(nullptr);
}

json hypervisor(const fs::path& root, const std::string& cpuinfo) {
  const std::vector<std::string> flags = words(field(cpuinfo, "flags"));
  if (std::find(flags.begin(), flags.end(), "hypervisor") != flags.end()) return true;
  std::error_code ignored;
  if (fs::exists(root / "sys/hypervisor/type", ignored)) return true;
  if (!flags.empty()) return false;  // x86 says so when there is one
  return nullptr;
}

json container(const fs::path& root) {
  std::error_code ignored;
  if (fs::exists(root / ".dockerenv", ignored)) return "docker";
  if (fs::exists(root / "run/.containerenv", ignored)) return "podman";
  const std::string groups = read_text(root / "proc/1/cgroup");
  for (const char* kind : {"kubepods", "docker", "lxc", "containerd"})
    if (groups.find(kind) != std::string::npos) return kind;
  return nullptr;
}

// "max 100000" or "150000 100000": cores' worth of time that this control group may use.
json core_quota(const fs::path& root) {
  const std::vector<std::string> v2 = words(read_text(root / "sys/fs/cgroup/cpu.max"));
  double quota = 0, period = 0;
  if (v2.size() == 2 && v2[0] != "max") {
    quota = std::atof(v2[0].c_str());
    period = std::atof(v2[1].c_str());
  } else if (v2.empty()) {
    quota = std::atof(read_text(root / "sys/fs/cgroup/cpu/cpu.cfs_quota_us").c_str());
    period = std::atof(read_text(root / "sys/fs/cgroup/cpu/cpu.cfs_period_us").c_str());
  }
  return quota > 0 && period > 0 ? json(quota / period) : json(nullptr);
}

json build() {
#if defined(__clang__)
  const std::string compiler =
      fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  const std::string compiler =
      fmt::format("g++ {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
  return {{"compiler", compiler},
          {"flags", built_with_flags},
          {"type", built_as},
          {"version", built_version}};
}

json libraries() {
  return {{"matrix", cpu::matrix_library()},
          {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100,
                              FMT_VERSION % 100)},
          {"nlohmann_json", fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR,
                                        NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH)},
          {"cli11", CLI11_VERSION},
          {"mpi", mpi::built() ? mpi::library() : "none"},
          {"cuda", cuda::built() ? cuda::library() : "none"},
          {"nccl", nccl::built() ? nccl::library() : "none"}};
}

void add_cpu(json& m, const fs::path& root) {
  const std::string cpuinfo = read_text(root / "proc/cpuinfo");
  const fs::path cpu0 = root / "sys/devices/system/cpu/cpu0";
  set(m, "cpu", cpu_model(root, cpuinfo), "/proc/cpuinfo names no model");
  const int siblings = count_list(read_text(cpu0 / "topology/thread_siblings_list"));
  set(m, "threads_per_core", siblings > 0 ? json(siblings) : json(nullptr),
      "the kernel shows no core topology");
  set(m, "caches", caches(cpu0), "the kernel shows no caches");
  set(m, "cpu_flags", cpu_flags(cpuinfo), "/proc/cpuinfo lists no flags");
  set(m, "governor", read_text(cpu0 / "cpufreq/scaling_governor"),
      "the kernel offers no frequency scaling here, as is usual in a virtual machine");
  set(m, "hypervisor", hypervisor(root, cpuinfo),
      "this processor does not say whether it is virtual");
  set(m, "steal_share", steal_share(root), "/proc/stat counts no stolen time");
}

// May processes read each other's memory? Yama decides who may, and a container's filter whether
// anybody may: then we cannot read even our own.
void add_processes(json& m, const fs::path& root) {
  const std::string scope = read_text(root / "proc/sys/kernel/yama/ptrace_scope");
  const bool known = scope.size() == 1 && scope[0] >= '0' && scope[0] <= '3';
  set(m, "ptrace_scope", known ? json(scope[0] - '0') : json(nullptr),
      "this kernel has no such setting, so any process of a user may");
  char from = 1, to = 0;
  const iovec source{&from, 1}, target{&to, 1};
  const bool allowed = ::process_vm_readv(::getpid(), &target, 1, &source, 1, 0) == 1;
  // At 1 a process can allow it, and MPI libraries do.
  m["single_copy"] = allowed && (!known || scope[0] <= '1');
}

}  // namespace

Revision revision() {
  Revision r;
  r.commit = built_commit;
  if (!r.commit.empty()) r.dirty = built_dirty;
  return r;
}

json machine(const fs::path& root) {
  json m;
  add_cpu(m, root);
  m["cores_online"] = sysconf(_SC_NPROCESSORS_ONLN);
  m["cores_usable"] = usable_cores();
  m["instruction_sets"] = cpu::instruction_sets();
  m["instruction_set"] = cpu::instruction_set();
  const std::string memory = read_text(root / "proc/meminfo");
  const std::uint64_t total = kernel_bytes(field(memory, "MemTotal"));
  const std::uint64_t available = kernel_bytes(field(memory, "MemAvailable"));
  set(m, "memory_bytes", total ? json(total) : json(nullptr), "/proc/meminfo gives no total");
  set(m, "memory_available_bytes", available ? json(available) : json(nullptr),
      "/proc/meminfo does not say");
  add_processes(m, root);
  add_gpus(m);
  utsname name{};
  uname(&name);
  m["kernel"] = fmt::format("{} {}", name.sysname, name.release);
  m["architecture"] = name.machine;
  set(
      m, "system",
      [&]() -> json {
        std::istringstream lines(read_text(root / "etc/os-release"));
        for (std::string line; std::getline(lines, line);)
          if (line.rfind("PRETTY_NAME=", 0) == 0) {
            std::string value = line.substr(12);
            std::erase(value, '"');
            return value;
          }
        return nullptr;
      }(),
      "/etc/os-release names no system");
  set(m, "container", container(root), "no sign of a container");
  set(m, "core_quota", core_quota(root), "no quota is set");
  m["build"] = build();
  m["libraries"] = libraries();
  const Revision r = revision();
  set(m, "commit", r.commit, "git named no commit of the sources when they were built");
  set(m, "dirty", r.dirty ? json(*r.dirty) : json(nullptr),
      "git named no commit of the sources when they were built");
  return m;
}

std::string version_text() {
  return fmt::format("{} ({}{})", built_version, revision().short_commit(),
                     revision().dirty.value_or(false) ? ", changed since" : "");
}

std::string cpu_in(const json& machine) {
  const json& cpu = machine.at("cpu");
  return cpu.is_string() ? cpu.get<std::string>() : "unknown";
}

}  // namespace shardmark
