// What does a driver with one GPU say to the tests? A libnvidia-ml without a GPU: known clocks, no
// temperature, and an error that the environment asks for; and what of libcuda starts and stops a
// capture, which it writes into the file that DRIVER_STANDIN_LOG names.
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace {

int running = 0;  // init less shutdown
constexpr int not_supported = 3, not_found = 6, driver_not_loaded = 9, uninitialized = 1;

void log(const char* line) {
  if (const char* file = std::getenv("DRIVER_STANDIN_LOG"))
    std::ofstream(file, std::ios::app) << line << "\n";
}

bool is(const char* variable) { return std::getenv(variable) != nullptr; }
int answer(unsigned* out, unsigned value) {
  *out = value;
  return running > 0 ? 0 : uninitialized;
}

}  // namespace

extern "C" {
#pragma GCC visibility push(default)
int nvmlInit_v2() {
  if (is("DRIVER_STANDIN_NOT_LOADED")) return driver_not_loaded;
  ++running;
  return 0;
}
int nvmlShutdown() {
  --running;
  return 0;
}
int driver_standin_running() { return running; }
const char* nvmlErrorString(int result) {
  return result == not_found           ? "Not Found"
         : result == driver_not_loaded ? "Driver Not Loaded"
                                       : "Unknown Error";
}
int nvmlSystemGetDriverVersion(char* text, unsigned bytes) {
  std::strncpy(text, "580.65.06", bytes);
  return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** device) {
  *device = &running;
  return std::strcmp(id, "0000:3b:00.0") == 0 ? 0 : not_found;
}
int nvmlDeviceGetClockInfo(void*, int type, unsigned* mhz) {
  return answer(mhz, type == 1 ? 1410 : type == 2 ? 1593 : 0);
}
int nvmlDeviceGetMaxClockInfo(void*, int type, unsigned* mhz) {
  return answer(mhz, type == 1 ? 1980 : 0);
}
int nvmlDeviceGetPowerUsage(void*, unsigned* mw) { return answer(mw, 698123); }
int nvmlDeviceGetTemperature(void*, int, unsigned*) { return not_supported; }
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* bits) {
  *bits = 0x4 | 0x40;
  return 0;
}

int driver_standin_starts = 0, driver_standin_stops = 0;
int cuProfilerStart() {
  ++driver_standin_starts;
  log("start");
  return 0;
}
int cuProfilerStop() {
  ++driver_standin_stops;
  log("stop");
  return 0;
}
#pragma GCC visibility pop
}
