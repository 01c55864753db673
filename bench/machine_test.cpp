// Is a machine described as its files say, also where files are missing? And does the doctor draw
// the right conclusion?
#include "bench/machine.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "bench/doctor.hpp"

namespace shardmark {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// A root folder of our own making, gone with the test.
class MachineTest : public testing::Test {
 protected:
  MachineTest() {
    std::string name = (fs::temp_directory_path() / "shardmark-machine-XXXXXX").string();
    root_ = mkdtemp(name.data());
  }
  ~MachineTest() override { fs::remove_all(root_); }
  void file(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  fs::path root_;
};

bool names(const std::vector<std::string>& lines, const std::string& part) {
  for (const std::string& line : lines)
    if (line.find(part) != std::string::npos) return true;
  return false;
}

TEST_F(MachineTest, reads_an_x86_machine) {
  file("proc/cpuinfo",
       "processor\t: 0\nmodel name\t: Example CPU @ 2.80GHz\nflags\t\t: fpu avx avx2 fma "
       "hypervisor\n\n"
       "processor\t: 1\nmodel name\t: Another\n");
  file("proc/meminfo", "MemTotal:       16384 kB\nMemFree:  1 kB\nMemAvailable:    8192 kB\n");
  file("proc/stat", "cpu  10 0 10 70 0 0 0 10 5 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n");
  file("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0,64-65\n");
  file("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  file("sys/devices/system/cpu/cpu0/cache/index0/level", "1\n");
  file("sys/devices/system/cpu/cpu0/cache/index0/type", "Data\n");
  file("sys/devices/system/cpu/cpu0/cache/index0/size", "48K\n");
  file("sys/devices/system/cpu/cpu0/cache/index0/shared_cpu_list", "0-1\n");
  file("sys/fs/cgroup/cpu.max", "150000 100000\n");
  file("etc/os-release", "NAME=x\nPRETTY_NAME=\"Example Linux 1\"\n");
  file("proc/1/cgroup", "0::/kubepods/pod1\n");
  file("proc/sys/kernel/yama/ptrace_scope", "2\n");
  const json m = machine(root_);
  EXPECT_EQ(m["cpu"], "Example CPU @ 2.80GHz");
  EXPECT_EQ(m["cpu_flags"], (json{"avx", "avx2", "fma"}));
  EXPECT_EQ(m["hypervisor"], true);
  EXPECT_EQ(m["memory_bytes"], 16384 * 1024);
  EXPECT_EQ(m["memory_available_bytes"], 8192 * 1024);
  EXPECT_DOUBLE_EQ(m["steal_share"], 0.1);  // 10 of 10 + 10 + 70 + 10; guest time counts in user
  EXPECT_EQ(m["threads_per_core"], 3);
  EXPECT_EQ(m["governor"], "powersave");
  EXPECT_EQ(m["caches"],
            json::array(
                {{{"level", 1}, {"type", "data"}, {"size_bytes", 49152}, {"shared_by_cores", 2}}}));
  EXPECT_DOUBLE_EQ(m["core_quota"], 1.5);
  EXPECT_EQ(m["system"], "Example Linux 1");
  EXPECT_EQ(m["container"], "kubepods");
  EXPECT_EQ(m["ptrace_scope"], 2);
  EXPECT_EQ(m["single_copy"], false);  // an administrator alone may
}

TEST_F(MachineTest, reads_an_arm_machine) {
  file("proc/cpuinfo",
       "processor\t: 0\nFeatures\t: fp asimd sve bf16\nCPU implementer\t: 0x41\nCPU part\t: "
       "0xd40\n");
  const json m = machine(root_);
  EXPECT_EQ(m["cpu"], "arm implementer 0x41 part 0xd40");
  EXPECT_EQ(m["cpu_flags"], (json{"asimd", "sve", "bf16"}));
  EXPECT_TRUE(m["hypervisor"].is_null());
}

TEST_F(MachineTest, what_cannot_be_had_is_null_with_a_reason) {
  const json m = machine(root_ / "nowhere");
  for (const char* key :
       {"cpu", "caches", "governor", "memory_bytes", "steal_share", "threads_per_core", "system"}) {
    EXPECT_TRUE(m[key].is_null()) << key;
    EXPECT_FALSE(m.value(std::string(key) + "_reason", "").empty()) << key;
  }
  EXPECT_NO_THROW(doctor_text(m, {}));
}

TEST_F(MachineTest, malformed_files_are_no_faults) {
  file("proc/cpuinfo", "model name\nflags :\n:::\n");
  file("proc/stat", "cpu  a b c\n");
  file("proc/meminfo", "MemTotal: many kB\n");
  file("proc/sys/kernel/yama/ptrace_scope", "all\n");
  file("sys/fs/cgroup/cpu.max", "\n");
  file("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "x\n");
  const json m = machine(root_);
  for (const char* key :
       {"cpu", "memory_bytes", "steal_share", "threads_per_core", "core_quota", "ptrace_scope"})
    EXPECT_TRUE(m[key].is_null()) << key << m[key];
}

TEST(Machine, this_machine_is_described) {
  const json m = machine();
  EXPECT_GE(m["cores_usable"].get<int>(), 1);
  EXPECT_LE(m["cores_usable"].get<int>(), m["cores_online"].get<int>());
  EXPECT_FALSE(m["build"]["compiler"].get<std::string>().empty());
  EXPECT_FALSE(m["libraries"]["matrix"].get<std::string>().empty());
  if (m["commit"].is_string()) {
    EXPECT_EQ(m["commit"].get<std::string>().size(), 40u);
  }
  EXPECT_EQ(m["commit"].is_null(), revision().commit.empty());
}

// A machine with which nothing is wrong.
json good() {
  json m = machine();
  m["cores_usable"] = 8;
  m["core_quota"] = nullptr;
  m["threads_per_core"] = 1;
  m["governor"] = "performance";
  m["steal_share"] = 0.001;
  m["memory_available_bytes"] = 64e9;
  m["architecture"] = "x86_64";
  m["instruction_set"] = "avx2";
  m["build"] = {{"compiler", "g++ 12.2.0"},
                {"flags", "-O3 -DNDEBUG"},
                {"type", "Release"},
                {"version", "0.1.0"}};
  m["libraries"]["matrix"] = "oneDNN 2.6.3";
  m["libraries"]["mpi"] = "Open MPI 4.1.4";
  m["mpirun"] = "mpirun (Open MPI) 4.1.4";
  m["ptrace_scope"] = 1;
  m["single_copy"] = true;
  m["dirty"] = false;
  return m;
}

TEST(Doctor, has_no_advice_for_a_good_machine) {
  EXPECT_TRUE(advice(good()).empty());
  EXPECT_NE(doctor_text(good(), {}).find("advice: none"), std::string::npos);
}

TEST(Doctor, names_each_thing_that_is_wrong) {
  const auto advises = [](const char* key, const json& value, const char* part) {
    json m = good();
    m[json::json_pointer(key)] = value;
    const auto lines = advice(m);
    EXPECT_EQ(lines.size(), 1u) << key;
    EXPECT_TRUE(names(lines, part)) << key << ": " << json(lines).dump();
  };
  advises("/cores_usable", 1, "One usable core");
  advises("/core_quota", 1.5, "1.5");
  advises("/threads_per_core", 2, "within 4");  // 8 / 2
  advises("/governor", "powersave", "powersave");
  advises("/steal_share", 0.05, "5.0 %");
  advises("/memory_available_bytes", 1e9, "1.00 GB");
  advises("/instruction_set", "baseline", "AVX2");
  advises("/libraries/matrix", "plain", "oneDNN");
  advises("/build/type", "Debug", "Debug");
  advises("/build/flags", "-O1 -fsanitize=thread", "anitizers");
  advises("/dirty", true, "commit");
  advises("/libraries/mpi", "none", "libopenmpi-dev");
  advises("/mpirun", nullptr, "openmpi-bin");
  advises("/single_copy", false, "ptrace_scope");
}

TEST(Doctor, shows_what_mpi_there_is) {
  const std::string text = doctor_text(good(), {});
  for (const char* part : {"built with Open MPI 4.1.4; mpirun: mpirun (Open MPI) 4.1.4",
                           "each other's memory (CMA) (ptrace_scope 1)"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  json without = good();
  without["libraries"]["mpi"] = "none";
  EXPECT_NE(doctor_text(without, {}).find("this build has none"), std::string::npos);
}

TEST(Doctor, shows_the_rates) {
  const std::string text = doctor_text(good(), {14.2e9,
                                                28.4e9,
                                                11e9,
                                                {{"fp32", "oneDNN 2.6.3", 112.3e9, 224.6e9},
                                                 {"fp16", "own tiles (why)", 31e9, 62e9}}});
  for (const char* part : {"14.2 GB/s", "28.4 GB/s", "11.0 GB/s", "112 GFLOP/s", "225 GFLOP/s",
                           "62.0 GFLOP/s", "in fp16, by own tiles (why)", "all 8"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

}  // namespace
}  // namespace shardmark
