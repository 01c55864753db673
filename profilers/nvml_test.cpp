// Are a GPU's clocks read as the driver tells them, and is it said where there is none? A driver
// with one GPU is played by driver_standin.cpp.
#include "profilers/nvml_watch.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace shardmark {
namespace {

TEST(Nvml, TellsWhatTheDriverTells) {
  const Nvml nvml(SHARDMARK_DRIVER_STANDIN);
  EXPECT_EQ(nvml.why_not(), "");
  EXPECT_EQ(nvml.driver(), "580.65.06");
  const GpuState s = nvml.state("0000:3b:00.0");
  EXPECT_EQ(s.why_not, "");
  EXPECT_EQ(s.sm_mhz, 1410u);
  EXPECT_EQ(s.memory_mhz, 1593u);
  EXPECT_EQ(s.most_sm_mhz, 1980u);
  EXPECT_EQ(s.power_mw, 698123u);
  EXPECT_EQ(s.temperature_c, std::nullopt);
  EXPECT_EQ(s.reasons, (std::vector<std::string>{"sw_power_cap", "hw_thermal_slowdown"}));
}

TEST(Nvml, AGpuThatItDoesNotKnowIsNamed) {
  const GpuState s = Nvml(SHARDMARK_DRIVER_STANDIN).state("0000:00:00.0");
  EXPECT_EQ(s.why_not, "No clocks of GPU 0000:00:00.0 are known: NVML answers \"Not Found\".");
  EXPECT_FALSE(s.sm_mhz);
  EXPECT_FALSE(s.reasons);
}

TEST(Nvml, ADriverThatDoesNotRunIsSaid) {
  ::setenv("DRIVER_STANDIN_NOT_LOADED", "1", 1);
  const Nvml nvml(SHARDMARK_DRIVER_STANDIN);
  ::unsetenv("DRIVER_STANDIN_NOT_LOADED");
  const char* sentence = "No clocks of GPUs are known: NVML answers \"Driver Not Loaded\".";
  EXPECT_EQ(nvml.why_not(), sentence);
  EXPECT_EQ(nvml.state("0000:3b:00.0").why_not, sentence);
}

TEST(Nvml, AMachineWithoutADriverIsSaid) {
  const Nvml nvml("./no-nvml.so");
  EXPECT_TRUE(
      nvml.why_not().starts_with("No clocks of GPUs are known: NVML, which NVIDIA's driver "
                                 "has, could not be loaded: "))
      << nvml.why_not();
  EXPECT_EQ(nvml.driver(), "");
  EXPECT_FALSE(nvml.state("0000:3b:00.0").sm_mhz);
}

TEST(Nvml, AnotherLibraryIsNotTakenForIt) {
  EXPECT_EQ(Nvml("libc.so.6").why_not(), "No clocks of GPUs are known: libc.so.6 is not NVML.");
}

TEST(Nvml, IsLeftAsItWas) {
  void* library = ::dlopen(SHARDMARK_DRIVER_STANDIN, RTLD_NOW);
  ASSERT_TRUE(library);
  const auto running = reinterpret_cast<int (*)()>(::dlsym(library, "driver_standin_running"));
  {
    const Nvml nvml(SHARDMARK_DRIVER_STANDIN);
    EXPECT_EQ(running(), 1);
  }
  EXPECT_EQ(running(), 0);
}

// Five samples; 5 and 9 are the ends, and the third of 5, 6, 7, 8, 9 is 7. A sample that tells
// nothing is not 0.
TEST(NvmlWatch, KeepsEndsAndTheMedian) {
  std::vector<GpuState> samples(6);
  for (unsigned i = 0; i < 5; ++i) {
    samples[i].sm_mhz = 5 + (i * 2) % 5;  // 5, 7, 9, 6, 8
    samples[i].memory_mhz = 100 - i;
    samples[i].power_mw = 10 * i;
  }
  samples[1].temperature_c = 60;
  samples[3].temperature_c = 50;
  samples[0].reasons = {"sw_power_cap"};
  samples[2].reasons.emplace();
  samples[4].reasons = {"gpu_idle", "sw_power_cap"};
  const GpuStates all = together(samples);
  EXPECT_EQ(all.samples, 6u);
  EXPECT_EQ(all.min_sm_mhz, 5u);
  EXPECT_EQ(all.median_sm_mhz, 7u);
  EXPECT_EQ(all.most_sm_mhz, std::nullopt);
  EXPECT_EQ(all.min_memory_mhz, 96u);
  EXPECT_EQ(all.max_power_mw, 40u);
  EXPECT_EQ(all.max_temperature_c, 60u);
  EXPECT_EQ(all.reasons, (std::vector<std::string>{"gpu_idle", "sw_power_cap"}));
  EXPECT_EQ(together({}).reasons, std::nullopt);
}

// Two samples a millisecond apart take no less.
TEST(NvmlWatch, AsksOverAndOverUntilItIsStopped) {
  const Nvml nvml(SHARDMARK_DRIVER_STANDIN);
  NvmlWatch watch(nvml, "0000:3b:00.0", std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const GpuStates all = watch.stop();
  EXPECT_GE(all.samples, 2u);
  EXPECT_LE(all.samples, 60u);
  EXPECT_EQ(all.median_sm_mhz, 1410u);
  EXPECT_EQ(watch.stop().samples, all.samples);
}

// The bits of nvml.h, nvmlClocksEventReason...
TEST(ClockReasons, AreNvmlsWords) {
  EXPECT_TRUE(clock_reasons(0).empty());
  EXPECT_EQ(clock_reasons(0x1 | 0x2 | 0x8),
            (std::vector<std::string>{"gpu_idle", "applications_clocks_setting", "hw_slowdown"}));
  EXPECT_EQ(clock_reasons(0x10 | 0x20 | 0x80 | 0x100),
            (std::vector<std::string>{"sync_boost", "sw_thermal_slowdown",
                                      "hw_power_brake_slowdown", "display_clock_setting"}));
  EXPECT_EQ(clock_reasons(0x200), (std::vector<std::string>{"bit_9"}));
}

}  // namespace
}  // namespace shardmark
