// Is a process captured from its first rank's begin to its last rank's end, once? The driver is
// driver_standin.cpp, which counts.
#include "profilers/capture_range.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace shardmark {
namespace {

class Capture : public testing::Test {
 protected:
  void SetUp() override {
    driver = ::dlopen(SHARDMARK_DRIVER_STANDIN, RTLD_NOW);
    ASSERT_TRUE(driver) << ::dlerror();
    starts = static_cast<int*>(::dlsym(driver, "driver_standin_starts"));
    stops = static_cast<int*>(::dlsym(driver, "driver_standin_stops"));
    *starts = *stops = 0;
  }
  void TearDown() override { ::dlclose(driver); }
  void* driver = nullptr;
  int *starts = nullptr, *stops = nullptr;
};

TEST_F(Capture, ReachesFromTheFirstRankToTheLast) {
  CaptureRange range(3, SHARDMARK_DRIVER_STANDIN);
  EXPECT_EQ(*starts, 0);
  range.enter();
  EXPECT_EQ(*starts, 1);
  range.leave();  // before the others have begun
  range.enter();
  range.enter();
  range.leave();
  EXPECT_EQ(*stops, 0);
  range.leave();
  EXPECT_EQ(*starts, 1);
  EXPECT_EQ(*stops, 1);
}

TEST_F(Capture, ARankThatFailsLeavesNothingOpen) {
  {
    CaptureRange range(2, SHARDMARK_DRIVER_STANDIN);
    range.enter();
    range.enter();
    range.leave();
    EXPECT_EQ(*stops, 0);
  }
  EXPECT_EQ(*stops, 1);
}

TEST_F(Capture, NothingIsClosedThatWasNotOpened) {
  { CaptureRange range(1, SHARDMARK_DRIVER_STANDIN); }
  {
    CaptureRange range(1, SHARDMARK_DRIVER_STANDIN);
    range.enter();
    range.leave();
  }
  EXPECT_EQ(*stops, 1);
}

// A program that uses no GPU has not loaded the driver, and this does not.
TEST(CaptureWithoutAGpu, DoesNothing) {
  CaptureRange range(1, "libcuda-that-nobody-loaded.so.1");
  range.enter();
  range.leave();
}

}  // namespace
}  // namespace shardmark
