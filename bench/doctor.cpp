// What does this machine offer, and what should be changed before it is measured? See doctor.hpp.
#include "bench/doctor.hpp"

#include <fmt/format.h>

#include "bench/machine.hpp"
#include "bench/units.hpp"
#include "profilers/cupti.hpp"
#include "profilers/nvtx.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

constexpr const char* no_mpi = "install libopenmpi-dev and openmpi-bin, then build again";

// A fact for people: the value, or a dash and why there is none.
std::string fact(const json& m, const std::string& key) {
  const json& value = m.at(key);
  if (value.is_null()) return fmt::format("– ({})", m.value(key + "_reason", "not known"));
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string joined(const json& list, std::string_view between = " ") {
  std::string all;
  for (const auto& item : list) {
    if (!all.empty()) all += between;
    all += item.get<std::string>();
  }
  return all;
}

std::string caches_text(const json& m) {
  if (m["caches"].is_null()) return fact(m, "caches");
  std::string all;
  for (const auto& c : m["caches"]) {
    const std::string type = c["type"];
    if (!all.empty()) all += ", ";
    all += fmt::format("L{}{} {}", c["level"].get<int>(),
                       type == "data"          ? "d"
                       : type == "instruction" ? "i"
                                               : "",
                       with_unit(c["size_bytes"], "B"));
    if (const int cores = c["shared_by_cores"]; cores > 1)
      all += fmt::format(" for {} threads", cores);
  }
  return all;
}

std::string cores_text(const json& m) {
  std::string text = fmt::format("{} usable of {} online", m["cores_usable"].get<int>(),
                                 m["cores_online"].get<int>());
  if (!m["threads_per_core"].is_null()) {
    const int threads = m["threads_per_core"];
    text +=
        threads == 1 ? ", one thread a core" : fmt::format(", {} threads share a core", threads);
  }
  if (!m["core_quota"].is_null())
    text += fmt::format(", time for {} of them", significant(m["core_quota"]));
  return text;
}

std::string virtual_text(const json& m) {
  if (m["hypervisor"].is_null()) return fact(m, "hypervisor");
  std::string text = m["hypervisor"].get<bool>() ? "a virtual machine" : "not virtual";
  if (!m["steal_share"].is_null())
    text += ", stolen time since boot " + percent(m["steal_share"], 2);
  if (!m["container"].is_null())
    text += ", in a container (" + m["container"].get<std::string>() + ")";
  return text;
}

std::string memory_text(const json& m) {
  if (m["memory_bytes"].is_null()) return fact(m, "memory_bytes");
  std::string text = with_unit(m["memory_bytes"], "B");
  if (!m["memory_available_bytes"].is_null())
    text += ", " + with_unit(m["memory_available_bytes"], "B") + " available";
  return text;
}

std::string build_text(const json& m) {
  const json& b = m["build"];
  std::string commit = "no commit known";
  if (!m["commit"].is_null()) {
    commit = "commit " + m["commit"].get<std::string>().substr(0, 10);
    if (m["dirty"].is_boolean() && m["dirty"].get<bool>()) commit += " with changes";
  }
  return fmt::format("{}, {}, {}", commit, b["type"].get<std::string>(),
                     b["compiler"].get<std::string>());
}

std::string libraries_text(const json& m) {
  const json& l = m["libraries"];
  return fmt::format("{}, fmt {}, nlohmann-json {}, CLI11 {}", l["matrix"].get<std::string>(),
                     l["fmt"].get<std::string>(), l["nlohmann_json"].get<std::string>(),
                     l["cli11"].get<std::string>());
}

bool has_mpi(const json& m) { return m["libraries"].value("mpi", "none") != "none"; }

std::string mpi_text(const json& m) {
  if (!has_mpi(m)) return "– (this build has none)";
  return fmt::format("built with {}; mpirun: {}", m["libraries"]["mpi"].get<std::string>(),
                     m.contains("mpirun") ? fact(m, "mpirun") : "not asked");
}

std::string gpus_text(const json& m) {
  if (m["gpus"].is_null()) return fact(m, "gpus");
  std::string all;
  for (const json& g : m["gpus"])
    all +=
        fmt::format("{}{} ({}, {})", all.empty() ? "" : ", ", g["name"].get<std::string>(),
                    g["compute_capability"].get<std::string>(), with_unit(g["memory_bytes"], "B"));
  return fmt::format("{}; {}, NCCL: {}", all, m["libraries"]["cuda"].get<std::string>(),
                     m["libraries"]["nccl"].get<std::string>());
}

std::string nvtx_text() {
  return nvtx::built() ? nvtx::library() + ", ranges for Nsight Systems"
                       : fmt::format("– ({})", nvtx::library());
}

std::string cupti_text() {
  return cupti::built() ? cupti::library() + ", records what GPUs do"
                        : fmt::format("– ({})", cupti::library());
}

std::string single_copy_text(const json& m) {
  const json& scope = m["ptrace_scope"];
  return fmt::format("{} (ptrace_scope {})",
                     m["single_copy"] == true ? "processes can read each other's memory (CMA)"
                                              : "processes may not read each other's memory",
                     scope.is_null() ? "–" : scope.dump());
}

bool below(const json& value, double limit) {
  return value.is_number() && value.get<double>() < limit;
}
bool above(const json& value, double limit) {
  return value.is_number() && value.get<double>() > limit;
}

void advice_on_mpi(const json& m, std::vector<std::string>& all) {
  if (!has_mpi(m)) {
    all.push_back(fmt::format("Built without MPI, so ranks are threads only: {}.", no_mpi));
    return;
  }
  if (m.contains("mpirun") && m["mpirun"].is_null())
    all.push_back(
        "There is no mpirun here: install openmpi-bin, or start ranks by --launcher 'srun -n "
        "{ranks}'.");
  if (m["single_copy"] == false)
    all.push_back(
        "MPI on one host copies everything twice: set kernel.yama.ptrace_scope to 1, or give the "
        "container the capability SYS_PTRACE.");
}

void advice_on_build(const json& m, std::vector<std::string>& all) {
  const json& b = m["build"];
  if (b["type"] != "Release")
    all.push_back(
        fmt::format("This is a {} build, which is slower: measure with `cmake --preset release`.",
                    b["type"].get<std::string>()));
  if (b["flags"].get<std::string>().find("-fsanitize") != std::string::npos)
    all.push_back(
        "Sanitizers are compiled in: every time measured here is several times too long.");
  if (m["libraries"]["matrix"] == "plain")
    all.push_back(
        "Built without oneDNN: matrix products are plain loops; install libdnnl-dev and configure "
        "again.");
  if (m["dirty"].is_boolean() && m["dirty"].get<bool>())
    all.push_back(
        "The sources differed from their commit when this was built; records will say so.");
}

}  // namespace

std::vector<std::string> advice(const json& m) {
  std::vector<std::string> all;
  const int cores = m["cores_usable"];
  if (cores < 2)
    all.push_back(
        "One usable core: ranks take turns, and communication can never run beside compute.");
  if (below(m["core_quota"], cores))
    all.push_back(fmt::format(
        "A control group allows the time of {} cores, not {}: use no more threads than that.",
        significant(m["core_quota"]), cores));
  if (above(m["threads_per_core"], 1))
    all.push_back(fmt::format(
        "{} hardware threads share a core: for steady times keep ranks x threads within {}.",
        m["threads_per_core"].get<int>(), cores / m["threads_per_core"].get<int>()));
  if (m["governor"].is_string() && m["governor"] != "performance")
    all.push_back(
        fmt::format("Governor {}: clocks follow the load; for steady times set it to performance.",
                    m["governor"].get<std::string>()));
  if (above(m["steal_share"], 0.01))
    all.push_back(fmt::format(
        "{} of the time since boot went to other virtual machines: expect wide intervals.",
        percent(m["steal_share"])));
  if (below(m["memory_available_bytes"], 2e9))
    all.push_back(fmt::format("Only {} of memory is available: keep to gpt-nano, or to few ranks.",
                              with_unit(m["memory_available_bytes"], "B")));
  if (m["architecture"] == "x86_64" && m["instruction_set"] == "baseline")
    all.push_back(
        "No AVX2 in use: our own kernels run at a fraction of what newer processors reach.");
  advice_on_mpi(m, all);
  advice_on_build(m, all);
  return all;
}

std::string doctor_text(const json& m, const MeasuredRates& rates) {
  const int cores = m["cores_usable"];
  Grid grid(2);
  grid.row({"shardmark " + m["build"]["version"].get<std::string>()});
  grid.row({"  build", build_text(m)});
  grid.row({"  flags", fact(m["build"], "flags")});
  grid.row({"  libraries", libraries_text(m)});
  grid.row({""});
  grid.row({"this machine"});
  grid.row({"  processor", fact(m, "cpu")});
  grid.row({"  cores", cores_text(m)});
  grid.row({"  caches", caches_text(m)});
  grid.row({"  instructions",
            fmt::format("kernels for {}, in use: {}", joined(m["instruction_sets"], ", "),
                        m["instruction_set"].get<std::string>())});
  grid.row(
      {"  also has", m["cpu_flags"].is_null() ? fact(m, "cpu_flags") : joined(m["cpu_flags"])});
  grid.row({"  governor", fact(m, "governor")});
  grid.row({"  memory", memory_text(m)});
  grid.row({"  system", fmt::format("{}, {}, {}", fact(m, "system"), m["kernel"].get<std::string>(),
                                    m["architecture"].get<std::string>())});
  grid.row({"  virtual", virtual_text(m)});
  grid.row({"  MPI", mpi_text(m)});
  grid.row({"  one host", single_copy_text(m)});
  grid.row({"  GPUs", gpus_text(m)});
  grid.row({"  GPU driver", fact(m, "gpu_driver")});
  grid.row({"  NVTX", nvtx_text()});
  grid.row({"  CUPTI", cupti_text()});
  std::string text = grid.text();

  Grid measured(1);
  measured.row({"measured now", "one core", fmt::format("all {}", cores)});
  measured.row({"  streaming copy, read + written", with_unit(rates.streaming_one, "B/s"),
                with_unit(rates.streaming_all, "B/s")});
  measured.row({"  memcpy of 1 MB, copied", with_unit(rates.memcpy_one, "B/s"), ""});
  for (const MeasuredRates::Products& p : rates.products)
    measured.row({fmt::format("  matrix product in {}, by {}", p.precision, p.by),
                  with_unit(p.one, "FLOP/s"), with_unit(p.all, "FLOP/s")});
  text += "\n" + measured.text();
  for (const MeasuredRates::OnGpu& gpu : rates.gpus) {
    Grid on(1);
    on.row({"measured now on " + gpu.name, ""});
    on.row({"  copy, read + written", with_unit(gpu.copy, "B/s")});
    for (const auto& [precision, rate] : gpu.products)
      on.row({"  matrix product in " + precision, with_unit(rate, "FLOP/s")});
    text += "\n" + on.text();
  }

  const std::vector<std::string> lines = advice(m);
  text += lines.empty() ? "\nadvice: none, this machine is ready to be measured\n" : "\nadvice\n";
  for (const std::string& line : lines) text += "  " + line + "\n";
  return text;
}

}  // namespace shardmark
